// Lines of LL128 on a GPU: kLineLanes neighbouring lanes access one line together. Owns: what
// src/platform/README.md says of LinePlace and its functions. Included by the device_platform.h of
// a GPU platform, behind what it takes from there: load_line, store_line, kLineLanes, kReadTwice,
// meet_in_wave, any_in_wave and shift_in_unit.
//
// All lanes of a wave go through all of it together, whether or not there is a line for them: a
// line is whole only as one access of its lanes, and lanes that have parted may stay apart.
#pragma once

namespace weft::platform {

// Where one lane stands: which pair of lines, which place in it (0 .. 2 kLineLanes - 1, the last
// one has no pack), which pack of the slice that is.
struct LinePlace {
  size_t pair;
  int place;
  size_t index;
  bool used;  // some lane of the pair has a pack
};
constexpr size_t kNoPack = ~size_t(0);
WEFT_DEV size_t index_of(const LinePlace& at) { return at.index; }

WEFT_DEV bool has_flag(const LinePlace& at) { return at.place % kLineLanes == kLineLanes - 1; }

constexpr unsigned kPlaces = 2 * kLineLanes, kPlacesWithPack = kPlaces - 1;

// Of the calling lane, when all lanes stand for pairs from `first` on.
template <class Lanes>
WEFT_DEV LinePlace line_place(const Lanes& lanes, size_t packs, size_t first) {
  const unsigned place = lanes.lane() % kPlaces;
  const size_t pair = first + lanes.lane() / kPlaces, index = pair * kPlacesWithPack + place;
  return {pair, int(place), place < kPlacesWithPack && index < packs ? index : kNoPack,
          pair * kPlacesWithPack < packs};
}
template <class Lanes>
WEFT_DEV LinePlace first_line_place(const Lanes& lanes, size_t packs) {
  return line_place(lanes, packs, 0);
}
template <class Lanes, class F>
WEFT_DEV void each_line_place(const Lanes& lanes, size_t packs, F f) {
  WEFT_ROLLED
  for (size_t first = 0; first * kPlacesWithPack < packs; first += lanes.width() / kPlaces)
    f(line_place(lanes, packs, first));
}

WEFT_DEV const void* flag_of_place(const char* pair, const LinePlace& at) {
  return pair + at.place * sizeof(Bytes16);
}

// One try; all lanes of a wave get the same answer. A line becomes visible whole, but may have come
// between the accesses of its lanes where these are not one: there it is read again behind the
// flag.
WEFT_DEV bool load_place(const char* pair, const LinePlace& at, uint64_t flag, Bytes16& pack,
                         uint64_t& seen) {
  const char* mine = pair + at.place * sizeof(Bytes16);
  meet_in_wave();
  if (at.used) pack = load_line(mine);
  seen = at.used && has_flag(at) ? uint64_t(pack.w[3]) << 32 | pack.w[2] : flag;
  if (any_in_wave(seen != flag)) return false;
  if (kReadTwice && at.used) pack = load_line(mine);
  // The shared pack is lane kLineLanes-1's; its high half lies with the last lane.
  const uint32_t low = shift_in_unit(pack.w[0], kLineLanes);
  const uint32_t high = shift_in_unit(pack.w[1], kLineLanes);
  const bool shared = at.place == kLineLanes - 1;
  pack.w[2] = shared ? low : pack.w[2];
  pack.w[3] = shared ? high : pack.w[3];
  return true;
}

WEFT_DEV void store_place(char* pair, const LinePlace& at, uint64_t flag, const Bytes16& pack) {
  Bytes16 line = pack;
  const uint32_t low = shift_in_unit(pack.w[2], -kLineLanes);
  const uint32_t high = shift_in_unit(pack.w[3], -kLineLanes);
  const bool last = at.place == 2 * kLineLanes - 1;
  line.w[0] = last ? low : line.w[0];
  line.w[1] = last ? high : line.w[1];
  line.w[2] = has_flag(at) ? uint32_t(flag) : line.w[2];
  line.w[3] = has_flag(at) ? uint32_t(flag >> 32) : line.w[3];
  meet_in_wave();
  if (at.used) store_line(pair + at.place * sizeof(Bytes16), line);
}

}  // namespace weft::platform
