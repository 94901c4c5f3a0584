// The seed of the random tests of this folder, printed once.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace weft {

inline uint64_t test_seed() {
  static const uint64_t value = [] {
    const char* text = std::getenv("WEFT_TEST_SEED");
    const uint64_t seed = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
    std::printf("seed %llu (WEFT_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
    return seed;
  }();
  return value;
}

}  // namespace weft
