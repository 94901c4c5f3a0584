// Operations whose ranks read and write each other's buffers: that they do, where they can; that
// all ranks go the ordinary way together where one cannot; and that memory which was freed is not
// taken for what lies at its address now.
#include <iostream>

#include "../../support/child_processes.h"
#include "../../support/local_ranks.h"
#include "../../support/unique_id_text.h"
#include "../../unit/scoped_log.h"
#include "communicator.h"
#include "rank_operation.h"
#include "zero_copy_process.h"

namespace weft::test {
namespace {

constexpr int kZeroCopyRanks = 3;

// Channels of operations so far on which this rank and its peers used each other's buffers.
uint32_t zero_copies(ncclComm_t comm) {
  const auto inside = communicator_of(comm, "zero_copies");
  const auto reading = inside->device_state->read_words(std::chrono::seconds(10));
  if (reading.words == nullptr) throw std::runtime_error("the device does not answer");
  return reading.words->zero_copies;
}

// From the first byte on, over Simple.
class Always {
 private:
  ScopedEnv zero_copy_{"WEFT_ZERO_COPY", "1"}, algorithm_{"NCCL_ALGO", "Direct"},
      protocol_{"NCCL_PROTO", "Simple"}, limit_{"WEFT_TIMEOUT", "60"};
};

Operation operation(Call call, size_t count = 4'096) {
  Operation o;
  o.call = call;
  o.count = count;
  o.root = 1;
  if (call == Call::kMessages)
    o.messages = {{0, 1, count}, {1, 0, count}, {2, 2, count}, {1, 2, count}, {1, 2, count / 3}};
  if (call == Call::kAlltoAllv)
    for (int from = 0; from < kZeroCopyRanks; ++from)
      for (int to = 0; to < kZeroCopyRanks; ++to) o.messages.push_back({from, to, count});
  return o;
}

// `skewed`: the rank whose buffers start 4 bytes behind a multiple of 16, -1: none.
std::vector<uint32_t> run_and_count(const LocalRanks& ranks, const Operation& what,
                                    int skewed = -1) {
  std::vector<std::unique_ptr<RankOperation>> parts;
  std::vector<uint32_t> counts;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const LocalRanks::OnDevice scope(rank);
    Operation own = what;
    if (rank == skewed) own.send_offset = own.receive_offset = 1;
    parts.push_back(std::make_unique<RankOperation>(own, rank, ranks.size()));
    counts.push_back(zero_copies(ranks.comm(rank)));
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks.size(); ++rank)
    parts[size_t(rank)]->issue(ranks.comm(rank), ranks.stream(rank));
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  for (int rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(parts[size_t(rank)]->check(), "");
    counts[size_t(rank)] = zero_copies(ranks.comm(rank)) - counts[size_t(rank)];
  }
  return counts;
}

TEST(ZeroCopy, OfEveryCall) {
  const Always settings;
  const LocalRanks ranks(kZeroCopyRanks);
  for (int call = 0; call < kCallCount; ++call) {
    const Operation what = operation(Call(call));
    SCOPED_TRACE(what.text());
    const std::vector<uint32_t> counts = run_and_count(ranks, what);
    if (has_messages(Call(call))) {
      EXPECT_GT(counts[1], 0u);  // it receives
    } else {
      EXPECT_GT(counts[0], 0u);
      EXPECT_EQ(counts, std::vector<uint32_t>(kZeroCopyRanks, counts[0]));
    }
  }
}

// Whose inputs are scaled before they are added.
TEST(ZeroCopy, OfAverages) {
  const Always settings;
  const LocalRanks ranks(kZeroCopyRanks);
  for (const ncclDataType_t type : {ncclFloat32, ncclBfloat16, ncclFloat64, ncclInt32})
    for (const Call call : {Call::kAllReduce, Call::kReduceScatter, Call::kReduce}) {
      Operation what = operation(call);
      what.type = type;
      what.op = ncclAvg;
      SCOPED_TRACE(what.text());
      EXPECT_GT(run_and_count(ranks, what)[0], 0u);
    }
}

TEST(ZeroCopy, AllRanksGoTheOrdinaryWayForOne) {
  const Always settings;
  const LocalRanks ranks(kZeroCopyRanks);
  for (const Call call : {Call::kAllReduce, Call::kAlltoAll, Call::kAllGather})
    for (int skewed = 0; skewed < kZeroCopyRanks; ++skewed) {
      const Operation what = operation(call);
      SCOPED_TRACE(what.text());
      EXPECT_EQ(run_and_count(ranks, what, skewed), std::vector<uint32_t>(kZeroCopyRanks, 0));
    }
}

TEST(ZeroCopy, NotOfWhatItCannotDo) {
  const Always settings;
  const LocalRanks ranks(kZeroCopyRanks);
  Operation scaled = operation(Call::kAllReduce);
  scaled.scalar = Scalar::kHost;  // of each rank's own
  Operation overlapping = operation(Call::kAlltoAll);
  overlapping.in_place = true;
  for (const Operation& what : {operation(Call::kAllReduce, 4'095), scaled, overlapping}) {
    SCOPED_TRACE(what.text());
    EXPECT_EQ(run_and_count(ranks, what), std::vector<uint32_t>(kZeroCopyRanks, 0));
  }
}

TEST(ZeroCopy, FromTheBytesThatAreSet) {
  const Always settings;
  const ScopedEnv from("WEFT_ZERO_COPY", "16K");
  const LocalRanks ranks(kZeroCopyRanks);
  EXPECT_EQ(run_and_count(ranks, operation(Call::kAllReduce, 4'092)),
            std::vector<uint32_t>(kZeroCopyRanks, 0));
  EXPECT_GT(run_and_count(ranks, operation(Call::kAllReduce, 4'096))[0], 0u);
  const ScopedEnv never("WEFT_ZERO_COPY", "0");
  const LocalRanks others(kZeroCopyRanks);
  EXPECT_EQ(run_and_count(others, operation(Call::kAllReduce, 1 << 20)),
            std::vector<uint32_t>(kZeroCopyRanks, 0));
}

// A rank gives up after it offered its buffers: those that come later leave them alone.
TEST(ZeroCopy, BuffersOfARankThatLeftAreNotTouched) {
  const Always settings;
  LocalRanks ranks(2);
  constexpr size_t kCount = 1 << 16;
  GuardedBuffer zero(kCount * 4, 0);
  zero.write(std::vector<char>(kCount * 4, 7));
  require_ok(ncclAllReduce(zero.data(), zero.data(), kCount, ncclFloat32, ncclSum, ranks.comm(0),
                           ranks.stream(0)),
             "ncclAllReduce");
  EXPECT_EQ(ncclCommAbort(ranks.take(0)), ncclSuccess);
  const std::vector<char> before = zero.read();
  const LocalRanks::OnDevice scope(1);
  GuardedBuffer one(kCount * 4, 0);
  one.write(std::vector<char>(kCount * 4, 1));
  // Refused where the abort is known already.
  (void)ncclAllReduce(one.data(), one.data(), kCount, ncclFloat32, ncclSum, ranks.comm(1),
                      ranks.stream(1));
  EXPECT_EQ(ncclCommAbort(ranks.take(1)), ncclSuccess);
  require_hip(hipStreamSynchronize(ranks.stream(1)), "hipStreamSynchronize");
  EXPECT_EQ(zero.read(), before);
}

// ---- Processes: a buffer is mapped by and by ----

// Whether some rank says so; all hear it.
bool any_rank(ncclComm_t comm, hipStream_t stream, bool says) {
  GuardedBuffer word(sizeof(int), 0);
  const int value = says ? 1 : 0;
  word.write(std::vector<char>(reinterpret_cast<const char*>(&value),
                               reinterpret_cast<const char*>(&value + 1)));
  require_ok(ncclAllReduce(word.data(), word.data(), 1, ncclInt32, ncclMax, comm, stream), "any");
  require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  return word.read()[GuardedBuffer::kGuard] != 0;
}

// Until it goes without copies.
void repeat_until_mapped(ncclComm_t comm, hipStream_t stream, RankOperation& part) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (bool mapped = false; !mapped;) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("never mapped");
    const uint32_t before = zero_copies(comm);
    part.refill();
    part.issue(comm, stream);
    require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
    if (const std::string wrong = part.check(); !wrong.empty()) throw std::runtime_error(wrong);
    mapped = any_rank(comm, stream, zero_copies(comm) != before);
  }
}

void be_a_rank(int rank, const std::string& id_text) {
  const Always settings;
  const ScopedEnv from("WEFT_ZERO_COPY", "4K");  // not the words by which ranks agree
  require_hip(hipSetDevice(rank), "hipSetDevice");
  ncclComm_t comm = nullptr;
  require_ok(ncclCommInitRank(&comm, kZeroCopyRanks, from_hex(id_text), rank), "ncclCommInitRank");
  hipStream_t stream = nullptr;
  require_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
  for (int round = 0; round < 3; ++round)  // at addresses that were others' before
    for (const Call call : {Call::kAllReduce, Call::kAllGather, Call::kBroadcast, Call::kGather,
                            Call::kScatter, Call::kMessages}) {
      Operation what = operation(call, 4'096 << round);
      if (call == Call::kMessages)
        what.messages = {{2, 0, what.count}};  // rank 1 has no part in it
      what.seed = uint64_t(round + 1);
      RankOperation part(what, rank, kZeroCopyRanks);
      repeat_until_mapped(comm, stream, part);
    }
  require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
  require_ok(ncclCommDestroy(comm), "ncclCommDestroy");
}

TEST(ZeroCopy, BetweenProcesses) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ChildProcesses children;
  for (int rank = 0; rank < kZeroCopyRanks; ++rank)
    children.start({"zero_copy", std::to_string(rank), to_hex(id)});
  for (const ChildResult& child : children.collect(std::chrono::seconds(120)))
    EXPECT_TRUE(child.ok()) << child.output;
}

}  // namespace

int run_zero_copy(const std::vector<std::string>& arguments) {
  try {
    be_a_rank(std::stoi(arguments.at(0)), arguments.at(1));
    return 0;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
}

}  // namespace weft::test
