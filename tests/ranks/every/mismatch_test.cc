// Ranks that make different calls: all get an error, soon, and the texts name the calls; nothing is
// taken for success and no memory beside the output is written. Cases A07, A09, A10.
#include <algorithm>
#include <iostream>

#include "../../api/failing_ranks.h"
#include "../../support/child_processes.h"
#include "../../support/schedule_xml.h"
#include "../../support/unique_id_text.h"
#include "../../unit/scoped_log.h"
#include "mismatch_process.h"

namespace weft::test {
namespace {

struct Outcome {
  std::vector<ncclResult_t> states;
  std::string texts;  // of all ranks
};

// Until every rank has an error or the time is over.
Outcome wait_for_errors(const Ranks& ranks) {
  Outcome outcome{std::vector<ncclResult_t>(size_t(ranks.size()), ncclSuccess), ""};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto all_failed = [&] {
    for (int rank = 0; rank < ranks.size(); ++rank)
      require_ok(ncclCommGetAsyncError(ranks.comm(rank), &outcome.states[size_t(rank)]),
                 "ncclCommGetAsyncError");
    return std::ranges::count(outcome.states, ncclSuccess) == 0;
  };
  while (!all_failed() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  for (int rank = 0; rank < ranks.size(); ++rank)
    outcome.texts += std::string(ncclGetLastError(ranks.comm(rank))) + "\n";
  return outcome;
}

struct Setting {
  const char *algorithm, *protocol;
};
constexpr Setting kSettings[] = {{"Ring", "LL"},
                                 {"Ring", "Simple"},
                                 {"Direct", "LL"},
                                 {"Direct", "LL128"},
                                 {"Direct", "Simple"}};

// body(ranks, rank) is what each rank calls.
using Body = std::function<ncclResult_t(Ranks& ranks, int rank)>;

void expect_errors(int size, const std::vector<std::string>& names, const Body& body) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(std::string(setting.algorithm) + " " + setting.protocol);
    const ScopedEnv algorithm("NCCL_ALGO", setting.algorithm),
        protocol("NCCL_PROTO", setting.protocol);
    Ranks ranks(size);
    for (int rank = 0; rank < size; ++rank) require_ok(body(ranks, rank), "the call");
    const Outcome outcome = wait_for_errors(ranks);
    for (int rank = 0; rank < size; ++rank)
      EXPECT_TRUE(outcome.states[size_t(rank)] == ncclInvalidUsage ||
                  outcome.states[size_t(rank)] == ncclRemoteError)
          << "rank " << rank << ": " << ncclGetErrorString(outcome.states[size_t(rank)]);
    expect_text(outcome.texts, names);
  }
}

// Memory of a rank for calls that Ranks does not know.
class Rooms {
 public:
  explicit Rooms(int size) {
    for (int rank = 0; rank < size; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      rooms_.push_back(std::make_unique<GuardedBuffer>(1 << 20, 0));
    }
  }
  void* operator[](int rank) const { return rooms_[size_t(rank)]->data(); }

