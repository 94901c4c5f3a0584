// The arithmetic of one element: pure functions on accumulators. Owns: sum, product, min/max, the
// scales before and after. Does not own: conversions (types.h), 16 bytes at a time (pack.h), the
// order of ranks (the pattern). docs/numerics.md states what is promised; op_arg.h makes the
// run-time argument.
//
// A rank's contribution passes pre(), contributions are combined, the result passes post() once.
// pre() rounds to the element type, so that a rank folds exactly the value that its peers see.
// Products and sums must not be contracted into fused multiply-adds: build with -ffp-contract=off
// (nvcc: -fmad=false), else ranks differ in the last bit.
#pragma once

#include "device/op_arg.h"

namespace weft {

struct Sum {};
struct Prod {};
struct MinMax {};  // OpArg::kMax says which

// f(the operation of `arg`). A kernel does all of them; it asks once for what f does, not once an
// element.
template <class F>
WEFT_HD void with_op(const OpArg& arg, F f) {
  if (is_sum(arg)) {
    f(Sum{});
  } else if ((arg.flags & OpArg::kProduct) != 0) {
    f(Prod{});
  } else {
    f(MinMax{});
  }
}

// The smaller of two floats. A NaN loses against a number, minus zero is smaller than zero: the
// result does not depend on the order of ranks. `flip` is the sign bit to get the larger instead.
// (No platform hook: instructions and libm differ on signaling NaN and on zeros, and an H200 runs
// this at the speed of memory.)
template <class Float, class Bits>
WEFT_HD Float smaller(Float a, Float b, Bits flip) {
  const Bits a_bits = bits_as<Bits>(a) ^ flip;
  const Bits b_bits = bits_as<Bits>(b) ^ flip;
  const Float x = bits_as<Float>(a_bits);
  const Float y = bits_as<Float>(b_bits);
  const Bits picked = ((x < y) | (y != y)) ? a_bits : b_bits;
  // Equal numbers have equal bits, but for the two zeros: there "or" is minus zero if either is.
  return bits_as<Float>((x == y ? (a_bits | b_bits) : picked) ^ flip);
}

template <class Float>
WEFT_HD Float min_max_float(Float a, Float b, bool max) {
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  return smaller(a, b, max ? Bits(1) << (sizeof(Bits) * 8 - 1) : Bits(0));
}

template <class Integral>
WEFT_HD Integral min_max_integer(Integral a, Integral b, uint32_t flags) {
  using Unsigned = std::make_unsigned_t<Integral>;
  const Unsigned sign =
      (flags & OpArg::kSigned) ? Unsigned(Unsigned(1) << (sizeof(Unsigned) * 8 - 1)) : Unsigned(0);
  const Unsigned flip = (flags & OpArg::kMax) ? Unsigned(~sign) : sign;
  return Unsigned(Unsigned(a) ^ flip) < Unsigned(Unsigned(b) ^ flip) ? a : b;
}

template <class Integral>
WEFT_HD Integral multiply_wrapping(Integral a, Integral b) {
  using Unsigned = std::make_unsigned_t<Integral>;
  // 1u: a product of promoted 8-bit values must not be a signed int's
  return Integral(Unsigned(1u * Unsigned(a) * Unsigned(b)));
}

// Rounds toward zero. The reciprocal gives the quotient or one less.
template <class Integral>
WEFT_HD Integral divide(Integral x, const OpArg& arg) {
  using Unsigned = std::make_unsigned_t<Integral>;
  constexpr int kBits = DivisionWidth<Unsigned>::kBits;
  using Work = std::conditional_t<sizeof(Unsigned) == 8, uint64_t, uint32_t>;
  __extension__ using Wide128 = unsigned __int128;
  using Wide = std::conditional_t<sizeof(Unsigned) == 8, Wide128,
                                  std::conditional_t<sizeof(Unsigned) == 4, uint64_t, uint32_t>>;
  const Unsigned bits = Unsigned(x);
  const bool negative =
      (arg.flags & OpArg::kSigned) != 0 && bits >> (sizeof(Unsigned) * 8 - 1) != 0;
  const Work magnitude = negative ? Unsigned(0 - bits) : bits;
  Work quotient = Work(Wide(magnitude) * Wide(arg.post) >> kBits);
  quotient += Work(magnitude - quotient * Work(arg.divisor)) >= Work(arg.divisor) ? 1 : 0;
  return Integral(Unsigned(negative ? 0 - quotient : quotient));
}

template <class Op, class Type>
struct Reducer {
  using Accumulator = typename Type::accumulator;

  // What this rank contributes, from its input.
  static WEFT_HD Accumulator pre(Accumulator x, const OpArg& arg) {
    if ((arg.flags & OpArg::kPreScale) == 0) return x;
    if constexpr (Type::kIsFloat) {
      return Type::load(Type::store(scaled(x, arg)));
    } else {
      return scaled(x, arg);
    }
  }

  // The same with kPreScale, before it is rounded.
  static WEFT_HD Accumulator scaled(Accumulator x, const OpArg& arg) {
    const Accumulator factor = from_word<Accumulator>(arg.pre);
    if constexpr (Type::kIsFloat) {
      return x * factor;
    } else {
      return multiply_wrapping(x, factor);
    }
  }

  static WEFT_HD Accumulator combine(Accumulator a, Accumulator b, const OpArg& arg) {
    if constexpr (std::is_same_v<Op, MinMax>) {
      if constexpr (Type::kIsFloat) {
        return min_max_float(a, b, (arg.flags & OpArg::kMax) != 0);
      } else {
        return min_max_integer(a, b, arg.flags);
      }
    } else if constexpr (Type::kIsFloat) {
      return std::is_same_v<Op, Sum> ? a + b : a * b;
    } else if constexpr (std::is_same_v<Op, Sum>) {
      using Unsigned = std::make_unsigned_t<Accumulator>;
      return Accumulator(Unsigned(Unsigned(a) + Unsigned(b)));
    } else {
      return multiply_wrapping(a, b);
    }
  }

  // The result, once all contributions are in.
  static WEFT_HD Accumulator post(Accumulator x, const OpArg& arg) {
    if ((arg.flags & OpArg::kPostScale) == 0) return x;
    if constexpr (Type::kIsFloat) {
      return x * from_word<Accumulator>(arg.post);
    } else {
      return divide(x, arg);
    }
  }
};

}  // namespace weft
