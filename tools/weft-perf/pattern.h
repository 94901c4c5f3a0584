// Test data: what rank r puts at element i, and what a reduction over all ranks must give there.
// Owns: the values, chosen so that the right answer is one number whatever the order of additions,
// and the bound where it is not; that checked calls differ. Does not own: which element of which
// rank lands where (collectives.h), comparing (test_data.h).
//
// copies, min, max   any bits (finite and non-zero for floating min and max)
// integer sum, prod, mulsum   any bits (odd for prod); all arithmetic wraps in the type's width
// float sum, mulsum  a few ranks per element hold small non-zero integers, the rest 0: every
// partial sum is an integer that the
//                    type holds exactly
// float prod         up to 4 ranks per element hold a power of two or 1.5 times +-1, the rest 1:
// every partial product is exact avg                base +- delta, cancelling in pairs of ranks, so
// that the average is base. Exact for integers. For floats
//                    each of the n-1 additions, the rounded 1/n and the multiplication by it may
//                    err by half an ulp, so |got - base| <= ((1+u)^(n+1) - 1) * mean|x| + n *
//                    smallest positive, with u half an ulp of 1.
// mulsum             ncclRedOpCreatePreMulSum with the scalar 1 on even ranks and 2 on odd ones
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

namespace weft::perf {

enum class Operation { kCopy, kSum, kProd, kMax, kMin, kAvg, kMulSum };

struct Recipe {
  const TypeInfo* type;
  Operation op;
  int ranks;
  uint64_t seed;
};

// The element at which the inputs of a run's checked call number `call` begin. From one call to the
// next the distance grows, so it is not twice that of two parts of a message: what an earlier call
// left in a slot or a line is wrong now, wherever in the message it belonged.
constexpr size_t input_start(uint64_t call) { return call * (call + 1) / 2; }

// The bits of element i of rank's input.
uint64_t input_bits(const Recipe& recipe, int rank, size_t i);

struct Expected {
  uint64_t bits;
  double bound;  // 0: this number exactly (a float zero of either sign is the same)
};

// Element i of the reduction over all ranks; recipe.op must not be kCopy.
Expected reduced_bits(const Recipe& recipe, size_t i);

// The scalar that `rank` gives to mulsum.
inline int premul_scalar(int rank) { return 1 + rank % 2; }

// True when `got` is right as a result of arithmetic. Copies are compared bit by bit instead.
bool matches(const TypeInfo& type, const Expected& expected, uint64_t got);

}  // namespace weft::perf
