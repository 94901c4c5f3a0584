// ncclCommSplit among ranks of one process: who is where, what is told to whom when it fails.
#include <mutex>

#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"

namespace weft::test {
namespace {

struct Place {
  int rank, size;
  bool operator==(const Place&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << place.rank << " of " << place.size;
}

constexpr Place kNowhere{-1, 0};

Place place_of(ncclComm_t comm) {
  if (comm == nullptr) return kNowhere;
  Place place{};
  require_ok(ncclCommUserRank(comm, &place.rank), "ncclCommUserRank");
  require_ok(ncclCommCount(comm, &place.size), "ncclCommCount");
  return place;
}

struct Vote {
  int color, key;
};

// The new communicators of a split, destroyed with it.
class Parts {
 public:
  explicit Parts(int size) : comms_(size_t(size), reinterpret_cast<ncclComm_t>(&marker_)) {}
  ~Parts() {
    for (ncclComm_t comm : comms_) {
      if (comm != untouched()) {
        EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
      }
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  ncclComm_t* slot(int rank) { return &comms_[size_t(rank)]; }
  ncclComm_t comm(int rank) const { return comms_[size_t(rank)]; }
  ncclComm_t untouched() const { return reinterpret_cast<ncclComm_t>(&marker_); }

  void expect_places(const std::vector<Place>& places) const {
    for (size_t rank = 0; rank < places.size(); ++rank)
      EXPECT_EQ(place_of(comms_[rank]), places[rank]) << "old rank " << rank;
  }
  void expect_untouched() const {
    for (const ncclComm_t comm : comms_) EXPECT_EQ(comm, untouched());
  }

 private:
  mutable int marker_ = 0;
  std::vector<ncclComm_t> comms_;
};

// By one thread a rank.
void split(const LocalRanks& ranks, const std::vector<Vote>& votes, Parts& parts,
           ncclResult_t want = ncclSuccess, const std::vector<std::string>& text = {}) {
  on_threads(ranks.size(), [&](int rank) {
    const Vote vote = votes[size_t(rank)];
    const ncclResult_t code =
        ncclCommSplit(ranks.comm(rank), vote.color, vote.key, parts.slot(rank), nullptr);
    EXPECT_EQ(code, want) << "rank " << rank << ": " << ncclGetLastError(nullptr);
    if (code != ncclSuccess) expect_text(ncclGetLastError(nullptr), text);
  });
}

// Every rank brings in a bit of its own: all ranks of its part take part, and no others.
void expect_members(const Parts& parts, const std::vector<Vote>& votes) {
  on_threads(int(votes.size()), [&](int rank) {
    const ncclComm_t comm = parts.comm(rank);
    if (comm == nullptr) return;
    const GuardedBuffer memory(4, 0);
    const int own = 1 << rank;
    int sum = 0, want = 0;
    for (size_t other = 0; other < votes.size(); ++other)
      if (votes[other].color == votes[size_t(rank)].color) want |= 1 << other;
    require_hip(hipMemcpy(memory.data(), &own, 4, hipMemcpyHostToDevice), "hipMemcpy");
    require_ok(ncclAllReduce(memory.data(), memory.data(), 1, ncclInt32, ncclSum, comm, nullptr),
               "ncclAllReduce");
    require_hip(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
    require_hip(hipMemcpy(&sum, memory.data(), 4, hipMemcpyDeviceToHost), "hipMemcpy");
    EXPECT_EQ(sum, want) << "old rank " << rank;
  });
}

TEST(Split, ColoursAndKeys) {
  const LocalRanks ranks(6);
  Parts parts(6);
  split(ranks, {{0, 9}, {5, 0}, {0, -1}, {NCCL_SPLIT_NOCOLOR, 0}, {5, 0}, {0, 9}}, parts);
  parts.expect_places({{1, 3}, {0, 2}, {0, 3}, kNowhere, {1, 2}, {2, 3}});
  for (int rank : {0, 1, 2, 4, 5}) {
    int device = -1;
    EXPECT_EQ(ncclCommCuDevice(parts.comm(rank), &device), ncclSuccess);
    EXPECT_EQ(device, rank);
  }
}

TEST(Split, MembersOfTheParts) {
  const LocalRanks ranks(5);
  Parts parts(5);
  const std::vector<Vote> votes = {{0, 4}, {1, 3}, {0, 2}, {1, 1}, {2, 0}};
  split(ranks, votes, parts);
  expect_members(parts, votes);
}

TEST(Split, OfOneColourOfNoneOfEachItsOwn) {
  const LocalRanks ranks(3);
  Parts same(3), none(3), own(3);
  split(ranks, {{7, 2}, {7, 1}, {7, 0}}, same);
  same.expect_places({{2, 3}, {1, 3}, {0, 3}});
  split(ranks, {{-1, 0}, {-1, 0}, {-1, 0}}, none);
  none.expect_places({kNowhere, kNowhere, kNowhere});
  split(ranks, {{0, 0}, {1, 0}, {2, 0}}, own);
  own.expect_places({{0, 1}, {0, 1}, {0, 1}});
}

TEST(Split, OfAPart) {
  const LocalRanks ranks(4);
  Parts halves(4), pair(4);
  split(ranks, {{0, 0}, {0, 1}, {1, 0}, {0, 2}}, halves);
  on_threads(4, [&](int rank) {
    if (rank == 2) return;
    require_ok(ncclCommSplit(halves.comm(rank), rank == 1 ? NCCL_SPLIT_NOCOLOR : 0, -rank,
                             pair.slot(rank), nullptr),
               "ncclCommSplit");
  });
  EXPECT_EQ(place_of(pair.comm(0)), (Place{1, 2}));
  EXPECT_EQ(pair.comm(1), nullptr);
  EXPECT_EQ(place_of(pair.comm(3)), (Place{0, 2}));
}

// One thread for all ranks, two splits of each: in a group they do not wait for each other.
TEST(Split, SeveralInAGroup) {
  constexpr int kRanks = 4;
  const LocalRanks ranks(kRanks);
  Parts rows(kRanks), columns(kRanks);
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kRanks; ++rank) {
    require_ok(ncclCommSplit(ranks.comm(rank), rank / 2, rank, rows.slot(rank), nullptr), "rows");
    require_ok(ncclCommSplit(ranks.comm(rank), rank % 2, rank, columns.slot(rank), nullptr),
               "columns");
  }
  rows.expect_untouched();
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  rows.expect_places({{0, 2}, {1, 2}, {0, 2}, {1, 2}});
  columns.expect_places({{0, 2}, {0, 2}, {1, 2}, {1, 2}});
}

// The parent works before, between and after; it may go before its parts.
TEST(Split, ParentAndPartsAreApart) {
  Parts parts(2);
  const std::vector<Vote> votes = {{0, 0}, {0, 0}};
  {
    const LocalRanks ranks(2);
    split(ranks, votes, parts);
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_EQ(poll_async(ranks.comm(rank), ncclInProgress), ncclSuccess);
  }
  parts.expect_places({{0, 2}, {1, 2}});
  expect_members(parts, votes);
}

// D13 in small; larger counts are for machines with more devices.
TEST(Split, AllDevicesIntoManyParts) {
  constexpr int kRanks = 16;
  const LocalRanks ranks(kRanks);
  for (const int colors : {2, 16}) {
    Parts parts(kRanks);
    std::vector<Vote> votes;
    std::vector<Place> places;
    for (int rank = 0; rank < kRanks; ++rank) {
      votes.push_back({rank % colors, -rank});
      places.push_back({kRanks / colors - 1 - rank / colors, kRanks / colors});
    }
    split(ranks, votes, parts);
    parts.expect_places(places);
  }
}

// NCCL_COMM_ID names the meeting point of the parent; parts meet elsewhere, else those of different
// sizes would meet each other there, in most of the rounds.
TEST(Split, WithAFixedAddressOfTheParent) {
  const ScopedEnv address("NCCL_COMM_ID", "127.0.0.1:47113");
  const LocalRanks ranks(4, LocalRanks::kThreads);
  const std::vector<Vote> votes = {{0, 0}, {1, 0}, {0, 0}, {2, 0}};
  for (int round = 0; round < 6; ++round) {
    Parts parts(4);
    split(ranks, votes, parts);
    if (HasFailure()) return;
    parts.expect_places({{0, 2}, {0, 1}, {1, 2}, {0, 1}});
    expect_members(parts, votes);
  }
}

TEST(Split, ConfigOfItsOwn) {
  const LocalRanks ranks(2);
  Parts parts(2);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = config.maxCTAs = 2;
  on_threads(2, [&](int rank) {
    EXPECT_EQ(ncclCommSplit(ranks.comm(rank), 0, 0, parts.slot(rank), &config), ncclSuccess)
        << ncclGetLastError(nullptr);
  });
  parts.expect_places({{0, 2}, {1, 2}});
}

// ---- What goes wrong ----

TEST(Split, WrongArgumentsOfOneRankAreToldToAll) {
  const LocalRanks ranks(3);
  Parts parts(3);
  split(ranks, {{0, 0}, {-7, 0}, {0, 0}}, parts, ncclInvalidArgument,
        {"rank 1", "ncclCommSplit", "color is -7"});
  parts.expect_untouched();
  on_threads(3, [&](int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (rank == 2) config.minCTAs = -1;
    expect_error(ncclCommSplit(ranks.comm(rank), 0, 0, parts.slot(rank), &config),
                 ncclInvalidArgument, {"rank 2", "minCTAs is -1"});
    expect_error(
        ncclCommSplit(ranks.comm(rank), 0, 0, rank == 0 ? nullptr : parts.slot(rank), nullptr),
        ncclInvalidArgument, {"rank 0", "newcomm is NULL"});
  });
  parts.expect_untouched();
  split(ranks, {{0, 0}, {0, 0}, {0, 0}}, parts);  // the parent is as it was
  parts.expect_places({{0, 3}, {1, 3}, {2, 3}});
}

TEST(Split, OfNoCommunicator) {
  int marker = 0;
  const auto untouched = reinterpret_cast<ncclComm_t>(&marker);
  ncclComm_t child = untouched;
  expect_error(ncclCommSplit(nullptr, 0, 0, &child, nullptr), ncclInvalidArgument,
               {"ncclCommSplit", "NULL"});
  EXPECT_EQ(child, untouched);
}

// L16: not all ranks call.
TEST(Split, ARankThatDoesNotComeIsNamed) {
  const ScopedEnv timeout("WEFT_INIT_TIMEOUT", "5");
  const LocalRanks ranks(4);
  Parts parts(4);
  expect_error(ncclCommSplit(ranks.comm(0), 0, 0, parts.slot(0), nullptr), ncclSystemError,
               {"ncclCommSplit", "nothing yet from rank 1, rank 2, rank 3"});
  parts.expect_untouched();
  for (int rank = 1; rank < 4; ++rank) EXPECT_NE(poll_async(ranks.comm(rank)), ncclSuccess);
}

TEST(Split, AbortEndsIt) {
  LocalRanks ranks(2);
  Parts parts(2);
  std::thread caller([&] {
    require_hip(hipSetDevice(0), "hipSetDevice");
    EXPECT_NE(ncclCommSplit(ranks.comm(0), 0, 0, parts.slot(0), nullptr), ncclSuccess);
  });
  const ncclComm_t comm = ranks.comm(0);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  caller.join();
  ranks.take(0);
  EXPECT_EQ(ncclCommAbort(ranks.take(1)), ncclSuccess);
  parts.expect_untouched();
}

// ---- Non-blocking ----

class NonBlockingSplit : public testing::Test {
 protected:
  NonBlockingSplit() : comms_(kRanks) {
    ncclUniqueId id;
    require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
    on_threads(kRanks, [&](int rank) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      EXPECT_EQ(ncclCommInitRankConfig(&comms_[size_t(rank)], kRanks, id, rank, &config),
                ncclInProgress);
      EXPECT_EQ(poll_async(comms_[size_t(rank)], ncclInProgress), ncclSuccess);
    });
  }
  ~NonBlockingSplit() override {
    for (ncclComm_t comm : comms_) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }

  static constexpr int kRanks = 4;
  std::vector<ncclComm_t> comms_;
};

// One thread for all: no call waits.
TEST_F(NonBlockingSplit, ByOneThread) {
  Parts parts(kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(ncclCommSplit(comms_[size_t(rank)], rank == 3 ? NCCL_SPLIT_NOCOLOR : 0, -rank,
                            parts.slot(rank), nullptr),
              ncclInProgress);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(poll_async(comms_[size_t(rank)], ncclInProgress), ncclSuccess);
    ASSERT_NE(parts.comm(rank), parts.untouched());
    if (parts.comm(rank)) {
      EXPECT_EQ(poll_async(parts.comm(rank), ncclInProgress), ncclSuccess);
    }
  }
  parts.expect_places({{2, 3}, {1, 3}, {0, 3}, kNowhere});
}

TEST_F(NonBlockingSplit, SeveralInAGroup) {
  Parts first(kRanks), second(kRanks);
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kRanks; ++rank) {
    require_ok(ncclCommSplit(comms_[size_t(rank)], 0, 0, first.slot(rank), nullptr), "first");
    require_ok(ncclCommSplit(comms_[size_t(rank)], rank, 0, second.slot(rank), nullptr), "second");
  }
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(poll_async(comms_[size_t(rank)], ncclInProgress), ncclSuccess);
    for (const Parts* parts : {&first, &second})
      EXPECT_EQ(poll_async(parts->comm(rank), ncclInProgress), ncclSuccess);
  }
  first.expect_places({{0, 4}, {1, 4}, {2, 4}, {3, 4}});
  second.expect_places({{0, 1}, {0, 1}, {0, 1}, {0, 1}});
}

TEST_F(NonBlockingSplit, FailureIsTheParentsAsynchronousError) {
  Parts parts(kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(ncclCommSplit(comms_[size_t(rank)], rank == 2 ? -9 : 0, 0, parts.slot(rank), nullptr),
              ncclInProgress);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(poll_async(comms_[size_t(rank)], ncclInProgress), ncclInvalidArgument);
    expect_text(ncclGetLastError(comms_[size_t(rank)]), {"rank 2", "color is -9"});
  }
  parts.expect_untouched();
}

TEST_F(NonBlockingSplit, AbortDoesNotWaitForOthers) {
  Parts parts(kRanks);
  EXPECT_EQ(ncclCommSplit(comms_[0], 0, 0, parts.slot(0), nullptr), ncclInProgress);
  EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommAbort(comms_[0]), ncclSuccess); }), 10'000);
  comms_[0] = nullptr;
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(ncclCommAbort(comms_[size_t(rank)]), ncclSuccess);
    comms_[size_t(rank)] = nullptr;
  }
  parts.expect_untouched();
}

}  // namespace
}  // namespace weft::test
