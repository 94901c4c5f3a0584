// A kernel with one of everything that ordering needs: wait for a flag, move, give a flag. Every
// part is replaceable, so that a broken kernel (bad_*.hip) differs from good.hip in one of them.
#pragma once

#include "device_platform.h"

namespace platform = weft::platform;
using platform::Block;

struct ExchangeArgs {
  const uint64_t* arrived;
  uint64_t* done;
  const char* from;
  char* to;
  size_t packs;
  uint64_t wanted;
};

struct Parts {
  static WEFT_DEV void wait(const uint64_t* flag, uint64_t wanted) {
    while (platform::poll64(flag) != wanted) platform::poll_miss(flag);
  }
  static WEFT_DEV void acquire() { platform::acquire_system(); }
  static WEFT_DEV void move(const Block& block, const ExchangeArgs& args) {
    block.each(args.packs, [&](size_t i) {
      platform::store16(args.to + 16 * i, platform::load16(args.from + 16 * i));
    });
  }
  static WEFT_DEV void complete(const Block& block) {
    block.drain();
    block.sync();
  }
  static WEFT_DEV void release() { platform::release_system(); }
  static WEFT_DEV void post(uint64_t* flag, uint64_t value) { platform::post64(flag, value); }
};

template <class P>
__global__ void __launch_bounds__(256) exchange(const ExchangeArgs args) {
  __shared__ platform::BlockShared shared;
  const Block block(&shared);
  if (block.leader()) {
    P::wait(args.arrived, args.wanted);
    P::acquire();
  }
  block.sync();
  P::move(block, args);
  P::complete(block);
  if (block.leader()) {
    P::release();
    P::post(args.done, args.wanted);
  }
}
