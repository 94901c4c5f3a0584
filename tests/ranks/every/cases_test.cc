// Cases that people met with libraries of this interface, each named by its number in the list that
// README.md beside this folder has. Mismatched calls are in mismatch_test.cc.
#include "../../api/failing_ranks.h"
#include "../../unit/scoped_log.h"
#include "rank_operation.h"

namespace weft::test {
namespace {

std::vector<std::unique_ptr<RankOperation>> make(const LocalRanks& ranks, const Operation& what) {
  std::vector<std::unique_ptr<RankOperation>> parts;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const LocalRanks::OnDevice scope(rank);
    parts.push_back(std::make_unique<RankOperation>(what, rank, ranks.size()));
  }
  return parts;
}
void check(const std::vector<std::unique_ptr<RankOperation>>& parts) {
  for (const auto& part : parts) EXPECT_EQ(part->check(), "");
}
void run_operation(const LocalRanks& ranks, const Operation& what) {
  const auto parts = make(ranks, what);
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks.size(); ++rank)
    parts[size_t(rank)]->issue(ranks.comm(rank), ranks.stream(rank));
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  check(parts);
}

Operation messages(std::vector<Message> list, ncclDataType_t type = ncclInt8) {
  Operation o;
  o.call = Call::kMessages;
  o.type = type;
  o.messages = std::move(list);
  return o;
}

