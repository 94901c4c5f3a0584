// Sizes on the command line: "8", "64K", "1.5M", "2G", and the list of sizes a run goes through.
// Owns: the grammar of a size and the sweep rule of nccl-tests. Does not own: how a size becomes a
// count (collectives.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::perf {

// Bytes; the suffixes K, M, G, T are powers of 1024, upper or lower case, optionally followed by B
// or iB. Throws Failure(kExitUsage) naming the text.
uint64_t parse_bytes(const std::string& text);

// "8", "64K", "1.5M": the shortest exact form.
std::string format_bytes(uint64_t bytes);

struct Sweep {
  uint64_t min_bytes, max_bytes;
  uint64_t step_bytes;   // added when factor is 0
  uint64_t step_factor;  // at least 2, or 0
};

// From min to max. After a size of 0 a factor goes on at 8 bytes. Throws Failure(kExitUsage) when
// it would never end.
std::vector<uint64_t> sweep_sizes(const Sweep& sweep);

}  // namespace weft::perf
