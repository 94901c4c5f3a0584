// One communicator on several streams, which nobody orders but the library.
#include "../../unit/scoped_log.h"
#include "rank_graph.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

// A stream is destroyed while its kernel waits for another rank; the next one has its address.
TEST(EveryStream, ANewStreamAtTheAddressOfAnOldOne) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");
  constexpr int kRanks = 2, kOperations = 8;
  const LocalRanks ranks(kRanks);
  std::vector<std::unique_ptr<RankOperation>> operations;
  int used_again = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    hipStream_t before = nullptr;
    for (uint64_t i = 0; i < kOperations; ++i) {
      operations.push_back(
          std::make_unique<RankOperation>(all_reduce(1'000 + i * 9'000, i), rank, kRanks));
      const Streams one(1);
      used_again += one[0] == before;
      before = one[0];
      operations.back()->issue(ranks.comm(rank), one[0]);
    }
  }
  EXPECT_GT(used_again, 0) << "the runtime gave every stream a new address";
  for (int rank = 0; rank < kRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    require_hip(hipDeviceSynchronize(), "hipDeviceSynchronize");
  }
  for (const auto& each : operations) EXPECT_EQ(each->check(), "");
}

}  // namespace
}  // namespace weft::test