TEST(Cases, A01SomeMessagesAreEmpty) {
  const LocalRanks ranks(4);
  for (const size_t size : {size_t(1), size_t(1000), size_t(300'001)}) {
    std::vector<Message> list;
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        list.push_back({from, to, from == 2 || to == 2 || (from + to) % 3 == 0 ? 0 : size});
    run_operation(ranks, messages(list));
  }
}

TEST(Cases, A03NothingOfEveryCall) {
  const LocalRanks ranks(3);
  for (int call = 0; call < int(Call::kAlltoAllv); ++call)
    for (const uint64_t seed : {1, 2, 3, 4}) {
      Operation o;
      o.call = Call(call);
      o.seed = seed;
      run_operation(ranks, o);
    }
}

TEST(Cases, A03NothingAtNull) {
  const LocalRanks ranks(2);
  const ncclDataType_t type = ncclFloat32;
  const size_t none[2] = {0, 0};
  for (const int rank : {0, 1}) {
    const ncclComm_t comm = ranks.comm(rank);
    const hipStream_t s = ranks.stream(rank);
    require_ok(ncclReduce(nullptr, nullptr, 0, type, ncclSum, 0, comm, s), "Reduce");
    require_ok(ncclReduceScatter(nullptr, nullptr, 0, type, ncclAvg, comm, s), "ReduceScatter");
    require_ok(ncclAllGather(nullptr, nullptr, 0, type, comm, s), "AllGather");
    require_ok(ncclBroadcast(nullptr, nullptr, 0, type, 1, comm, s), "Broadcast");
    require_ok(ncclAlltoAll(nullptr, nullptr, 0, type, comm, s), "AlltoAll");
    require_ok(ncclAlltoAllv(nullptr, none, none, nullptr, none, none, type, comm, s), "AlltoAllv");
    require_ok(ncclGather(nullptr, nullptr, 0, type, 0, comm, s), "Gather");
    require_ok(ncclScatter(nullptr, nullptr, 0, type, 1, comm, s), "Scatter");
    require_ok(ncclGroupStart(), "ncclGroupStart");
    require_ok(ncclSend(nullptr, 0, type, 1 - rank, comm, s), "Send");
    require_ok(ncclRecv(nullptr, 0, type, 1 - rank, comm, s), "Recv");
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
  }
  Operation o;  // and what follows is right
  o.count = 100;
  run_operation(ranks, o);
}

// Each of two ranks sends before it receives, without a group.
void send_then_receive(const LocalRanks& ranks, const std::vector<GuardedBuffer*>& buffers,
                       size_t bytes) {
  for (const int rank : {0, 1}) {
    void* data = buffers[size_t(rank)]->data();
    require_ok(ncclSend(data, bytes, ncclInt8, 1 - rank, ranks.comm(rank), ranks.stream(rank)),
               "ncclSend");
    require_ok(ncclRecv(data, bytes, ncclInt8, 1 - rank, ranks.comm(rank), ranks.stream(rank)),
               "ncclRecv");
  }
}

TEST(Cases, A04BothSendFirst) {
  const ScopedEnv limit("WEFT_TIMEOUT", "2");
  constexpr size_t kSmall = 1 << 10, kLarge = size_t(64) << 20;
  Ranks ranks(2);
  GuardedBuffer zero(kLarge, 0);
  const LocalRanks::OnDevice scope(1);
  GuardedBuffer one(kLarge, 0);
  zero.write(std::vector<char>(kSmall, 1));
  one.write(std::vector<char>(kSmall, 2));
  send_then_receive(ranks, {&zero, &one}, kSmall);
  ranks.synchronize();
  EXPECT_EQ(zero.read()[GuardedBuffer::kGuard + kSmall - 1], 2);
  EXPECT_EQ(one.read()[GuardedBuffer::kGuard + kSmall - 1], 1);
  send_then_receive(ranks, {&zero, &one}, kLarge);
  // Each rank's report has the half of the circle whose wait ended first, or both.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const int rank : {0, 1}) {
    std::string text;
    const auto whole = [&] {
      ncclResult_t state = ncclSuccess;
      for (const int each : {0, 1})
        require_ok(ncclCommGetAsyncError(ranks.comm(each), &state), "ncclCommGetAsyncError");
      text = ncclGetLastError(ranks.comm(rank));
      return text.find("room for a message at rank") != std::string::npos &&
             state == ncclRemoteError;
    };
    while (!whole() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    expect_text(text, {"room for a message at rank", "WEFT_TIMEOUT"});
  }
}

// Short messages between two ranks, each with a place in a buffer of its sender and one in that of
// its receiver.
class ShortMessagesOfTwo {
 public:
  static constexpr size_t kBytes = 1'000;
  static constexpr int kMost = 16;

  ShortMessagesOfTwo() {
    for (const int rank : {0, 1}) {
      const LocalRanks::OnDevice scope(rank);
      from_[rank] = std::make_unique<GuardedBuffer>(kMost * kBytes, 0);
      to_[rank] = std::make_unique<GuardedBuffer>(kMost * kBytes, 0);
      std::vector<char> bytes(kMost * kBytes);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = value(rank, i);
      from_[rank]->write(bytes);
    }
  }
  void send(const LocalRanks& ranks, int rank) {
    require_ok(ncclSend(at(*from_[rank], sent_[rank]++), kBytes, ncclInt8, 1 - rank,
                        ranks.comm(rank), ranks.stream(rank)),
               "ncclSend");
  }
  void receive(const LocalRanks& ranks, int rank) {
    require_ok(ncclRecv(at(*to_[rank], received_[rank]++), kBytes, ncclInt8, 1 - rank,
                        ranks.comm(rank), ranks.stream(rank)),
               "ncclRecv");
  }
  void check() const {
    for (const int rank : {0, 1}) {
      const LocalRanks::OnDevice scope(rank);
      const std::vector<char> all = to_[rank]->read();
      size_t wrong = 0;
      for (size_t i = 0; i < size_t(received_[rank]) * kBytes; ++i)
        wrong += all[GuardedBuffer::kGuard + i] != value(1 - rank, i);
      EXPECT_EQ(wrong, 0u) << "rank " << rank;
    }
  }

 private:
  static char value(int rank, size_t i) { return char(i * 7 + i / kBytes + size_t(rank) * 50); }
  static void* at(const GuardedBuffer& buffer, int message) {
    return static_cast<char*>(buffer.data()) + size_t(message) * kBytes;
  }
  std::unique_ptr<GuardedBuffer> from_[2], to_[2];
  int sent_[2] = {}, received_[2] = {};
};
constexpr int kMessagesWithoutReceiver = 4;  // slots of a flow (src/geometry.cc)

TEST(Cases, ShortMessagesNeedNoReceiver) {
  const ScopedEnv limit("WEFT_TIMEOUT", "10");
  const LocalRanks ranks(2);
  ShortMessagesOfTwo messages;
  for (int i = 0; i < kMessagesWithoutReceiver; ++i)
    for (const int rank : {0, 1}) messages.send(ranks, rank);
  ranks.synchronize();
  for (int i = 0; i < kMessagesWithoutReceiver; ++i)
    for (const int rank : {0, 1}) messages.receive(ranks, rank);
  ranks.synchronize();
  messages.check();
}

// Both wait for room that a receive of the other's same kernel gives.
TEST(Cases, RoomForAMessageComesFromAReceiveBesideASend) {
  const ScopedEnv limit("WEFT_TIMEOUT", "10");
  const LocalRanks ranks(2);
  ShortMessagesOfTwo messages;
  for (int i = 0; i < kMessagesWithoutReceiver; ++i)
    for (const int rank : {0, 1}) messages.send(ranks, rank);
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (const int rank : {0, 1}) {
    messages.send(ranks, rank);
    messages.receive(ranks, rank);
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  for (int i = 0; i < kMessagesWithoutReceiver; ++i)
    for (const int rank : {0, 1}) messages.receive(ranks, rank);
  ranks.synchronize();
  messages.check();
}

// Ranks may cut the same messages into other groups.
TEST(Cases, SendersAndReceiversGroupShortMessagesDifferently) {
  const ScopedEnv limit("WEFT_TIMEOUT", "10");
  const LocalRanks ranks(2);
  for (const int each : {1, 2, 3, 4, 12}) {
    ShortMessagesOfTwo messages;
    for (int i = 0; i < 12; i += each) {
      require_ok(ncclGroupStart(), "ncclGroupStart");
      for (int k = 0; k < each; ++k) messages.send(ranks, 0);
      require_ok(ncclGroupEnd(), "ncclGroupEnd");
    }
    for (int i = 0; i < 12; i += 12 / each) {
      require_ok(ncclGroupStart(), "ncclGroupStart");
      for (int k = 0; k < 12 / each; ++k) messages.receive(ranks, 1);
      require_ok(ncclGroupEnd(), "ncclGroupEnd");
    }
    ranks.synchronize();
    messages.check();
  }
}

TEST(Cases, MessagesAroundTheLongestOneOfLines) {
  for (const char* channels : {"1", "2", "5", "32"}) {
    const ScopedEnv most("NCCL_MAX_NCHANNELS", channels);
    for (const int size : {2, 4}) {
      const LocalRanks ranks(size);
      for (size_t bytes = 1 << 10; bytes <= 128 << 10; bytes *= 2) {
        std::vector<Message> list;
        for (const size_t count : {bytes - 1, bytes, bytes + 1, bytes + 16})
          for (int from = 0; from < size; ++from) list.push_back({from, (from + 1) % size, count});
        Operation o = messages(list);
        o.send_offset = bytes / 1024 % 3;
        run_operation(ranks, o);
        run_operation(ranks, messages({{0, 1, bytes}, {1, 0, bytes + 1}}));
      }
    }
  }
}

TEST(Cases, A06MessagesOfAPairKeepTheirOrder) {
  const LocalRanks ranks(2);
  std::vector<Message> list;
  for (int i = 0; i < 40; ++i) list.push_back({i % 2, 1 - i % 2, size_t(i * i * 37 % 5'000)});
  run_operation(ranks, messages(list));
}

// A long message between two short ones takes channels that they have no part on: the second short
// one still comes after the first one.
TEST(Cases, A06ALongMessageBetweenShortOnes) {
  const LocalRanks ranks(2);
  std::vector<Message> list;
  for (int i = 0; i < 50; ++i) list.push_back({1, 0, i % 2 == 0 ? size_t(8 + i) : size_t(100'000)});
  for (int round = 0; round < 30; ++round) run_operation(ranks, messages(list));
}

TEST(Cases, A12TwoMessagesForEveryRankAndOneself) {
  const LocalRanks ranks(4);
  std::vector<Message> list;
  for (const size_t size : {size_t(4'097), size_t(70'001)})
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to) list.push_back({from, to, size + size_t(2 * from)});
  run_operation(ranks, messages(list));
}

// Bit 0 of the seed's choices decides between NULL and memory that must stay as it is.
TEST(Cases, A18WhatARankDoesNotUseMayBeNull) {
  const LocalRanks ranks(3);
  for (const Call call : {Call::kReduce, Call::kBroadcast, Call::kGather, Call::kScatter}) {
    bool null = false, memory = false;
    for (uint64_t seed = 1; !null || !memory; ++seed) {
      Operation o;
      o.call = call;
      o.count = 333;
      o.root = 1;
      o.seed = seed;
      (o.bit(0) ? memory : null) = true;
      run_operation(ranks, o);
    }
  }
}

TEST(Cases, A19InPlaceForms) {
  for (const int size : {2, 3, 5}) {
    const LocalRanks ranks(size);
    for (int call = 0; call < int(Call::kAlltoAllv); ++call)
      for (const size_t count : {1, 1'000, 30'001}) {
        Operation o;
        o.call = Call(call);
        o.count = count;
        o.root = size - 1;
        o.in_place = true;
        run_operation(ranks, o);
      }
  }
}

TEST(Cases, A19WrongFormsAreRefused) {
  Ranks ranks(2);
  GuardedBuffer memory(4'000, 0);
  auto* floats = static_cast<float*>(memory.data());
  const ncclComm_t comm = ranks.comm(1);
  const hipStream_t stream = ranks.stream(1);
  const auto refused = [](ncclResult_t got) {
    expect_error(got, ncclInvalidArgument, {"overlap", "in place"});
  };
  refused(ncclAllGather(floats, floats, 100, ncclFloat32, comm, stream));  // rank 1: not + count
  refused(ncclReduceScatter(floats, floats, 100, ncclFloat32, ncclSum, comm, stream));
  refused(ncclAllReduce(floats, floats + 1, 100, ncclFloat32, ncclSum, comm, stream));
  refused(ncclAllGather(floats + 150, floats, 100, ncclFloat32, comm, stream));
  refused(ncclBroadcast(floats + 99, floats, 100, ncclFloat32, 1, comm, stream));
  EXPECT_EQ(memory.compare(std::vector<char>(4'000, GuardedBuffer::kFill), 4), "");
}

TEST(Cases, A22AnyNumberOfChannelsAndThreeInAGroup) {
  for (const char* channels : {"1", "63", "64", "65", "112", "128"}) {
    SCOPED_TRACE(channels);
    const ScopedEnv least("NCCL_MIN_NCHANNELS", channels), most("NCCL_MAX_NCHANNELS", channels);
    const LocalRanks ranks(2);
    std::vector<std::vector<std::unique_ptr<RankOperation>>> all;
    for (const Call call : {Call::kAllReduce, Call::kAllGather, Call::kReduceScatter}) {
      Operation o;
      o.call = call;
      o.count = 50'001;
      all.push_back(make(ranks, o));
    }
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (const auto& parts : all)
      for (const int rank : {0, 1})
        parts[size_t(rank)]->issue(ranks.comm(rank), ranks.stream(rank));
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
    ranks.synchronize();
    for (const auto& parts : all) check(parts);
  }
}

// Fresh communicators, the same numbers whose sum depends on the order: the same bits.
TEST(Cases, P06EveryRunGivesTheSameBits) {
  constexpr int kRanks = 5, kRuns = 8;
  constexpr size_t kCount = 10'007;
  std::vector<char> first;
  for (int run = 0; run < kRuns; ++run) {
    const LocalRanks ranks(kRanks);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    require_ok(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < kRanks; ++rank) {
      const LocalRanks::OnDevice scope(rank);
      std::vector<char> bytes(4 * kCount);
      for (size_t i = 0; i < kCount; ++i) {
        const float value = float(mix(uint64_t(rank) * kCount + i) >> 40) / float(1 + i % 1000);
        std::memcpy(&bytes[4 * i], &value, 4);
      }
      buffers.push_back(std::make_unique<GuardedBuffer>(bytes.size(), 0));
      buffers.back()->write(bytes);
      void* data = buffers.back()->data();
      require_ok(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, ranks.comm(rank),
                               ranks.stream(rank)),
                 "ncclAllReduce");
    }
    require_ok(ncclGroupEnd(), "ncclGroupEnd");
    ranks.synchronize();
    if (first.empty()) first = buffers[0]->read();
    for (const auto& buffer : buffers) ASSERT_TRUE(buffer->read() == first) << "run " << run;
  }
}

// Every code of fp8 goes through what does not reduce.
TEST(Cases, P10MovedFp8IsUntouched) {
  const LocalRanks ranks(3);
  for (const Call call : {Call::kAllGather, Call::kBroadcast, Call::kAlltoAll, Call::kGather})
    for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2}) {
      Operation o;  // random bytes: 4,000 of them hold all codes
      o.call = call;
      o.type = type;
      o.count = 4'000;
      run_operation(ranks, o);
    }
}

TEST(Cases, P10TheLogNamesTheEncoding) {
  const ScopedLog log("INFO");
  const LocalRanks ranks(2);
  expect_text(log.text(), {devices_are_fnuz() ? "fp8 FNUZ" : "fp8 OCP"});
}

// Same or different communicator, same or different stream, both ranks in the same order.
TEST(Cases, G09TwoOperationsAtOnce) {
  const LocalRanks a(2), b(2);
  for (const bool other_comm : {false, true})
    for (const bool other_stream : {false, true}) {
      Operation o;
      o.count = 100'003;
      const auto first = make(a, o);
      o.seed = 2;
      const auto second = make(a, o);
      for (const int rank : {0, 1}) {
        first[size_t(rank)]->issue(a.comm(rank), a.stream(rank));
        second[size_t(rank)]->issue((other_comm ? b : a).comm(rank),
                                    (other_stream ? b : a).stream(rank));
      }
      a.synchronize();
      b.synchronize();
      check(first);
      check(second);
    }
}

// Five communicators of a process on streams of their own, the same order on all ranks.
TEST(Cases, G04ManyCommunicators) {
  constexpr int kRounds = 40;
  std::vector<std::unique_ptr<LocalRanks>> all;
  for (int i = 0; i < 5; ++i) all.push_back(std::make_unique<LocalRanks>(3));
  for (uint64_t round = 0; round < kRounds; ++round) {
    std::vector<std::vector<std::unique_ptr<RankOperation>>> parts;
    for (size_t i = 0; i < all.size(); ++i) {
      Operation o;
      o.call = Call((round + i) % uint64_t(Call::kAlltoAllv));
      o.seed = mix(10 * round + i);
      o.count = o.seed % 9'000;
      parts.push_back(make(*all[i], o));
      for (int rank = 0; rank < 3; ++rank)
        parts.back()[size_t(rank)]->issue(all[i]->comm(rank), all[i]->stream(rank));
    }
    for (const auto& ranks : all) ranks->synchronize();
    for (const auto& each : parts) check(each);
  }
}

// One AllGather of bytes that are all equal on a rank, and change from round to round.
struct Gathering {
  explicit Gathering(size_t bytes, int ranks)
      : count(bytes), in(bytes, 0), out(bytes * size_t(ranks), 0) {}
  void fill(int rank, int round) const {
    in.write(std::vector<char>(count, char(3 * round + rank)));
  }
  std::string check(int round) const {
    std::vector<char> want;
    for (int rank = 0; want.size() < out.bytes(); ++rank)
      want.insert(want.end(), count, char(3 * round + rank));
    return out.compare(want, 1);
  }
  size_t count;
  GuardedBuffer in, out;
};

// A graph of small and large AllGathers: two protocols on the same peers, new data each time.
TEST(Cases, G07AGraphOfTwoProtocols) {
  constexpr int kRanks = 2, kReplays = 60;
  const LocalRanks ranks(kRanks);
  on_threads(kRanks, [&](int rank) {
    const Gathering small(1 << 10, kRanks), large(256 << 10, kRanks);
    const hipStream_t stream = ranks.stream(rank);
    hipGraph_t graph = nullptr;
    hipGraphExec_t executable = nullptr;
    require_hip(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < 3; ++i)
      for (const Gathering* each : {&small, &large})
        require_ok(ncclAllGather(each->in.data(), each->out.data(), each->count, ncclInt8,
                                 ranks.comm(rank), stream),
                   "ncclAllGather");
    require_hip(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    require_hip(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "instantiate");
    for (int replay = 0; replay < kReplays; ++replay) {
      for (const Gathering* each : {&small, &large}) each->fill(rank, replay);
      require_hip(hipGraphLaunch(executable, stream), "hipGraphLaunch");
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
      for (const Gathering* each : {&small, &large})
        EXPECT_EQ(each->check(replay), "") << "replay " << replay;
    }
    require_hip(hipGraphExecDestroy(executable), "hipGraphExecDestroy");
    require_hip(hipGraphDestroy(graph), "hipGraphDestroy");
  });
}

}  // namespace
}  // namespace weft::test
