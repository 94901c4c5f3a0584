// The generator (random_episode.h).
#include "random_episode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace weft::test {
namespace {

constexpr int kMostThreads = 9;
constexpr size_t kMostBytes = size_t(1) << 20;  // of one buffer

class Generator {
 public:
  Generator(uint64_t seed, bool threads) : random_(seed), threads_(threads) {
    episode_.seed = seed;
  }

  Episode make(size_t operations) {
    // Processes are dear.
    episode_.ranks = threads_ ? 1 + int(below(kMostThreads)) : 2 + int(below(3));
    episode_.one_thread = threads_ && one_in(4);
    add_settings();
    add_comms();
    for (size_t made = 0; made < operations;) {
      add_batch(operations - made);
      made += episode_.batches.back().calls.size();
    }
    return std::move(episode_);
  }

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

  void set(const char* name, std::string value) {
    episode_.environment.emplace_back(name, std::move(value));
  }
  void add_settings() {
    set("NCCL_ALGO", one_of({"", "", "Ring", "Tree,Ring", "PAT,Ring", "Direct"}));
    set("NCCL_PROTO", one_of({"", "", "LL", "LL128", "Simple"}));
    set("WEFT_EPOCH_BASE", one_of({"0", "4294967196", "65500", "2000"}));
    set("WEFT_RANDOM_GRID", one_in(2) ? "0" : std::to_string(1 + below(1'000'000)));
    set("NCCL_MAX_NCHANNELS", one_of({"64", "1", "3", "8"}));
    set("NCCL_BUFFSIZE", one_of({"4194304", "65536"}));
    set("WEFT_ZERO_COPY", one_of({"0", "1", "1", "4096"}));
    if (!threads_) set("NCCL_P2P_DISABLE", one_of({"0", "0", "1"}));
  }

  std::vector<int> some_ranks() {
    std::vector<int> ranks(size_t(episode_.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::ranges::shuffle(ranks, random_);
    ranks.resize(1 + below(ranks.size()));
    return ranks;
  }
  void add_comms() {
    CommPlan world{threads_ && one_in(2) ? Making::kOneCall : Making::kId, {}};
    world.members.resize(size_t(episode_.ranks));
    std::iota(world.members.begin(), world.members.end(), 0);
    episode_.comms.push_back(world);
    for (uint64_t more = below(4); more > 0; --more) {
      Making making = one_of({Making::kId, Making::kSplit, Making::kOneCall});
      if (making == Making::kOneCall && !threads_) making = Making::kSplit;
      episode_.comms.push_back({making, some_ranks()});
    }
  }

  size_t size_of(size_t comm) const { return episode_.comms[comm].members.size(); }

  size_t random_count() {
    const uint64_t range = below(100);
    if (range < 12) return one_of<size_t>({0, 1, 2, 3, 7, 8, 9, 15, 16, 17});
    if (range < 60) return below(100);
    if (range < 90) return below(3'000);
    if (range < 98) return below(20'000) | 1;
    return below(100'000) | 1;
  }

  Operation random_operation(int ranks) {
    Operation o;
    o.call = Call(below(kCallCount));
    o.type = ncclDataType_t(below(ncclNumTypes));
    o.seed = random_();
    o.count = random_count();
    const size_t element = kind_of(o.type, false).bytes, per_pack = 16 / element;
    if (is_segmented(o.call)) o.count = std::min(o.count, kMostBytes / element / size_t(ranks));
    o.root = int(below(uint64_t(ranks)));
    o.in_place = !has_messages(o.call) && one_in(3);
    if (one_in(2)) o.send_offset = below(per_pack), o.receive_offset = below(per_pack);
    if (o.in_place) o.send_offset = o.receive_offset;
    if (reduces(o.call)) choose_op(o);
    if (o.call == Call::kAlltoAllv) add_every_pair(o, ranks);
    if (o.call == Call::kMessages) add_messages(o, ranks);
    return o;
  }
  void choose_op(Operation& o) {
    o.op = ncclRedOp_t(below(ncclNumOps));
    if (o.call == Call::kAllReduceWithBias) {
      if (o.op == ncclAvg) o.op = ncclSum;  // rounded once with the bias: not exact in every order
    } else if (one_in(5)) {
      o.op = ncclSum;
      o.scalar = one_of({Scalar::kHost, Scalar::kDevice});
    }
  }
  // Where messages of lines end (src/messages.cc), or near it.
  size_t count_near_power(const Operation& o) {
    const size_t elems = (size_t(1) << (10 + below(7))) / kind_of(o.type, false).bytes;
    return elems - 1 + below(3);
  }
  size_t message_count(const Operation& o, size_t messages) {
    const size_t most = kMostBytes / kind_of(o.type, false).bytes / std::max<size_t>(messages, 1);
    if (one_in(5)) return 0;
    return std::min(one_in(4) ? count_near_power(o) : random_count(), most);
  }
  void add_every_pair(Operation& o, int ranks) {
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        o.messages.push_back({from, to, message_count(o, size_t(ranks))});
  }
  void add_messages(Operation& o, int ranks) {
    const uint64_t number = one_in(4) ? 1 : 1 + below(3 * uint64_t(ranks));
    for (uint64_t i = 0; i < number; ++i)
      o.messages.push_back({int(below(uint64_t(ranks))), int(below(uint64_t(ranks))),
                            message_count(o, size_t(number))});
  }

  // In a group of several communicators each rank goes through them in the order in which it first
  // names them, so all must name them in one order: operations in which a rank may say nothing come
  // only where there is one communicator.
  void add_batch(size_t most) {
    Batch batch;
    batch.grouped = episode_.one_thread || one_in(2);
    const bool one_comm = one_in(2);
    const size_t comm = below(episode_.comms.size());
    for (size_t calls = std::min<size_t>(most, 1 + below(5)); calls > 0; --calls) {
      CommCall call{one_comm ? comm : below(episode_.comms.size()), {}};
      const int ranks = int(size_of(call.comm));
      do call.operation = random_operation(ranks);
      while (batch.grouped && !one_comm && call.operation.call == Call::kMessages);
      batch.calls.push_back(std::move(call));
    }
    episode_.batches.push_back(std::move(batch));
  }

  std::mt19937_64 random_;
  const bool threads_;
  Episode episode_;
};

}  // namespace

int CommPlan::rank_of(int world_rank) const {
  const auto at = std::ranges::find(members, world_rank);
  return at == members.end() ? -1 : int(at - members.begin());
}

size_t Episode::operations() const {
  size_t count = 0;
  for (const Batch& batch : batches) count += batch.calls.size();
  return count;
}

std::string Episode::text() const {
  std::string text = fmt::format("{} ranks{}", ranks, one_thread ? " of one thread" : "");
  for (const auto& [name, value] : environment)
    if (!value.empty()) text += fmt::format(" {}={}", name, value);
  constexpr const char* kMakings[] = {"id", "one call", "split"};
  for (const CommPlan& comm : comms)
    text += fmt::format(" [{} by {}]", fmt::join(comm.members, " "), kMakings[int(comm.making)]);
  return text;
}

Episode make_episode(uint64_t seed, size_t operations, bool threads) {
  return Generator(seed, threads).make(operations);
}

size_t stream_of(const Operation& operation, int world_rank) {
  return mix(operation.seed ^ (uint64_t(world_rank) << 8)) % 4 % kStreams;
}

}  // namespace weft::test
