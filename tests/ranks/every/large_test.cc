// Cases of many bytes and of many ranks. Buffers of 4 GiB are ranges of addresses, nearly all of
// which is the same memory over and over; only what is looked at, around each power of two, is
// memory of its own.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "../../support/local_ranks.h"
#include "../../support/reduction_model.h"
#include "../../unit/scoped_log.h"
#include "rank_graph.h"

namespace weft::test {
namespace {

constexpr size_t k2G = size_t(1) << 31, k4G = size_t(1) << 32;

// Unreachable memory lies on both sides.
class SparseBuffer {
 public:
  // `looked_at`: offsets around which the memory is its own; the ends are too.
  SparseBuffer(size_t bytes, std::vector<size_t> looked_at)
      : bytes_(bytes), mapped_((bytes + kWindow - 1) / kWindow * kWindow + 2 * kWindow) {
    base_ = map(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    const int file = memfd_create("shared", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kShared) != 0) throw std::runtime_error("memfd");
    for (size_t at = 0; at < bytes_; at += kShared)
      map(data() + at, std::min(kShared, mapped_ - 2 * kWindow - at), PROT_READ | PROT_WRITE,
          MAP_SHARED | MAP_FIXED, file);
    close(file);
    looked_at.push_back(0);
    looked_at.push_back(bytes_ - 1);
    for (const size_t offset : looked_at) own(offset);
  }
  ~SparseBuffer() { munmap(base_, mapped_); }
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;

  uint8_t* data() const { return static_cast<uint8_t*>(base_) + kWindow; }
  // Calls f(offset, byte) for each byte that is looked at.
  template <class F>
  void each(F f) const {
    for (const size_t window : windows_)
      for (size_t at = window; at < std::min(window + kWindow, bytes_); ++at) f(at, data()[at]);
  }

 private:
  static constexpr size_t kWindow = 4096, kShared = size_t(4) << 20;

