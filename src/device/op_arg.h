// What an operation needs to know at run time, and how the host makes it from the caller's words.
// Plain data, copied into the kernel's arguments. Read by reduce.h. An average is a sum with
// scales; so is a pre-multiplied sum.
#pragma once

#include <cstdint>

#include "device/types.h"

namespace weft {

struct OpArg {
  enum Flags : uint32_t {
    kPreScale = 1,   // every rank multiplies what it contributes by `pre`
    kPostScale = 2,  // the result is multiplied by `post`; an integer is divided by `divisor`
    kSigned = 8,     // integers compare and divide as signed, whatever type the kernel was made for
    kPreFromMemory = 16,  // `pre` is the device address of one element, read when the kernel runs
    // What combines two contributions; none of these: a sum.
    kMax = 4,
    kProduct = 32,
    kMin = 64,
  };
  uint64_t pre;   // bits of an accumulator, or an address
  uint64_t post;  // bits of an accumulator; of an integer average: reciprocal_of(divisor)
  uint32_t divisor;
  uint32_t flags;
};

WEFT_HD constexpr bool is_sum(const OpArg& arg) {
  return (arg.flags & (OpArg::kMax | OpArg::kMin | OpArg::kProduct)) == 0;
}

template <class Accumulator>
WEFT_HD constexpr uint64_t to_word(Accumulator x) {
  if constexpr (std::is_same_v<Accumulator, float>) {
    return bits_as<uint32_t>(x);
  } else if constexpr (std::is_same_v<Accumulator, double>) {
    return bits_as<uint64_t>(x);
  } else {
    return std::make_unsigned_t<Accumulator>(x);
  }
}

template <class Accumulator>
WEFT_HD constexpr Accumulator from_word(uint64_t word) {
  if constexpr (std::is_same_v<Accumulator, float>) {
    return bits_as<float>(uint32_t(word));
  } else if constexpr (std::is_same_v<Accumulator, double>) {
    return bits_as<double>(word);
  } else {
    return Accumulator(word);
  }
}

// The width in which an integer is divided: magnitudes below 2^w, reciprocal floor((2^w - 1) /
// divisor).
template <class Unsigned>
struct DivisionWidth {
  static constexpr int kBits = sizeof(Unsigned) == 1 ? 16 : int(sizeof(Unsigned)) * 8;
};

template <class Unsigned>
WEFT_HD constexpr uint64_t reciprocal_of(uint32_t divisor) {
  return (~uint64_t(0) >> (64 - DivisionWidth<Unsigned>::kBits)) / divisor;
}

// ---- Made on the host, once an operation ----

template <class Type>
constexpr uint32_t sign_flag() {
  return !Type::kIsFloat && std::is_signed_v<typename Type::storage> ? uint32_t(OpArg::kSigned) : 0;
}

template <class Type>
constexpr OpArg plain_arg() {
  return {0, 0, 0, sign_flag<Type>()};
}

template <class Type>
constexpr OpArg product_arg() {
  return {0, 0, 0, sign_flag<Type>() | uint32_t(OpArg::kProduct)};
}

template <class Type>
constexpr OpArg min_max_arg(bool max) {
  return {0, 0, 0, sign_flag<Type>() | uint32_t(max ? OpArg::kMax : OpArg::kMin)};
}

// Sum of `scalar` times each rank's input. The scalar may differ between ranks.
template <class Type>
constexpr OpArg pre_multiply_arg(typename Type::accumulator scalar) {
  return {to_word(scalar), 0, 0, sign_flag<Type>() | uint32_t(OpArg::kPreScale)};
}

// Whether a sum of `ranks` inputs can leave the range of what carries it, although their mean does
// not.
enum class Partials {
  kInAccumulator,  // one fold of unrounded inputs (one-shot, two-shot, Peer)
  kOnWire,         // partial sums are stored in the element type between hops (ring, tree)
};

// The mean. Integers: the wrapped sum divided, rounded toward zero. Floats: sum * (1 / ranks);
// where a partial sum could overflow, inputs are first multiplied by a power of two, which is exact
// but for subnormals, and the result by the rest.
template <class Type>
constexpr OpArg average_arg(uint32_t ranks, Partials partials = Partials::kOnWire) {
  using Accumulator = typename Type::accumulator;
  if constexpr (!Type::kIsFloat) {
    using Unsigned = std::make_unsigned_t<Accumulator>;
    return {0, reciprocal_of<Unsigned>(ranks), ranks,
            sign_flag<Type>() | uint32_t(OpArg::kPostScale)};
  } else {
    // float16 and fp8 have room in a float for 2^31 ranks; the others fill their accumulator.
    constexpr bool kHasRoom =
        sizeof(typename Type::storage) < sizeof(Accumulator) && !std::is_same_v<Type, Bfloat16>;
    Accumulator whole = 1;  // the power of two at or above `ranks`
    if (!kHasRoom || partials == Partials::kOnWire) {
      while (whole < Accumulator(ranks)) whole *= 2;
    }
    const uint32_t flags = OpArg::kPostScale | (whole > 1 ? uint32_t(OpArg::kPreScale) : 0);
    return {to_word(Accumulator(1) / whole), to_word(whole / Accumulator(ranks)), 0, flags};
  }
}

}  // namespace weft
