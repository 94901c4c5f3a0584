// Every collective with every algorithm and protocol that has it, type, op, place, alignment and
// number of ranks: a sample in CI, everything in scripts/soak. WEFT_TEST_SEED repeats.
#include <iostream>
#include <random>

#include "../../support/local_ranks.h"
#include "../../unit/scoped_log.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

constexpr int kMostRanks = 9;

// Names for NCCL_ALGO by call.
std::vector<const char*> algorithms_of(Call call) {
  switch (call) {
    case Call::kAllReduce:
    case Call::kAllReduceWithBias:
      return {"Ring", "Tree", "Direct"};
    case Call::kReduceScatter:
    case Call::kAllGather:
      return {"Ring", "PAT", "Direct"};
    case Call::kReduce:
    case Call::kBroadcast:
      return {"Ring", "Direct"};
    default:
      return {"Direct"};
  }
}

// Of few collectives only: the others choose freely and are left out.
std::string rule_of(const std::string& algorithm) {
  if (algorithm == "Tree") return "allreduce:Tree";
  if (algorithm == "PAT") return "allgather:PAT;reducescatter:PAT";
  return algorithm;
}

// One size class each: nothing to some packs, more than a slice, more than a buffer's turn.
constexpr size_t kMostCounts[] = {40, 5'000, 40'000};

// The ops of a call: the library's, then a scalar on the host and on the device.
int ops_of(Call call) {
  if (!reduces(call)) return 1;
  return call == Call::kAllReduceWithBias ? int(ncclAvg) : ncclNumOps + 2;
}

struct Cell {
  int type, op, place;  // place: in place, aligned
  size_t size_class;
};

std::vector<Cell> cells_of(Call call) {
  std::vector<Cell> cells;
  for (int type = 0; type < ncclNumTypes; ++type)
    for (int op = 0; op < ops_of(call); ++op)
      for (int place = 0; place < 4; ++place)
        for (size_t size = 0; size < std::size(kMostCounts); ++size)
          cells.push_back({type, op, place, size});
  return cells;
}

Operation operation_of(Call call, const Cell& cell, int ranks, uint64_t seed) {
  Operation o;
  o.call = call;
  o.type = ncclDataType_t(cell.type);
  o.seed = seed;
  o.op = ncclRedOp_t(cell.op);
  if (cell.op >= ncclNumOps) {
    o.op = ncclSum;
    o.scalar = cell.op == ncclNumOps ? Scalar::kHost : Scalar::kDevice;
  }
  const size_t parts = is_segmented(call) ? size_t(ranks) : 1;
  o.count = seed % (kMostCounts[cell.size_class] / parts + 1);
  o.root = int(seed / 7 % uint64_t(ranks));
  o.in_place = (cell.place & 1) && !has_messages(call);
  const size_t per_pack = 16 / kind_of(o.type, false).bytes;
  if (cell.place & 2) {
    o.send_offset = seed / 3 % per_pack;
    o.receive_offset = o.in_place ? o.send_offset : seed / 5 % per_pack;
  }
  if (has_messages(call))
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        o.messages.push_back({from, to, mix(seed + uint64_t(from * ranks + to)) % (o.count + 1)});
  return o;
}

// Several operations at once, so that their ranks meet less often.
void run_each(const LocalRanks& ranks, const std::vector<Operation>& operations,
              const std::string& setting) {
  std::vector<std::unique_ptr<RankOperation>> parts;
  for (const Operation& operation : operations)
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const LocalRanks::OnDevice scope(rank);
      parts.push_back(std::make_unique<RankOperation>(operation, rank, ranks.size()));
    }
  for (size_t i = 0; i < operations.size(); ++i) {
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < ranks.size(); ++rank)
      parts[i * size_t(ranks.size()) + size_t(rank)]->issue(ranks.comm(rank), ranks.stream(rank));
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
  }
  ranks.synchronize();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    ncclResult_t state = ncclSuccess;
    require_ok(ncclCommGetAsyncError(ranks.comm(rank), &state), "ncclCommGetAsyncError");
    ASSERT_EQ(state, ncclSuccess) << setting << ": " << ncclGetLastError(ranks.comm(rank));
  }
  for (const auto& part : parts) ASSERT_EQ(part->check(), "") << setting;
}

class Matrix {
 public:
  // Every setting, and every cell in it, with these probabilities.
  Matrix(double settings, double cells, uint64_t seed)
      : settings_(settings), cells_(cells), random_(seed), seed_(seed) {}

  void run_all() {
    for (int ranks = 1; ranks <= kMostRanks; ++ranks)
      for (const Wire& wire : kWires)
        for (const char* algorithm : {"Ring", "Tree", "PAT", "Direct"}) {
          if (chosen(settings_)) run_setting(ranks, wire, algorithm);
          if (testing::Test::HasFatalFailure()) return;
        }
    std::cout << done_ << " operations\n";
  }

 private:
  static constexpr size_t kAtOnce = 6;
  struct Wire {
    const char *protocol, *zero_copy_bytes;
  };
  static constexpr Wire kWires[] = {{"LL", "0"}, {"LL128", "0"}, {"Simple", "0"}, {"Simple", "1"}};

  void run_setting(int size, const Wire& wire, const char* algorithm) {
    const std::string list = algorithm;
    const ScopedEnv proto("NCCL_PROTO", wire.protocol), algo("NCCL_ALGO", rule_of(list)),
        zero_copy("WEFT_ZERO_COPY", wire.zero_copy_bytes);
    const LocalRanks ranks(size);
    const std::string setting = std::to_string(size) + " ranks, NCCL_PROTO=" + wire.protocol +
                                " WEFT_ZERO_COPY=" + wire.zero_copy_bytes +
                                " NCCL_ALGO=" + getenv("NCCL_ALGO") +
                                " WEFT_TEST_SEED=" + std::to_string(seed_);
    std::vector<Operation> operations;
    for (int call = 0; call < kCallCount; ++call) {
      const auto known = algorithms_of(Call(call));
      if (std::ranges::find(known, list) == known.end()) continue;
      for (const Cell& cell : cells_of(Call(call))) {
        if (!chosen(cells_)) continue;
        operations.push_back(operation_of(Call(call), cell, size, random_()));
        if (operations.size() == kAtOnce) flush(ranks, operations, setting);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    flush(ranks, operations, setting);
  }
  bool chosen(double share) { return double(random_() >> 11) < share * double(uint64_t(1) << 53); }
  void flush(const LocalRanks& ranks, std::vector<Operation>& operations,
             const std::string& setting) {
    done_ += operations.size();
    run_each(ranks, operations, setting);
    operations.clear();
  }

  const double settings_, cells_;
  std::mt19937_64 random_;
  const uint64_t seed_;
  size_t done_ = 0;
};

void run_matrix(double settings, double cells) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  const char* text = getenv("WEFT_TEST_SEED");
  const uint64_t seed = text ? std::stoull(text) : std::random_device{}();
  std::cout << "WEFT_TEST_SEED=" << seed << std::endl;
  Matrix(settings, cells, seed).run_all();
}

TEST(CollectiveMatrix, ASample) { run_matrix(0.2, 0.01); }
TEST(CollectiveMatrix, CiALargerSample) { run_matrix(1, 0.04); }
TEST(CollectiveMatrix, SoakEverything) {
  alarm(0);  // as long as it takes
  run_matrix(1, 1);
}

}  // namespace
}  // namespace weft::test
