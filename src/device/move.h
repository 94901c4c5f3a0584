// Moves one slice through one step: takes it from peers, the input or both, reduces, gives it to
// the output, peers or both. Owns: which source and target take part and when scales apply. Does
// not own: waiting and posting (protocols), arithmetic (reduce.h), tails and misalignment (pack.h).
#pragma once

#include "device/pack.h"
#include "device/sync.h"

namespace weft {

// Where one slice lies in the user's memory.
struct Slice {
  const void* input;
  void* output;
  const void* bias;  // null: none
  size_t elems;
};

// This rank among all.
struct Place {
  int place, n;
};

// Contributions are folded in the order of places, so a fold of all gives all ranks the same bits.
template <class Protocol, class Type>
class Move {
 public:
  WEFT_DEV Move(Protocol& protocol, const Place& at, const Step& step, const OpArg& op,
                const Slice& slice)
      : protocol_(protocol),
        at_(at),
        step_(step),
        op_(op),
        input_(Input<Type>::of(slice.input, slice.elems)),
        output_(Output<Type>::of(slice.output, slice.elems)),
        bias_(Input<Type>::of(slice.bias, slice.elems)) {}

  WEFT_DEV void run(const Block& block) const {
    uint32_t done = 0;
    if constexpr (Protocol::kPacksInFlight > 1) {
      if (is_aligned()) done = uint32_t(input_.elems / Pack<Type>::kElems);
      if (is_sum(op_) && !has_bias()) {
        block.template each_batch<kBatch>(done, Batch<true, Sum>{*this});
      } else {
        block.template each_batch<kBatch>(done, Batch<true, AnyOp>{*this});
      }
    }
    // What is left, whole packs or not, aligned or not.
    protocol_.each_pack(input_.packs(), done, [&](const Unit& unit) {
      Batch<false, AnyOp>{*this}.template operator()<1>(unit, 0, 1);
    });
  }

 private:
  // Packs in hand at a time. Narrow types unpack to more accumulators.
  static constexpr int batch() {
    if (Protocol::kPacksInFlight == 1) return 1;
    if (Pack<Type>::kElems <= 4) return platform::kPacksFolded;
    return Protocol::kPacksInFlight * 4 >= Pack<Type>::kElems
               ? Protocol::kPacksInFlight * 4 / Pack<Type>::kElems
               : 1;
  }
  static constexpr int kBatch = batch();
  struct AnyOp {};  // what op_ says, and the bias if there is one; Sum: neither has to be asked
  static constexpr int kOwn = -2;        // the contribution of this rank
  static constexpr int kBias = -3;       // what is added to the result
  using Unit = typename Protocol::Unit;  // a pack, as the protocol lays it out

  WEFT_DEV bool is_aligned() const {
    return (!step_.read_input || input_.aligned) && (!step_.write_output || output_.aligned) &&
           (!has_bias() || bias_.aligned);
  }
  WEFT_DEV bool has_bias() const { return step_.finish && bias_.base != nullptr; }

  // Packs first, first + stride, ..., as far as they are among the next `left`; instead of others,
  // the first once more.
  struct Span {
    const Unit& first;
    uint32_t stride, left;

    WEFT_DEV Unit unit(int k) const {
      const uint32_t further = uint32_t(k) * stride;
      if constexpr (Protocol::kPacksInFlight > 1) return first + (further < left ? further : 0);
      return first;
    }
  };
  template <bool kFast, class Op>
  struct Batch {
    const Move& move;
    template <int kCount>
    WEFT_DEV void operator()(const Unit& first, uint32_t stride, uint32_t left) const {
      const Span span{first, stride, left};
      Pack<Type> result[kCount] = {};
      move.template fold<kFast, Op, kCount>(result, span);
      move.template give<kFast, kCount>(result, span);
    }
  };

  // The place of contribution i, kOwn, or -1 for none.
  WEFT_DEV int contributions() const {
    return step_.recv.candidates(at_.n) + (step_.recv.is_others() || !step_.read_input ? 0 : 1);
  }
  WEFT_DEV int contributor(int i) const {
    if (step_.recv.is_others())
      return i == at_.place && step_.read_input ? kOwn : step_.recv.at(i, at_.place);
    if (!step_.read_input) return step_.recv.at(i, at_.place);
    return i == 0 ? kOwn : step_.recv.at(i - 1, at_.place);
  }
  WEFT_DEV int first_contributor(int& i) const {
    int from = contributor(i++);
    if (from == -1) from = contributor(i++);  // this rank, when it takes no part
    if (from == -1) from = contributor(i++);  // and the one that others_but() leaves out
    return from;
  }

