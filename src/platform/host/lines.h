// Lines of LL128 on the host: one lane writes and reads a whole pair of lines, data first, the
// flags behind it with release. Owns: what src/platform/README.md says of LinePlace and its
// functions.
#pragma once

namespace weft::platform {

constexpr int kLineLanes = 8;  // of a GPU with lines of 128 bytes

// Which pair of lines, which place in it (0 .. 2 kLineLanes - 2; the last place has no pack), which
// pack of the slice that is; kNoPack: beyond its end.
struct LinePlace {
  size_t pair;
  int place;
  size_t index;
};
constexpr size_t kNoPack = ~size_t(0);
WEFT_DEV size_t index_of(const LinePlace& at) { return at.index; }

template <class Lanes>
WEFT_DEV LinePlace first_line_place(const Lanes& lanes, size_t packs) {
  const size_t pair = lanes.lane(), index = pair * (2 * kLineLanes - 1);
  return {pair, 0, index < packs ? index : kNoPack};
}
template <class Block, class F>
WEFT_DEV void each_line_place(const Block& block, size_t packs, F f) {
  constexpr int kPacks = 2 * kLineLanes - 1;
  for (size_t pair = block.lane(); pair * kPacks < packs; pair += block.width())
    for (int place = 0; place < kPacks; ++place) {
      const size_t index = pair * kPacks + size_t(place);
      f(LinePlace{pair, place, index < packs ? index : kNoPack});
    }
}

WEFT_DEV bool any_in_wave(bool lane) { return lane; }
WEFT_DEV void meet_in_wave() {}  // nothing here is ordered by fences

constexpr size_t kLineFlagAt = kLineLanes * sizeof(Bytes16) - sizeof(uint64_t);
constexpr size_t kSecondLine = kLineLanes * sizeof(Bytes16);

// Of the line in which the place's pack ends.
WEFT_DEV const uint64_t* flag_of_place(const char* pair, const LinePlace& at) {
  const size_t line = at.place < kLineLanes - 1 ? 0 : kSecondLine;
  return reinterpret_cast<const uint64_t*>(pair + line + kLineFlagAt);
}

// Places 0 .. kLineLanes-2 lie in the first line, the next is shared, the others lie in the second.
WEFT_DEV bool load_place(const char* pair, const LinePlace& at, uint64_t flag, Bytes16& pack,
                         uint64_t& seen) {
  constexpr int kShared = kLineLanes - 1;
  seen = poll64(flag_of_place(pair, at));
  if (at.place == kShared && seen == flag) seen = poll64(flag_of_place(pair, {0, 0, 0}));
  if (seen != flag) return false;
  const char* from = pair + size_t(at.place) * sizeof(Bytes16);
  if (at.place != kShared) {
    pack = load16(from);
  } else {
    __builtin_memcpy(&pack, from, 8);
    __builtin_memcpy(&pack.w[2], pair + 2 * kSecondLine - sizeof(Bytes16), 8);
  }
  return true;
}

WEFT_DEV void post_line_flag(char* pair, size_t line, uint64_t flag) {
  post64(reinterpret_cast<uint64_t*>(pair + line + kLineFlagAt), flag);
}

WEFT_DEV void store_place(char* pair, const LinePlace& at, uint64_t flag, const Bytes16& pack) {
  constexpr int kShared = kLineLanes - 1;
  char* to = pair + size_t(at.place) * sizeof(Bytes16);
  if (at.place != kShared) {
    store16(to, pack);
  } else {
    __builtin_memcpy(to, &pack, 8);
    __builtin_memcpy(pair + 2 * kSecondLine - sizeof(Bytes16), &pack.w[2], 8);
    post_line_flag(pair, 0, flag);
  }
  if (at.place == 2 * kLineLanes - 2) post_line_flag(pair, kSecondLine, flag);
}

}  // namespace weft::platform