  static void* map(void* at, size_t bytes, int protection, int flags, int file) {
    void* mapped = mmap(at, bytes, protection, flags, file, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("mmap");
    return mapped;
  }
  // The page of the offset and the one before.
  void own(size_t offset) {
    const size_t page = offset / kWindow * kWindow;
    for (const size_t window : {page, page - kWindow}) {
      if (window >= bytes_ || std::ranges::find(windows_, window) != windows_.end()) continue;
      map(data() + window, kWindow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
          -1);
      windows_.push_back(window);
    }
  }

  const size_t bytes_, mapped_;
  void* base_ = nullptr;
  std::vector<size_t> windows_;
};

uint8_t value_at(int rank, size_t offset) { return uint8_t(mix(offset * 2 + size_t(rank))); }

// Both ranks' buffers; the input has value_at() where it is looked at.
struct LargeRank {
  LargeRank(int rank, size_t in_bytes, size_t out_bytes, const std::vector<size_t>& in_looked_at,
            const std::vector<size_t>& out_looked_at)
      : in(in_bytes, in_looked_at), out(out_bytes, out_looked_at) {
    in.each([rank](size_t at, uint8_t& byte) { byte = value_at(rank, at); });
  }
  SparseBuffer in, out;
};

void expect_bytes(const SparseBuffer& out, const std::function<uint8_t(size_t)>& want) {
  size_t wrong = 0, first = 0;
  out.each([&](size_t at, uint8_t byte) {
    if (byte != want(at) && wrong++ == 0) first = at;
  });
  EXPECT_EQ(wrong, 0u) << "the first at " << first;
}

const std::vector<size_t> kPowers = {k2G, k4G};

void expect_all_reduces(const std::vector<size_t>& sizes) {
  const LocalRanks ranks(2);
  for (const size_t bytes : sizes) {
    SCOPED_TRACE(bytes);
    std::vector<std::unique_ptr<LargeRank>> parts;
    for (const int rank : {0, 1}) {
      parts.push_back(std::make_unique<LargeRank>(rank, bytes, bytes, kPowers, kPowers));
      require_ok(ncclAllReduce(parts.back()->in.data(), parts.back()->out.data(), bytes, ncclInt8,
                               ncclSum, ranks.comm(rank), ranks.stream(rank)),
                 "ncclAllReduce");
    }
    ranks.synchronize();
    for (const auto& part : parts)
      expect_bytes(part->out, [](size_t at) { return value_at(0, at) + value_at(1, at); });
  }
}

TEST(Large, CiA21AllReduceOfMoreThan4GiB) { expect_all_reduces({k4G + 8}); }
TEST(Large, SoakA21AllReduceAroundPowersOfTwo) {
  expect_all_reduces({k2G - 1, k2G, k2G + 4, k4G - 1, k4G});
}

// Only the whole passes 2^32.
TEST(Large, CiA21AllGatherWhoseWholePasses4GiB) {
  const LocalRanks ranks(2);
  constexpr size_t kEach = k2G + 4;
  std::vector<std::unique_ptr<LargeRank>> parts;
  for (const int rank : {0, 1}) {
    parts.push_back(std::make_unique<LargeRank>(rank, kEach, 2 * kEach,
                                                std::vector{k2G, k4G - kEach, kEach - 4096},
                                                std::vector{k2G, kEach, k4G, 2 * kEach - 4096}));
    require_ok(ncclAllGather(parts.back()->in.data(), parts.back()->out.data(), kEach / 4,
                             ncclInt32, ranks.comm(rank), ranks.stream(rank)),
               "ncclAllGather");
  }
  ranks.synchronize();
  // A byte whose source is not looked at is that of memory used over and over.
  for (const auto& part : parts) {
    size_t seen = 0;
    part->out.each([&](size_t at, uint8_t byte) {
      const int from = at >= kEach;
      bool known = false;
      const size_t source = at - size_t(from) * kEach;
      parts[size_t(from)]->in.each([&](size_t each, uint8_t) { known |= each == source; });
      if (!known) return;
      ++seen;
      EXPECT_EQ(byte, value_at(from, source)) << at;
    });
    EXPECT_GT(seen, 8'000u);
  }
}

TEST(Large, CiA21AMessageOfMoreThan4GiB) {
  const LocalRanks ranks(2);
  constexpr size_t kBytes = k4G + 8;
  const LargeRank from(0, kBytes, kBytes, kPowers, kPowers), to(1, kBytes, kBytes, {}, kPowers);
  require_ok(ncclSend(from.in.data(), kBytes / 4, ncclInt32, 1, ranks.comm(0), ranks.stream(0)),
             "ncclSend");
  require_ok(ncclRecv(to.out.data(), kBytes / 4, ncclInt32, 0, ranks.comm(1), ranks.stream(1)),
             "ncclRecv");
  ranks.synchronize();
  expect_bytes(to.out, [](size_t at) { return value_at(0, at); });
}

// ---- bfloat16 over many ranks ----

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t to_bfloat16(float value) {  // to nearest, ties to even
  const auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr float kUnit = 1.f / 256, kTiny = 1.f / 512;

// One rank, another for each element, has 1, the others 2^-9, which is lost when it is added to 1
// alone: what is rounded how often can be seen.
std::vector<uint16_t> sum_of_one_and_tiny(int size, const char* algorithm) {
  const ScopedEnv chosen("NCCL_ALGO", algorithm), shared("WEFT_ALLOW_SHARED_DEVICE", "1");
  constexpr size_t kCount = 512;
  int devices = 0;
  require_hip(hipGetDeviceCount(&devices), "hipGetDeviceCount");
  std::vector<int> list;
  for (int rank = 0; rank < size; ++rank) list.push_back(rank % devices);
  std::vector<ncclComm_t> comms(size_t(size), nullptr);
  require_ok(ncclCommInitAll(comms.data(), size, list.data()), "ncclCommInitAll");
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<std::unique_ptr<Streams>> streams;
  std::vector<std::vector<char>> results;
  for (int rank = 0; rank < size; ++rank) {
    const LocalRanks::OnDevice scope(list[size_t(rank)]);
    std::vector<uint16_t> in(kCount, to_bfloat16(kTiny));
    for (size_t i = size_t(rank); i < kCount; i += size_t(size)) in[i] = to_bfloat16(1);
    buffers.push_back(std::make_unique<GuardedBuffer>(2 * kCount, 0));
    streams.push_back(std::make_unique<Streams>(1));
    void* data = buffers.back()->data();
    require_hip(hipMemcpy(data, in.data(), 2 * kCount, hipMemcpyHostToDevice), "in");
    require_ok(ncclAllReduce(data, data, kCount, ncclBfloat16, ncclSum, comms[size_t(rank)],
                             (*streams.back())[0]),
               "ncclAllReduce");
  }
  for (int rank = 0; rank < size; ++rank) {
    const LocalRanks::OnDevice scope(list[size_t(rank)]);
    streams[size_t(rank)]->synchronize();
    results.push_back(buffers[size_t(rank)]->read());
    EXPECT_EQ(results.back(), results[0]) << "rank " << rank << " differs from rank 0";
  }
  for (ncclComm_t comm : comms) require_ok(ncclCommDestroy(comm), "ncclCommDestroy");
  std::vector<uint16_t> result(kCount);
  std::memcpy(result.data(), &results[0][GuardedBuffer::kGuard], 2 * kCount);
  return result;
}

// The bound that docs/numerics.md states: hops x unit x sum of all sizes; rounded once in one fold.
void expect_within_bound(int size) {
  const float exact = 1 + float(size - 1) * kTiny;
  const auto depth = float(std::bit_width(unsigned(size)));
  for (const auto& [algorithm, hops] :
       {std::pair("Direct", 0.f), std::pair("Ring", float(size - 1)), std::pair("Tree", depth)}) {
    SCOPED_TRACE(std::string(algorithm) + " of " + std::to_string(size));
    for (const uint16_t bits : sum_of_one_and_tiny(size, algorithm)) {
      if (hops == 0) {
        ASSERT_EQ(bits, to_bfloat16(exact));
      } else {
        ASSERT_LE(std::abs(from_bfloat16(bits) - exact), hops * kUnit * exact);
      }
    }
  }
}

TEST(Large, P09SumOfBfloat16Over8Ranks) { expect_within_bound(8); }
TEST(Large, SoakP09SumOfBfloat16Over64Ranks) { expect_within_bound(64); }

}  // namespace
}  // namespace weft::test
