// What ops of a program compute, to the bit: every type, scalars on the host and on the device.
// Each element gets something from one rank only, so that no sum rounds and no order matters: what
// is checked is the product and its rounding (docs/numerics.md).
#include "../support/local_ranks.h"
#include "../support/reduction_model.h"
#include "../unit/scoped_log.h"
#include "all_reduce_rank.h"

namespace weft::test {
namespace {

constexpr size_t kCount = 3 * kPeriod + 7;

uint64_t any_number(const Kind& kind, uint64_t random) {
  if (!kind.is_float) return cut(kind, random);
  // Wide floats from 2^-31 or 2^-255 to 1, so that products are normal numbers; narrow ones: any.
  uint64_t bits = cut(kind, random);
  if (kind.bytes == 8) bits = (bits & ~(uint64_t(0x400) << 52)) | uint64_t(0x300) << 52;
  if (kind.bytes == 4) bits = (bits & ~(uint64_t(0x80) << 23)) | uint64_t(0x60) << 23;
  return std::isfinite(value_of(kind, bits)) ? bits : bits_of(kind, 1.5);
}

uint64_t scalar_of(const Kind& kind, int rank, uint64_t seed) {
  return any_number(kind, mix(mix(seed) + uint64_t(rank)));
}
uint64_t input_of(const Kind& kind, int rank, int ranks, size_t i, uint64_t seed) {
  return int(i % size_t(ranks)) == rank ? any_number(kind, mix(seed ^ mix(i))) : 0;
}

uint64_t contribution(const Kind& kind, uint64_t input, uint64_t scalar) {
  if (!kind.is_float) return cut(kind, input * scalar);
  const double a = value_of(kind, input), b = value_of(kind, scalar);
  return bits_of(kind, kind.bytes == 8 ? a * b : double(float(a) * float(b)));
}

uint64_t expected(const Kind& kind, int ranks, size_t i, uint64_t seed) {
  uint64_t integers = 0;
  double floats = -0.0;
  for (int rank = 0; rank < ranks; ++rank) {
    const uint64_t part =
        contribution(kind, input_of(kind, rank, ranks, i, seed), scalar_of(kind, rank, seed));
    integers += part;
    if (kind.is_float) floats += value_of(kind, part);
  }
  return kind.is_float ? bits_of(kind, floats) : cut(kind, integers);
}

template <class Element>
std::vector<char> bytes_of(const Kind& kind, size_t count, Element element) {
  std::vector<char> bytes(count * kind.bytes);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = element(i);
    std::memcpy(&bytes[i * kind.bytes], &bits, kind.bytes);
  }
  return bytes;
}

// One rank: buffers, its scalar, its op.
struct Rank {
  Rank(const Kind& kind, ncclComm_t on, int rank, int ranks, uint64_t seed,
       ncclScalarResidence_t residence)
      : comm(on), input(kCount * kind.bytes, 0), output(kCount * kind.bytes, 0), scalar(8, 0) {
    input.write(
        bytes_of(kind, kCount, [&](size_t i) { return input_of(kind, rank, ranks, i, seed); }));
    value = scalar_of(kind, rank, seed);
    void* where = residence == ncclScalarDevice ? scalar.data() : &value;
    require_ok(ncclRedOpCreatePreMulSum(&op, where, kind.type, residence, comm),
               "ncclRedOpCreatePreMulSum");
  }

  ncclComm_t comm;
  GuardedBuffer input, output, scalar;
  uint64_t value;
  ncclRedOp_t op;
};

class UserOpsCompute : public testing::Test {
 protected:
  // All ranks by this thread. A scalar on the device is written on the stream, after the op was
  // made; one on the host is gone before the operation starts; ops are destroyed before they run.
  void run(const LocalRanks& ranks, const Kind& kind, ncclScalarResidence_t residence,
           uint64_t seed) {
    std::vector<std::unique_ptr<Rank>> all;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const LocalRanks::OnDevice scope(rank);
      all.push_back(
          std::make_unique<Rank>(kind, ranks.comm(rank), rank, ranks.size(), seed, residence));
      if (residence == ncclScalarDevice)
        require_hip(hipMemcpyAsync(all.back()->scalar.data(), &all.back()->value, kind.bytes,
                                   hipMemcpyHostToDevice, ranks.stream(rank)),
                    "hipMemcpyAsync");
    }
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < ranks.size(); ++rank) {
      Rank& each = *all[size_t(rank)];
      if (residence == ncclScalarHostImmediate) each.value = 0;
      require_ok(ncclAllReduce(each.input.data(), each.output.data(), kCount, kind.type, each.op,
                               each.comm, ranks.stream(rank)),
                 "ncclAllReduce");
      require_ok(ncclRedOpDestroy(each.op, each.comm), "ncclRedOpDestroy");
    }
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
    ranks.synchronize();
    const std::vector<char> want =
        bytes_of(kind, kCount, [&](size_t i) { return expected(kind, ranks.size(), i, seed); });
    for (const auto& each : all)
      EXPECT_EQ(each->output.compare(want, kind.bytes), "")
          << kind.name << ", " << ranks.size() << " ranks, seed " << seed;
  }

  void run_every_type(int size, ncclScalarResidence_t residence) {
    const LocalRanks ranks(size);
    for (int type = 0; type < ncclNumTypes; ++type)
      for (uint64_t seed = 1; seed <= 3; ++seed)
        run(ranks, kind_of(ncclDataType_t(type), device_is_fnuz()), residence,
            seed + uint64_t(100 * type));
  }
};

