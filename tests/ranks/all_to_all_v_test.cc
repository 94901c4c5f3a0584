// ncclAlltoAllv moves what its arrays say: counts of 0, parts for oneself, gaps between parts,
// which stay as they were.
#include <iostream>
#include <random>

#include "../support/local_ranks.h"

namespace weft::test {
namespace {

using Sizes = std::vector<size_t>;

struct Plan {
  std::vector<Sizes> counts;  // [from][to]
  std::vector<Sizes> send_at, receive_at;
  size_t room = 0;  // elements of every buffer
};

Plan random_plan(int ranks, std::mt19937_64& random, size_t most) {
  const auto n = size_t(ranks);
  Plan plan{std::vector<Sizes>(n, Sizes(n)), std::vector<Sizes>(n, Sizes(n)),
            std::vector<Sizes>(n, Sizes(n)), 0};
  for (Sizes& row : plan.counts)
    for (size_t& count : row) count = random() % 3 == 0 ? 0 : random() % most;
  for (size_t rank = 0; rank < n; ++rank) {
    size_t send_at = 0, receive_at = 0;
    for (size_t other = 0; other < n; ++other) {
      plan.send_at[rank][other] = send_at += random() % 5;
      plan.receive_at[rank][other] = receive_at += random() % 5;
      send_at += plan.counts[rank][other];
      receive_at += plan.counts[other][rank];
    }
    plan.room = std::max({plan.room, send_at, receive_at});
  }
  return plan;
}

int32_t value(size_t from, size_t to, size_t i) {
  return int32_t(from * 1'000'003 + to * 10'007 + i * 17);
}

void run(const LocalRanks& ranks, const Plan& plan, bool old_spelling) {
  const auto n = size_t(ranks.size());
  std::vector<std::unique_ptr<GuardedBuffer>> in, out;
  for (size_t rank = 0; rank < n; ++rank) {
    const LocalRanks::OnDevice scope{int(rank)};
    std::vector<char> content(plan.room * 4, GuardedBuffer::kFill);
    out.push_back(std::make_unique<GuardedBuffer>(content.size(), 0));
    out.back()->write(content);
    for (size_t to = 0; to < n; ++to)
      for (size_t i = 0; i < plan.counts[rank][to]; ++i) {
        const int32_t element = value(rank, to, i);
        std::memcpy(&content[4 * (plan.send_at[rank][to] + i)], &element, 4);
      }
    in.push_back(std::make_unique<GuardedBuffer>(content.size(), 0));
    in.back()->write(content);
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (size_t rank = 0; rank < n; ++rank) {
    Sizes sends = plan.counts[rank], receives;
    for (size_t from = 0; from < n; ++from) receives.push_back(plan.counts[from][rank]);
    const auto call = old_spelling ? ncclAllToAllv : ncclAlltoAllv;
    require_ok(call(in[rank]->data(), sends.data(), plan.send_at[rank].data(), out[rank]->data(),
                    receives.data(), plan.receive_at[rank].data(), ncclInt32, ranks.comm(int(rank)),
                    ranks.stream(int(rank))),
               "ncclAlltoAllv");
  }  // the arrays of counts are gone before the group ends
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  for (size_t rank = 0; rank < n; ++rank) {
    std::vector<char> want(plan.room * 4, GuardedBuffer::kFill);
    for (size_t from = 0; from < n; ++from)
      for (size_t i = 0; i < plan.counts[from][rank]; ++i) {
        const int32_t element = value(from, rank, i);
        std::memcpy(&want[4 * (plan.receive_at[rank][from] + i)], &element, 4);
      }
    if (!want.empty()) {
      EXPECT_EQ(out[rank]->compare(want, 4), "") << "rank " << rank << " of " << n;
    }
  }
}

TEST(AllToAllV, MovesWhatTheArraysSay) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (const int size : {1, 2, 3, 8}) {
    const LocalRanks ranks(size);
    for (const size_t most : {1, 2, 9, 1000, 70'000})
      for (const bool old_spelling : {false, true})
        run(ranks, random_plan(size, random, most), old_spelling);
  }
}

}  // namespace
}  // namespace weft::test
