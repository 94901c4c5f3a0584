// An array that is indexed at run time and too large for registers: scratch.
#include "exchange.h"

namespace {
struct Broken : Parts {
  static WEFT_DEV void move(const Block& block, const ExchangeArgs& args) {
    uint32_t many[256];
    for (unsigned i = 0; i < 256; ++i) many[i] = unsigned(args.packs) * i + block.lane();
    for (unsigned i = 0; i < 256; ++i) many[many[i] % 256] += i;
    platform::store16(args.to + 16 * block.lane(), {{many[args.packs % 256], 0, 0, 0}});
  }
};
}  // namespace

template __global__ void exchange<Broken>(const ExchangeArgs);
