// Hashes that ranks compare: the same bytes give the same value on every rank, build and platform.
// Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

// FNV-1a, 64 bits.
constexpr uint64_t hash_text(std::string_view text, uint64_t hash = 0xcbf29ce484222325ull) {
  for (const char c : text) hash = (hash ^ uint8_t(c)) * 0x100000001b3ull;
  return hash;
}

// Adds one number; the order of numbers matters. (The finaliser of MurmurHash3.)
constexpr uint64_t hash_number(uint64_t hash, uint64_t number) {
  uint64_t x = hash * 31 + number + 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

}  // namespace weft
