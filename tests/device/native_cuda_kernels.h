// Comparisons on the device of conversions by instruction with the portable text.
#pragma once

#include <cstdint>

namespace weft::test {

enum class NarrowType { kFloat16, kBfloat16, kFp8E4m3, kFp8E5m2 };
enum class Direction { kUnpack, kRepack };

// How many of all 2^32 words (kUnpack), or of all 2^32 floats (kRepack), are converted to something
// else. Two NaN count as equal.
struct Difference {
  uint32_t wrong;
  uint32_t example;  // a word, or the bits of a float
};
Difference compare_conversions(NarrowType type, Direction direction);

}  // namespace weft::test
