// Tables of test data, filling and comparing. See test_data.h.
#include "test_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu.h"

namespace weft::perf {
namespace {

// Primes. The smaller one keeps the tables of thousands of ranks in memory.
constexpr size_t kPeriod = 65521, kPeriodManyRanks = 8191;
constexpr int kManyRanks = 256;
constexpr size_t kStagingBytes = size_t{8} << 20;
constexpr int kPoison = 0xb5;

uint64_t load_bits(const char* at, size_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);  // little endian, as every platform with these GPUs is
  return bits;
}

}  // namespace

TestData::TestData(const Recipe& recipe)
    : recipe_(recipe),
      period_(recipe.ranks > kManyRanks ? kPeriodManyRanks : kPeriod),
      inputs_(static_cast<size_t>(recipe.ranks)) {}

const TestData::Table& TestData::input(int rank) {
  std::lock_guard lock(mutex_);
  Table& table = inputs_[static_cast<size_t>(rank)];
  if (table.built) return table;
  const size_t width = recipe_.type->bytes;
  table.bytes.resize(2 * period_ * width);
  for (size_t i = 0; i < period_; ++i) {
    const uint64_t bits = input_bits(recipe_, rank, i);
    std::memcpy(&table.bytes[i * width], &bits, width);
  }
  std::copy_n(table.bytes.data(), period_ * width, table.bytes.data() + period_ * width);
  table.built = true;
  return table;
}

const TestData::Table& TestData::reduced() {
  std::lock_guard lock(mutex_);
  if (reduced_.built) return reduced_;
  const size_t width = recipe_.type->bytes;
  const bool bounded = recipe_.op == Operation::kAvg && recipe_.type->is_float();
  reduced_.bytes.resize(2 * period_ * width);
  for (size_t i = 0; i < period_; ++i) {
    const Expected expected = reduced_bits(recipe_, i);
    std::memcpy(&reduced_.bytes[i * width], &expected.bits, width);
    if (bounded) reduced_.bounds.push_back(expected.bound);
  }
  std::copy_n(reduced_.bytes.data(), period_ * width, reduced_.bytes.data() + period_ * width);
  reduced_.built = true;
  return reduced_;
}

void TestData::fill(void* device, size_t count, int rank, size_t start) {
  if (count == 0) return;
  const size_t width = recipe_.type->bytes;
  const char* from = input(rank).bytes.data() + start % period_ * width;
  char* to = static_cast<char*>(device);
  size_t filled = std::min(count, period_);
  check_hip(hipMemcpy(to, from, filled * width, hipMemcpyHostToDevice), "filling a buffer");
  // What is there is a whole number of periods, so it continues itself.
  while (filled < count) {
    const size_t more = std::min(filled, count - filled);
    check_hip(hipMemcpy(to + filled * width, to, more * width, hipMemcpyDeviceToDevice),
              "tiling a buffer");
    filled += more;
  }
}

void TestData::check(const void* device, const Segment& segment, size_t start, Verdict& verdict) {
  const size_t width = recipe_.type->bytes;
  const size_t chunk = std::min(segment.count, kStagingBytes / width);
  std::vector<char> staging(chunk * width);
  const char* from = static_cast<const char*>(device) + segment.out * width;
  for (size_t done = 0; done < segment.count;) {
    const size_t count = std::min(chunk, segment.count - done);
    check_hip(hipMemcpy(staging.data(), from + done * width, count * width, hipMemcpyDeviceToHost),
              "reading a result");
    compare(staging.data(), segment, done, count, start, verdict);
    done += count;
  }
}

// `got` holds elements [done, done + count) of the segment.
void TestData::compare(const char* got, const Segment& segment, size_t done, size_t count,
                       size_t start, Verdict& verdict) {
  const Table& table = segment.source == kReducedOverRanks ? reduced() : input(segment.source);
  const size_t width = recipe_.type->bytes;
  for (size_t at = 0; at < count;) {
    const size_t position = (start + segment.in + done + at) % period_;
    const size_t span = std::min(count - at, period_);  // two periods hold it from any position
    const char* bytes = got + at * width;
    if (std::memcmp(bytes, &table.bytes[position * width], span * width) != 0) {
      compare_each(bytes, segment, segment.out + done + at, position, span, verdict);
    }
    at += span;
  }
}

void TestData::compare_each(const char* got, const Segment& segment, size_t out, size_t position,
                            size_t count, Verdict& verdict) {
  const bool computed = segment.source == kReducedOverRanks;
  const Table& table = computed ? reduced() : input(segment.source);
  const size_t width = recipe_.type->bytes;
  for (size_t i = 0; i < count; ++i) {
    Expected expected{load_bits(&table.bytes[(position + i) * width], width), 0};
    if (!table.bounds.empty()) expected.bound = table.bounds[(position + i) % period_];
    const uint64_t bits = load_bits(got + i * width, width);
    if (bits == expected.bits || (computed && matches(*recipe_.type, expected, bits))) continue;
    if (verdict.wrong++ > 0) continue;
    verdict.first = fmt::format("element {}: expected {}{}, got {}", out + i,
                                format_value(*recipe_.type, expected.bits),
                                expected.bound > 0 ? fmt::format(" +- {:g}", expected.bound) : "",
                                format_value(*recipe_.type, bits));
  }
}

void poison(void* device, size_t bytes) {
  if (bytes > 0) check_hip(hipMemset(device, kPoison, bytes), "poisoning a buffer");
}

bool is_poison(const void* device, size_t bytes) {
  std::vector<unsigned char> got(bytes);
  check_hip(hipMemcpy(got.data(), device, bytes, hipMemcpyDeviceToHost), "reading a guard");
  return std::all_of(got.begin(), got.end(), [](unsigned char byte) { return byte == kPoison; });
}

}  // namespace weft::perf
