// A kernel of a protocol of lines: wait for the flags of a line, give its data on in another line.
// Every part is replaceable, as in exchange.h.
#pragma once

#include "device_platform.h"

namespace platform = weft::platform;
using platform::Block;
using platform::Bytes16;

struct LineArgs {
  const char* from;
  char* to;
  size_t lines;
  uint32_t flag;
};

struct Parts {
  static WEFT_DEV Bytes16 load(const char* line) { return platform::load_line(line); }
  static WEFT_DEV bool complete(const Bytes16& line, uint32_t flag) {
    return line.w[1] == flag && line.w[3] == flag;
  }
  static WEFT_DEV uint32_t payload(const LineArgs&, const Bytes16& line) { return line.w[0]; }
  static WEFT_DEV void store(char* line, const Bytes16& value) {
    platform::store_line(line, value);
  }
};

template <class P>
__global__ void __launch_bounds__(256) exchange_lines(const LineArgs args) {
  __shared__ platform::BlockShared shared;
  const Block block(&shared);
  block.each(args.lines, [&](size_t i) {
    Bytes16 line;
    do {
      line = P::load(args.from + 16 * i);
    } while (!P::complete(line, args.flag));
    P::store(args.to + 16 * i, {{P::payload(args, line), args.flag, line.w[2], args.flag}});
  });
}
