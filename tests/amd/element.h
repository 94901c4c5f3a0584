// Element types of the collectives as a host program can make them: small whole numbers, which each
// type holds exactly, to bytes. Owns: the encodings and how large a contribution may be so that
// sums over kMaxRanks ranks stay exact in the type, with one more summand where is_wide().
#pragma once

#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace amd_test {

constexpr int kMaxRanks = 8;

struct Element {
  const char* name;
  ncclDataType_t type;
  size_t bytes;
  int exponent_bits, fraction_bits;  // 0, 0: a whole number
  int largest;                       // contributions are 0 ... largest
};

inline constexpr Element kElements[] = {
    {"float", ncclFloat32, 4, 8, 23, 1020},
    {"double", ncclFloat64, 8, 11, 52, 1020},
    {"half", ncclFloat16, 2, 5, 10, 100},
    {"bfloat16", ncclBfloat16, 2, 8, 7, 28},
    {"float8e4m3", ncclFloat8e4m3, 1, 4, 3, 2},
    {"float8e5m2", ncclFloat8e5m2, 1, 5, 2, 1},
    {"int8", ncclInt8, 1, 0, 0, 15},
    {"uint8", ncclUint8, 1, 0, 0, 30},
    {"int32", ncclInt32, 4, 0, 0, 1020},
    {"uint32", ncclUint32, 4, 0, 0, 1020},
    {"int64", ncclInt64, 8, 0, 0, 1020},
    {"uint64", ncclUint64, 8, 0, 0, 1020},
};

inline bool is_wide(const Element& element) {
  return element.bytes > 1 || element.exponent_bits == 0;
}

// Whether the device of this thread has the 8-bit floats of gfx942 (FNUZ).
inline bool is_fnuz() {
  int device = 0;
  hipDeviceProp_t properties{};
  return hipGetDevice(&device) == hipSuccess &&
         hipGetDeviceProperties(&properties, device) == hipSuccess &&
         std::strncmp(properties.gcnArchName, "gfx94", 5) == 0;
}

// The bits of `value`, which the type holds exactly. The 8-bit floats of gfx942 (FNUZ) have a bias
// one higher than IEEE's.
inline uint64_t encode(const Element& element, uint64_t value, bool fnuz) {
  if (element.exponent_bits == 0 || value == 0) return value;
  int exponent = 0;
  while (value >> (exponent + 1) != 0) ++exponent;
  const int bias = (1 << (element.exponent_bits - 1)) - 1 + (fnuz && element.bytes == 1 ? 1 : 0);
  const uint64_t rest = value - (uint64_t(1) << exponent);
  const uint64_t fraction = element.fraction_bits >= exponent
                                ? rest << (element.fraction_bits - exponent)
                                : rest >> (exponent - element.fraction_bits);
  return uint64_t(exponent + bias) << element.fraction_bits | fraction;
}

inline void put(const Element& element, std::vector<char>& bytes, size_t index, uint64_t value,
                bool fnuz) {
  const uint64_t bits = encode(element, value, fnuz);
  std::memcpy(bytes.data() + index * element.bytes, &bits, element.bytes);
}

}  // namespace amd_test
