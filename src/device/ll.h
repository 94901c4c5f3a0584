// The lines of protocol LL: 16 bytes of two 8-byte halves, each half data and half flag, which
// become visible whole. A pack is two lines. Twice the bytes, the shortest latency; needs nothing
// of the memory but 8-byte atomicity.
#pragma once

#include "device/lines.h"

namespace weft {

struct LlFormat {
  using Unit = size_t;    // a pack
  using Flag = uint32_t;  // counter16 | signature16

  static constexpr bool kLanesWithout = false;
  static constexpr bool kWholePacks = false;
  static constexpr Region kExchange = Region::kLlExchange;
  static constexpr size_t kUnitBytes = 2 * kPackBytes;
  static constexpr uint32_t kSweepEvery = 1 << 11;  // slices; slots divide it

  static WEFT_DEV Flag flag(uint32_t counter, uint32_t signature) {
    return counter << 16 | ((signature ^ signature >> 16) & 0xffff);
  }
  static WEFT_DEV uint32_t counter(Flag flag) { return flag >> 16; }
  static WEFT_DEV uint32_t signature(Flag flag) { return flag & 0xffff; }
  // No slice has signature 0 and this counter again before the line is swept anew.
  static WEFT_DEV platform::Bytes16 cleared(uint32_t counter) {
    return {{0, counter << 16, 0, counter << 16}};
  }

  template <class Lanes, class Count, class F>
  static WEFT_DEV void each_pack(const Lanes& lanes, Count packs, F f) {
    lanes.each(packs, f);
  }
  template <class Lanes>
  static WEFT_DEV Unit first(const Lanes& lanes, size_t /*packs*/) {
    return lanes.lane();
  }
  static WEFT_DEV bool any(bool lane) { return lane; }  // of the lanes that share a unit

  // The line that is stored last: who sleeps on another one may sleep through it.
  static WEFT_DEV const void* polled(const char* slot, Unit unit) {
    return slot + unit * kUnitBytes + kPackBytes;
  }
  static WEFT_DEV bool load(const char* slot, Unit unit, Flag flag, platform::Bytes16& pack,
                            Flag& seen) {
    const char* lines = slot + unit * kUnitBytes;
    const platform::Bytes16 a = platform::load_line(lines);
    const platform::Bytes16 b = platform::load_line(lines + kPackBytes);
    pack = {{a.w[0], a.w[2], b.w[0], b.w[2]}};
    seen = a.w[1];
    return a.w[1] == flag && a.w[3] == flag && b.w[1] == flag && b.w[3] == flag;
  }
  static WEFT_DEV void store(char* slot, Unit unit, Flag flag, const platform::Bytes16& pack) {
    char* lines = slot + unit * kUnitBytes;
    const auto& w = pack.w;
    platform::store_line(lines, {{w[0], flag, w[1], flag}});
    platform::store_line(lines + kPackBytes, {{w[2], flag, w[3], flag}});
  }
};

using Ll = Lines<LlFormat>;

}  // namespace weft
