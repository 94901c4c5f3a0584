// The kernel of collectives: arguments, its place in the order of the communicator, channels, done.
// One per (protocol, type), chosen on the host (kernels.h). Next on the path: turn.h, then
// engine.h. What is short enough goes by one_hop.h instead.
#pragma once

#include "device/engine.h"
#include "device/turn.h"

namespace weft {

// With the scale that lies in the user's memory, as it is when the kernel runs.
template <class Type>
WEFT_DEV OpArg resolved(const OpArg& op) {
  OpArg all = op;
  if ((op.flags & OpArg::kPreFromMemory) != 0) {
    using Storage = typename Type::storage;
    const auto factor = load_word<Storage>(reinterpret_cast<const void*>(op.pre));
    all.pre = platform::same_in_wave(to_word(Type::load(factor)));
  }
  return all;
}

template <class Protocol, class Type>
struct CollectiveKernel {
  static constexpr const char* kName = "weft_collective";

  WEFT_DEV void operator()(const Block& block, const CollectiveArgs& args) const {
    Waits waits = begin_kernel(block, args);
    if (is_last_lane(block)) leave_if_any(reports_of(args), waits);
    const uint32_t begun = operations_begun(block, args);
    WEFT_ROLLED
    for (uint32_t w = 0; w < args.works; ++w) {
      waits.sequence = begun + args.work[w].call;
      if (!run(block, args, args.work[w], waits)) break;
    }
    count_operations(block, args, begun);
    end_kernel(block, args, waits);
  }

 private:
  WEFT_DEV bool run(const Block& block, const CollectiveArgs& args, const Work& work,
                    const Waits& waits) const {
    const OpArg op = resolved<Type>(work.op);
    WEFT_ROLLED
    for (uint32_t channel = platform::same_in_wave(block.index());
         channel < work.first_channel + work.chunking.channels; channel += block.grid())
      if (channel >= work.first_channel &&
          !Channel<Protocol, Type>(block, args.comm, work, op, waits, channel).run())
        return false;
    return true;
  }
};

}  // namespace weft