 private:
  std::vector<std::unique_ptr<GuardedBuffer>> rooms_;
};

TEST(Mismatch, A09OneElementOfDifferentTypes) {
  expect_errors(4, {"AllReduce of 1 ncclFloat32", "AllReduce of 1 ncclBfloat16"},
                [](Ranks& ranks, int rank) {
                  return ranks.call(rank, 1, rank % 2 ? ncclFloat32 : ncclBfloat16);
                });
}

TEST(Mismatch, A10BroadcastsOfDifferentSizesAndTypes) {
  const Rooms rooms(3);
  expect_errors(3, {"Broadcast of 503912 ncclFloat16", "Broadcast of 53 ncclInt64"},
                [&](Ranks& ranks, int rank) {
                  return ncclBcast(rooms[rank], rank == 0 ? 503'912 : 53,
                                   rank == 0 ? ncclFloat16 : ncclInt64, 0, ranks.comm(rank),
                                   ranks.stream(rank));
                });
}

TEST(Mismatch, A10AllReduceAgainstBroadcast) {
  const Rooms rooms(3);
  expect_errors(3, {"AllReduce of 1000", "Broadcast of 1000"}, [&](Ranks& ranks, int rank) {
    if (rank == 1) return ranks.call(rank, 1000);
    return ncclBcast(rooms[rank], 1000, ncclFloat32, 0, ranks.comm(rank), ranks.stream(rank));
  });
}

TEST(Mismatch, A10DifferentRoots) {
  const Rooms rooms(3);
  expect_errors(3, {"root 0", "root 1"}, [&](Ranks& ranks, int rank) {
    return ncclBcast(rooms[rank], 1000, ncclFloat32, rank == 2 ? 1 : 0, ranks.comm(rank),
                     ranks.stream(rank));
  });
}

TEST(Mismatch, SchedulesOfDifferentFiles) {
  const TempFolder folder;
  mscclAlgoHandle_t handles[3] = {};
  for (int rank = 0; rank < 3; ++rank) {
    const std::string xml = changed(ring_all_reduce(3), "\"t\"", rank == 1 ? "\"u\"" : "\"t\"");
    if (mscclLoadAlgo(folder.write("a.xml", xml).c_str(), &handles[rank], rank) != ncclSuccess)
      GTEST_SKIP() << ncclGetLastError(nullptr);
  }
  const Rooms rooms(3);
  expect_errors(3, {"AllReduce of 1000 ncclFloat32, ncclSum, by schedule t", "by schedule u"},
                [&](Ranks& ranks, int rank) {
                  return mscclRunAlgo(rooms[rank], nullptr, nullptr, rooms[rank], nullptr, nullptr,
                                      1000, ncclFloat32, 0, 0, ncclSum, handles[rank],
                                      ranks.comm(rank), ranks.stream(rank));
                });
}

TEST(Mismatch, A10DifferentOps) {
  expect_errors(3, {"ncclMax", "ncclMin"}, [](Ranks& ranks, int rank) {
    return ranks.call(rank, 1000, ncclFloat32, rank == 0 ? ncclMax : ncclMin);
  });
}

TEST(Mismatch, NothingAgainstSomething) {
  for (const int empty : {0, 1})
    expect_errors(2, {"AllReduce of 500"}, [&](Ranks& ranks, int rank) {
      return ranks.call(rank, rank == empty ? 0 : 500);
    });
}

// One rank makes one call more: no other rank will ever make it.
TEST(Mismatch, OneCallTooMany) {
  const ScopedEnv limit("WEFT_TIMEOUT", "0.3");
  expect_errors(3, {"AllReduce of 300", "WEFT_TIMEOUT"}, [](Ranks& ranks, int rank) {
    for (int i = 0; i < 3; ++i) require_ok(ranks.call(rank, 300), "ncclAllReduce");
    return rank == 1 ? ranks.call(rank, 300) : ncclSuccess;
  });
}

// The next call of the others is then another one.
TEST(Mismatch, OneCallTooManyAndThenAnother) {
  expect_errors(3, {"AllReduce of 300", "AllReduce of 700"}, [](Ranks& ranks, int rank) {
    if (rank == 1) require_ok(ranks.call(rank, 300), "ncclAllReduce");
    const ncclResult_t last = ranks.call(rank, 700);
    // The first one may have been found out by now.
    return rank == 1 && last == ncclInvalidUsage ? ncclSuccess : last;
  });
}

// Floats, so that guard bytes lie right behind the receiver's.
void expect_messages_fail(size_t sent, size_t received) {
  SCOPED_TRACE(std::to_string(sent) + " sent, " + std::to_string(received) + " received");
  std::unique_ptr<GuardedBuffer> from, to;
  {
    const LocalRanks::OnDevice scope(0);
    from = std::make_unique<GuardedBuffer>(4 * sent, 0);
    from->write(std::vector<char>(4 * sent, 1));
  }
  {
    const LocalRanks::OnDevice scope(1);
    to = std::make_unique<GuardedBuffer>(4 * received, 0);
    to->write(std::vector<char>(4 * received, 1));
  }
  expect_errors(2, {"message", "sizes and types"}, [&](Ranks& ranks, int rank) {
    if (rank == 0)
      return ncclSend(from->data(), sent, ncclFloat32, 1, ranks.comm(0), ranks.stream(0));
    return ncclRecv(to->data(), received, ncclFloat32, 0, ranks.comm(1), ranks.stream(1));
  });
  const LocalRanks::OnDevice scope(1);
  if (received > 0) {
    EXPECT_EQ(to->compare(std::vector<char>(4 * received, 1), 4), "");
  }
}

TEST(Mismatch, A07SendAndReceiveOfDifferentSizes) {
  expect_messages_fail(3, 4);
  expect_messages_fail(4, 3);
  expect_messages_fail(100'000, 99'999);
  expect_messages_fail(1, 200'000);
}

// One end by lines, the other one by slots (src/messages.cc).
TEST(Mismatch, A07SizesOnBothSidesOfTheLongestMessageOfLines) {
  expect_messages_fail(8'192, 8'193);
  expect_messages_fail(8'193, 8'192);
  expect_messages_fail(5, 20'000);
  expect_messages_fail(20'000, 5);
}

TEST(Mismatch, A07AmongProcesses) {
  for (const auto& [sent, received] : {std::pair(3, 4), std::pair(4, 3), std::pair(99'999, 7)}) {
    ncclUniqueId id;
    require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ChildProcesses children;
    for (const char* rank : {"0", "1"})
      children.start(
          {"mismatch", rank, std::to_string(sent), std::to_string(received), to_hex(id)});
    std::string output;
    for (const ChildResult& child : children.collect(std::chrono::seconds(60))) {
      EXPECT_TRUE(child.ok()) << child.output;
      output += child.output;
    }
    expect_text(output, {"sizes and types"});
  }
}

TEST(Mismatch, A07NothingAgainstSomething) {
  const ScopedEnv limit("WEFT_TIMEOUT", "2");
  expect_messages_fail(0, 4);
  expect_messages_fail(4, 0);
}

}  // namespace

int run_mismatch(const std::vector<std::string>& arguments) {
  const int rank = std::stoi(arguments.at(0));
  const size_t sent = std::stoul(arguments.at(1)), received = std::stoul(arguments.at(2));
  ncclComm_t comm = nullptr;
  hipStream_t stream = nullptr;
  require_hip(hipSetDevice(rank), "hipSetDevice");
  require_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
  require_ok(ncclCommInitRank(&comm, 2, from_hex(arguments.at(3)), rank), "ncclCommInitRank");
  const GuardedBuffer buffer(4 * (rank == 0 ? sent : received), 0);
  require_ok(rank == 0 ? ncclSend(buffer.data(), sent, ncclFloat32, 1, comm, stream)
                       : ncclRecv(buffer.data(), received, ncclFloat32, 0, comm, stream),
             "the message");
  ncclResult_t state = ncclSuccess;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (state == ncclSuccess && std::chrono::steady_clock::now() < deadline) {
    require_ok(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    std::this_thread::yield();
  }
  std::cout << "rank " << rank << ": " << ncclGetLastError(comm) << std::endl;
  require_ok(ncclCommAbort(comm), "ncclCommAbort");
  require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  const std::string beside = buffer.compare({GuardedBuffer::kFill}, 1);
  const bool guards = beside.find("was written") == std::string::npos;
  std::cout << beside << std::endl;
  require_hip(hipStreamDestroy(stream), "hipStreamDestroy");
  return state != ncclSuccess && guards ? 0 : 1;
}

}  // namespace weft::test
