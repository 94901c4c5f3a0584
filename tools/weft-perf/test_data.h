// Test data in bulk: one period of every rank's input and of the reduced result, laid out so that
// any stretch is contiguous. Owns: the tables, built when first asked for, and copying them to and
// from devices. The values are pattern.h's. The period is a prime number of elements, so no slice,
// chunk or part of a message, all of which are round numbers, can be mistaken for another. Filling
// and checking cost memory bandwidth, not arithmetic: tables are tiled over the buffer on the
// device, and results are compared by memcmp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "collectives.h"
#include "pattern.h"

namespace weft::perf {

struct Verdict {
  uint64_t wrong = 0;
  std::string first;  // where the first wrong element is and what it holds
};

class TestData {
 public:
  explicit TestData(const Recipe& recipe);

  const Recipe& recipe() const { return recipe_; }

  // device[i] = input of `rank` at element start + i, for i < count.
  void fill(void* device, size_t count, int rank, size_t start);
  // Compares `count` elements at device + segment.out with what `segment` promises; inputs began at
  // element `start`. Adds to `verdict`. Any thread.
  void check(const void* device, const Segment& segment, size_t start, Verdict& verdict);

 private:
  struct Table {
    std::vector<char> bytes;     // two periods
    std::vector<double> bounds;  // one period; empty: exact, by value when reduced
    bool built = false;
  };
  const Table& input(int rank);
  const Table& reduced();
  void compare(const char* got, const Segment& segment, size_t done, size_t count, size_t start,
               Verdict& verdict);
  void compare_each(const char* got, const Segment& segment, size_t out, size_t position,
                    size_t count, Verdict& verdict);

  const Recipe recipe_;
  const size_t period_;
  std::mutex mutex_;
  std::vector<Table> inputs_;
  Table reduced_;
};

// Fills with a byte that no test expects to stay, and tells whether it did.
void poison(void* device, size_t bytes);
bool is_poison(const void* device, size_t bytes);

}  // namespace weft::perf