  // All loads are issued before the first use.
  template <bool kFast, int kCount>
  WEFT_DEV void load(Pack<Type> (&packs)[kCount], int from, const Span& span) const {
    if (from == kOwn || from == kBias) {
      const Input<Type> mine = from == kOwn ? input_ : bias_;
      for (int k = 0; k < kCount; ++k) packs[k] = read<kFast>(mine, span.unit(k));
    } else {
      const auto source = protocol_.source(from);
      for (int k = 0; k < kCount; ++k)
        packs[k] = protocol_.template get<Type>(source, span.unit(k));
    }
    if (from == kOwn || (from != kBias && protocol_.mapped()))  // what comes as its rank has it
      for (int k = 0; k < kCount; ++k) packs[k] = pre(packs[k], op_);
  }

  // Contributions, then the scale, then the bias; rounded once. A single contribution that is not
  // final passes as it is.
  template <bool kFast, class Op, int kCount>
  WEFT_DEV void fold(Pack<Type> (&result)[kCount], const Span& span) const {
    const int count = contributions();
    Pack<Type> next[kCount] = {};
    Partial<Type> sum[kCount] = {};
    int i = 0, loaded = 0;
    if constexpr (kFast) {  // the second is asked for before the first is used
      load<kFast>(result, first_contributor(i), span);
      loaded = 1;
    }
    WEFT_ROLLED
    for (; i <= count; ++i) {
      const bool all = i == count;
      if (all) {
        if (loaded == 1 && !step_.finish) return;
        if (loaded == 1) unpack_all(result, sum);
        loaded = 2;
        if (step_.finish) post_all(sum);
        if (std::is_same_v<Op, Sum> || !has_bias()) break;
      }
      const int from = all ? kBias : contributor(i);
      if (from == -1) continue;
      load<kFast>(next, from, span);
      if (loaded == 0) {
        for (int k = 0; k < kCount; ++k) result[k] = next[k];
      } else {
        if (loaded == 1) unpack_all(result, sum);
        combine_all<Op>(sum, next);
      }
      ++loaded;
    }
    for (int k = 0; k < kCount; ++k) result[k] = repack(sum[k]);
  }
  template <int kCount>
  WEFT_DEV void unpack_all(const Pack<Type> (&packs)[kCount], Partial<Type> (&all)[kCount]) const {
    for (int k = 0; k < kCount; ++k) all[k] = unpack(packs[k]);
  }
  template <int kCount>
  WEFT_DEV void post_all(Partial<Type> (&sum)[kCount]) const {
    for (int k = 0; k < kCount; ++k) sum[k] = post(sum[k], op_);
  }
  template <class Op, int kCount>
  WEFT_DEV void combine_all(Partial<Type> (&sum)[kCount], const Pack<Type> (&packs)[kCount]) const {
    Partial<Type> next[kCount];
    unpack_all(packs, next);
    const auto each = [&](auto op) {
      for (int k = 0; k < kCount; ++k) sum[k] = combine<decltype(op)>(sum[k], next[k], op_);
    };
    if constexpr (std::is_same_v<Op, Sum>) {
      each(Sum{});
    } else {
      with_op(op_, each);
    }
  }

  template <bool kFast, int kCount>
  WEFT_DEV void give(const Pack<Type> (&packs)[kCount], const Span& span) const {
    const int targets = step_.send.candidates(at_.n);
    WEFT_ROLLED
    for (int i = 0; i < targets; ++i) {
      const int peer = step_.send.at(i, at_.place);
      if (peer < 0) continue;
      const auto target = protocol_.target(peer);
      for (int k = 0; k < kCount; ++k) protocol_.put(target, span.unit(k), packs[k]);
    }
    if (!step_.write_output) return;
    for (int k = 0; k < kCount; ++k) write<kFast>(span.unit(k), packs[k]);
  }

  // A lane that stands for no pack has a unit beyond all.
  template <bool kFast>
  WEFT_DEV Pack<Type> read(const Input<Type>& input, const Unit& unit) const {
    const size_t index = index_of(unit);
    if (Protocol::kLanesWithout && index >= input_.packs()) return {};
    if constexpr (kFast) return load_pack<Type>(input.base + index * kPackBytes);
    return Protocol::kWholePacks ? input.load_whole(index) : input.load(index);
  }
  template <bool kFast>
  WEFT_DEV void write(const Unit& unit, const Pack<Type>& pack) const {
    const size_t index = index_of(unit);
    if (Protocol::kLanesWithout && index >= input_.packs()) return;
    if constexpr (kFast) return store_pack(output_.base + index * kPackBytes, pack);
    Protocol::kWholePacks ? output_.store_whole(index, pack) : output_.store(index, pack);
  }

  Protocol& protocol_;
  const Place& at_;
  const Step& step_;
  const OpArg& op_;
  const Input<Type> input_;
  const Output<Type> output_;
  const Input<Type> bias_;
};

}  // namespace weft
