// The lines of protocol LL128: long lines of which the last 8 bytes are the flag, written and read
// by neighbouring lanes in one access that must become visible whole (kLl128Legality says where).
// A unit is two lines: their lanes hold one pack each but the last lane, whose place and half of
// another's the two flags take.
//
//   line A: pack 0 | pack 1 | ... | pack n-1, low half, flag      n = platform::kLineLanes
//   line B: pack n | pack n+1 | ... | pack n-1, high half, flag
//
// Only whole packs, so that the lanes of a wave go the same way from the first load to the store
// (way.cc).
//
// 15 of 16 bytes are data with lines of 128 bytes, 7 of 8 with lines of 64.
#pragma once

#include "device/lines.h"

namespace weft {

struct Ll128Format {
  using Unit = platform::LinePlace;  // a pack, and where it lies
  using Flag = uint64_t;             // counter32 | signature32

  static constexpr bool kLanesWithout = true;
  static constexpr bool kWholePacks = true;
  static constexpr Region kExchange = Region::kLl128Exchange;
  static constexpr size_t kUnitBytes = 2 * platform::kLineLanes * kPackBytes;
  static constexpr size_t kUnitPacks = 2 * platform::kLineLanes - 1;
  static constexpr uint32_t kSweepEvery = 1 << 28;  // slices; slots divide it

  static WEFT_DEV Flag flag(uint32_t counter, uint32_t signature) {
    return flag_word(counter, signature);
  }
  static WEFT_DEV uint32_t counter(Flag flag) { return flag_counter(flag); }
  static WEFT_DEV uint32_t signature(Flag flag) { return flag_signature(flag); }
  static WEFT_DEV platform::Bytes16 cleared(uint32_t counter) {
    return {{counter, counter, counter, counter}};
  }

  template <class Lanes, class F>
  static WEFT_DEV void each_pack(const Lanes& lanes, size_t packs, F f) {
    platform::each_line_place(lanes, packs, f);
  }
  template <class Lanes>
  static WEFT_DEV Unit first(const Lanes& lanes, size_t packs) {
    return platform::first_line_place(lanes, packs);
  }
  static WEFT_DEV bool any(bool lane) { return platform::any_in_wave(lane); }

  static WEFT_DEV const void* polled(const char* slot, const Unit& unit) {
    return platform::flag_of_place(slot + unit.pair * kUnitBytes, unit);
  }
  static WEFT_DEV bool load(const char* slot, const Unit& unit, Flag flag, platform::Bytes16& pack,
                            Flag& seen) {
    return platform::load_place(slot + unit.pair * kUnitBytes, unit, flag, pack, seen);
  }
  static WEFT_DEV void store(char* slot, const Unit& unit, Flag flag,
                             const platform::Bytes16& pack) {
    platform::store_place(slot + unit.pair * kUnitBytes, unit, flag, pack);
  }
};

using Ll128 = Lines<Ll128Format>;

}  // namespace weft
