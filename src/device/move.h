// Moves one slice through one step: takes it from a slot, the input or both, reduces, gives it to
// the output, a slot or both. Owns: which source and target take part and when scales apply. Does
// not own: waiting and posting (protocols), arithmetic (reduce.h), tails and misalignment (pack.h).
#pragma once

#include "device/pack.h"
#include "device/sync.h"

namespace weft {

// The ends of one slice. Slots hold whole packs; input and output are the user's memory, exactly
// `elems` long.
template <class Type, class Op>
class Move {
 public:
  WEFT_DEV Move(const Step& step, const Work& work, Range slice, const char* source, char* target)
      : input_(Input<Type>::of(element(work.input, slice.first), slice.count)),
        output_(Output<Type>::of(element(work.output, slice.first), slice.count)),
        source_(source),
        target_(target),
        op_(work.op),
        read_(step.read_input),
        write_(step.write_output),
        finish_(step.finish) {}

  WEFT_DEV void run(const Block& block) const {
    if (input_.aligned && output_.aligned) {
      run_whole<true>(block);
    } else {
      run_whole<false>(block);
    }
    const size_t whole = whole_packs();
    if (whole * Pack<Type>::kElems < input_.elems && block.leader()) tail(whole);
  }

 private:
  // Packs in hand at a time. Narrow types unpack to more accumulators; what is not aligned comes in
  // many small accesses.
  static constexpr int kForwardBatch = platform::kPacksInFlight;
  static constexpr int kReduceBatch =
      Pack<Type>::kElems <= 4
          ? kForwardBatch
          : (kForwardBatch * 4 >= Pack<Type>::kElems ? kForwardBatch * 4 / Pack<Type>::kElems : 1);

  WEFT_DEV size_t whole_packs() const { return input_.elems / Pack<Type>::kElems; }

  template <bool kAligned>
  WEFT_DEV void run_whole(const Block& block) const {
    if (source_ != nullptr && read_) {
      block.template each_batch<kAligned ? kReduceBatch : 1>(whole_packs(),
                                                             Reduce<kAligned>{*this});
    } else {
      block.template each_batch<kAligned ? kForwardBatch : 1>(whole_packs(),
                                                              Forward<kAligned>{*this});
    }
  }

  // Packs first, first + stride, ...: all loads are issued before the first use.
  template <bool kAligned>
  struct Reduce {
    const Move& move;
    template <int kCount>
    WEFT_DEV void operator()(size_t first, size_t stride) const {
      Pack<Type> received[kCount], own[kCount];
      for (int k = 0; k < kCount; ++k) received[k] = move.received_pack(first + k * stride);
      for (int k = 0; k < kCount; ++k)
        own[k] = move.template own_pack<kAligned>(first + k * stride);
      for (int k = 0; k < kCount; ++k)
        move.template give<kAligned>(first + k * stride, move.reduced(received[k], own[k]));
    }
  };
  template <bool kAligned>
  struct Forward {
    const Move& move;
    template <int kCount>
    WEFT_DEV void operator()(size_t first, size_t stride) const {
      Pack<Type> only[kCount];
      for (int k = 0; k < kCount; ++k)
        only[k] = move.template only_pack<kAligned>(first + k * stride);
      for (int k = 0; k < kCount; ++k) move.template give<kAligned>(first + k * stride, only[k]);
    }
  };

  static WEFT_DEV const void* element(const void* base, size_t index) {
    return static_cast<const typename Type::storage*>(base) + index;
  }
  static WEFT_DEV void* element(void* base, size_t index) {
    return static_cast<typename Type::storage*>(base) + index;
  }
  template <class Char>
  static WEFT_DEV Char* slot(Char* base, size_t pack) {
    return base + pack * kPackBytes;
  }

  WEFT_DEV Pack<Type> received_pack(size_t index) const {
    return load_pack<Type>(slot(source_, index));
  }
  template <bool kAligned>
  WEFT_DEV Pack<Type> own_pack(size_t index) const {
    const char* from = slot(input_.base, index);
    return pre<Op>(kAligned ? load_pack<Type>(from) : load_unaligned<Type>(from), op_);
  }
  template <bool kAligned>
  WEFT_DEV Pack<Type> only_pack(size_t index) const {
    return source_ != nullptr ? received_pack(index) : own_pack<kAligned>(index);
  }

  // Rounded once, after the scale.
  WEFT_DEV Pack<Type> reduced(const Pack<Type>& received, const Pack<Type>& own) const {
    const Partial<Type> sum = combine<Op>(unpack(received), unpack(own), op_);
    return repack(finish_ ? post<Op>(sum, op_) : sum);
  }
  template <bool kAligned>
  WEFT_DEV void give(size_t index, const Pack<Type>& pack) const {
    if (target_ != nullptr) store_pack(slot(target_, index), pack);
    if (!write_) return;
    char* to = slot(output_.base, index);
    if constexpr (kAligned) {
      store_pack(to, pack);
    } else {
      store_unaligned(to, pack);
    }
  }

  // The last pack, of fewer elements. In a slot it is whole, its rest zero.
  WEFT_DEV void tail(size_t index) const {
    const Pack<Type> own = read_ ? pre<Op>(input_.load(index), op_) : Pack<Type>{};
    const Pack<Type> received = source_ != nullptr ? received_pack(index) : Pack<Type>{};
    const Pack<Type> result = source_ == nullptr ? own : read_ ? reduced(received, own) : received;
    if (target_ != nullptr) store_pack(slot(target_, index), result);
    if (write_) output_.store(index, result);
  }

  const Input<Type> input_;
  const Output<Type> output_;
  const char* const source_;
  char* const target_;
  const OpArg& op_;
  const bool read_, write_, finish_;
};

}  // namespace weft