TEST_F(UserOpsCompute, HostScalars) {
  for (const int size : {2, 3, 7}) run_every_type(size, ncclScalarHostImmediate);
}

TEST_F(UserOpsCompute, DeviceScalarsAreReadWhenTheOperationRuns) {
  for (const int size : {2, 5}) run_every_type(size, ncclScalarDevice);
}

// A communicator of one rank multiplies too.
TEST_F(UserOpsCompute, OneRank) {
  run_every_type(1, ncclScalarHostImmediate);
  run_every_type(1, ncclScalarDevice);
}

// A bias joins as one more contribution would: the model's inputs give the same bits in any order.
// It lies in the output, in the input, or apart.
TEST(AllReduceWithBias, JoinsOnce) {
  enum Where { kApart, kInOutput, kAllInPlace };
  for (const int size : {1, 2, 5}) {
    const LocalRanks ranks(size);
    for (int type = 0; type < ncclNumTypes; ++type)
      for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin})
        for (const Where where : {kApart, kInOutput, kAllInPlace}) {
          if (where == kAllInPlace && size != 1) continue;  // input and bias are then the same
          const Kind& kind = kind_of(ncclDataType_t(type), device_is_fnuz());
          const uint64_t seed = uint64_t(1000 * size + type);
          const auto content = [&](int rank) {
            return repeated(input_pattern(kind, op, rank, seed), kCount * kind.bytes);
          };
          std::vector<std::unique_ptr<GuardedBuffer>> in, out, bias;
          for (int rank = 0; rank < size; ++rank) {
            const LocalRanks::OnDevice scope(rank);
            for (auto* buffers : {&in, &out, &bias})
              buffers->push_back(std::make_unique<GuardedBuffer>(kCount * kind.bytes, 0));
            in.back()->write(content(rank));
            (where == kApart ? bias : out).back()->write(content(where == kAllInPlace ? 0 : size));
          }
          require_ok(ncclGroupStart(), "ncclGroupStart");
          for (size_t rank = 0; rank < size_t(size); ++rank) {
            const void* from = where == kAllInPlace ? out[rank]->data() : in[rank]->data();
            const void* acc = where == kApart ? bias[rank]->data() : out[rank]->data();
            require_ok(ncclAllReduceWithBias(from, out[rank]->data(), kCount, kind.type, op,
                                             ranks.comm(int(rank)), ranks.stream(int(rank)), acc),
                       "ncclAllReduceWithBias");
          }
          require_ok(ncclGroupEnd(), "ncclGroupEnd");
          ranks.synchronize();
          std::vector<uint64_t> parts(size_t(size) + 1);
          const std::vector<char> want = bytes_of(kind, kPeriod, [&](size_t i) {
            for (int rank = 0; rank <= size; ++rank)
              parts[size_t(rank)] = input_bits(kind, op, where == kAllInPlace ? 0 : rank, i, seed);
            return reduce(kind, op, parts);
          });
          for (const auto& each : out)
            EXPECT_EQ(each->compare(want, kind.bytes), "")
                << kind.name << ", op " << op << ", " << size << " ranks, bias " << where;
        }
  }
}

// In one fold the average of equal numbers is that number: every number of every narrow type. A
// bfloat16 is scaled down first, which loses bits of the smallest ones: those are left out.
TEST(AverageInOneFold, OfEqualNumbersIsTheNumber) {
  const ScopedEnv direct("NCCL_ALGO", "Direct");
  for (const int size : {2, 3, 5, 9}) {
    const LocalRanks ranks(size);
    for (const ncclDataType_t type : {ncclFloat16, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2}) {
      const Kind& kind = kind_of(type, device_is_fnuz());
      const size_t codes = size_t(1) << (8 * kind.bytes);
      const std::vector<char> numbers = bytes_of(kind, codes, [&](size_t code) {
        const double value = value_of(kind, code);
        const bool exact = type != ncclBfloat16 || std::fabs(value) > std::ldexp(1.0, -120);
        return std::isfinite(value) && exact ? code : 0;
      });
      std::vector<std::unique_ptr<GuardedBuffer>> buffers;
      require_ok(ncclGroupStart(), "ncclGroupStart");
      for (int rank = 0; rank < size; ++rank) {
        const LocalRanks::OnDevice scope(rank);
        buffers.push_back(std::make_unique<GuardedBuffer>(numbers.size(), 0));
        buffers.back()->write(numbers);
        void* data = buffers.back()->data();
        require_ok(
            ncclAllReduce(data, data, codes, type, ncclAvg, ranks.comm(rank), ranks.stream(rank)),
            "ncclAllReduce");
      }
      require_ok(ncclGroupEnd(), "ncclGroupEnd");
      ranks.synchronize();
      for (const auto& each : buffers)
        EXPECT_EQ(each->compare(numbers, kind.bytes), "") << kind.name << ", " << size << " ranks";
    }
  }
}

}  // namespace
}  // namespace weft::test
