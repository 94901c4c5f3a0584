// The model (operation.h).
#include "operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../../support/guarded_buffer.h"

namespace weft::test {
namespace {

constexpr const char* kCallNames[kCallCount] = {
    "AllReduce", "AllReduceWithBias", "Reduce",   "ReduceScatter",
    "AllGather", "Broadcast",         "AlltoAll", "Gather",
    "Scatter",   "AlltoAllv",         "messages"};

// A power of two that all ranks share, and a sign of each rank: products and their sums are exact.
uint64_t scalar_of(const Operation& operation, const Kind& kind, int rank) {
  const uint64_t random = mix(operation.seed + 5);
  if (!kind.is_float) return cut(kind, mix(random + uint64_t(rank)));
  const double size = random % 3 == 0 ? 0.5 : random % 3 == 1 ? 1 : 2;
  return bits_of(kind, mix(random + uint64_t(rank)) & 1 ? size : -size);
}

uint64_t contribution(const Operation& operation, const Kind& kind, int rank, uint64_t input) {
  if (operation.scalar == Scalar::kNone) return input;
  const uint64_t scalar = scalar_of(operation, kind, rank);
  if (!kind.is_float) return cut(kind, input * scalar);
  return bits_of(kind, value_of(kind, input) * value_of(kind, scalar));
}

class Model {
 public:
  Model(const Operation& operation, int rank, int ranks)
      : operation_(operation),
        kind_(kind_of(operation.type, devices_are_fnuz())),
        rank_(rank),
        ranks_(ranks) {}

  RankPart part() const {
    RankPart part;
    if (has_messages(operation_.call)) {
      lay_out_messages(part);
    } else {
      lay_out(part, own_data());
    }
    if (operation_.call == Call::kAllReduceWithBias) add_bias(part);
    if (operation_.scalar != Scalar::kNone) part.scalar = scalar_of(operation_, kind_, rank_);
    return part;
  }

 private:
  // What the rank brings in and gets; where the shorter one lies in the longer one when in place.
  struct Data {
    std::optional<Bytes> in, out;
    size_t in_at = 0, out_at = 0;
  };

  size_t segment_bytes() const { return operation_.count * kind_.bytes; }

  Bytes random_bytes(uint64_t seed, size_t bytes) const {
    Bytes all(bytes);
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      const uint64_t word = mix(seed + at);
      std::memcpy(&all[at], &word, std::min(sizeof word, bytes - at));
    }
    return all;
  }

  // kPeriod elements, or fewer, over and over.
  template <class Element>
  Bytes periodic(Element element) const {
    Bytes pattern(std::min(operation_.count, kPeriod) * kind_.bytes);
    for (size_t i = 0; i * kind_.bytes < pattern.size(); ++i) {
      const uint64_t bits = element(i);
      std::memcpy(&pattern[i * kind_.bytes], &bits, kind_.bytes);
    }
    return repeated(pattern, segment_bytes());
  }

  uint64_t seed_of(int segment) const { return mix(operation_.seed + uint64_t(segment)); }
  Bytes moved(int rank, int segment) const {
    return random_bytes(mix(seed_of(segment) + uint64_t(rank)), segment_bytes());
  }
  Bytes brought(int rank, int segment) const {
    if (!reduces(operation_.call)) return moved(rank, segment);
    return periodic(
        [&](size_t i) { return input_bits(kind_, operation_.op, rank, i, seed_of(segment)); });
  }
  Bytes reduced(int segment) const {
    const bool biased = operation_.call == Call::kAllReduceWithBias;
    std::vector<uint64_t> in(size_t(ranks_) + (biased ? 1 : 0));
    return periodic([&](size_t i) {
      for (size_t rank = 0; rank < in.size(); ++rank)
        in[rank] = contribution(operation_, kind_, int(rank),
                                input_bits(kind_, operation_.op, int(rank), i, seed_of(segment)));
      return reduce(kind_, operation_.op, in);
    });
  }
  template <class Segment>
  Bytes every_rank(Segment segment) const {
    Bytes all;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Bytes one = segment(rank);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  Data own_data() const {
    const size_t own_at = size_t(rank_) * segment_bytes();
    const bool root = rank_ == operation_.root;
    const auto segments_of = [&](int rank) {
      return every_rank([&](int segment) { return brought(rank, segment); });
    };
    const auto firsts = [&] { return every_rank([&](int rank) { return brought(rank, 0); }); };
    switch (operation_.call) {
      case Call::kAllReduce:
      case Call::kAllReduceWithBias:
        return {brought(rank_, 0), reduced(0)};
      case Call::kReduce:
        if (!root) return {brought(rank_, 0), {}};
        return {brought(rank_, 0), reduced(0)};
      case Call::kReduceScatter:
        return {segments_of(rank_), reduced(rank_), 0, own_at};
      case Call::kAllGather:
        return {brought(rank_, 0), firsts(), own_at, 0};
      case Call::kBroadcast:
        if (!root) return {{}, brought(operation_.root, 0)};
        return {brought(rank_, 0), brought(rank_, 0)};
      case Call::kAlltoAll:
        return {segments_of(rank_), every_rank([&](int from) { return brought(from, rank_); })};
      case Call::kGather:
        if (!root) return {brought(rank_, 0), {}};
        return {brought(rank_, 0), firsts(), own_at, 0};
      case Call::kScatter:
        if (!root) return {{}, brought(operation_.root, rank_)};
        return {segments_of(rank_), brought(rank_, rank_), 0, own_at};
      case Call::kAlltoAllv:
      case Call::kMessages:
        break;
    }
    return {};
  }

  Memory memory(Bytes before, Bytes after, size_t offset) const {
    return {std::move(before), std::move(after), offset * kind_.bytes};
  }

  void lay_out(RankPart& part, Data data) const {
    if (data.in && data.out && operation_.in_place) {
      Bytes before(std::max(data.in->size(), data.out->size()), GuardedBuffer::kFill);
      std::ranges::copy(*data.in, before.begin() + long(data.in_at));
      Bytes after = before;
      std::ranges::copy(*data.out, after.begin() + long(data.out_at));
      part.memories.push_back(
          memory(std::move(before), std::move(after), operation_.receive_offset));
      part.send = {0, data.in_at};
      part.receive = {0, data.out_at};
      return;
    }
    if (data.in) {
      part.send.memory = int(part.memories.size());
      part.memories.push_back(memory(*data.in, *data.in, operation_.send_offset));
    }
    if (data.out) {
      part.receive.memory = int(part.memories.size());
      part.memories.push_back(memory({}, std::move(*data.out), operation_.receive_offset));
    }
    lay_out_unused(part);
  }

  // What a call does not look at on this rank: NULL, or memory that stays as it is. In place, the
  // program passes the same address twice all the same.
  void lay_out_unused(RankPart& part) const {
    const bool same = operation_.in_place && !is_segmented(operation_.call);
    for (Place* unused : {&part.send, &part.receive}) {
      if (unused->memory >= 0) continue;
      if (same) {
        *unused = unused == &part.send ? part.receive : part.send;
      } else if (operation_.bit(0)) {
        unused->memory = int(part.memories.size());
        part.memories.push_back(memory({}, Bytes(7, GuardedBuffer::kFill), 0));
      }
    }
  }

  void add_bias(RankPart& part) const {
    const Bytes bias = brought(ranks_, 0);
    if (!operation_.in_place && operation_.bit(1)) {
      part.bias = part.receive;
      part.memories[size_t(part.receive.memory)].before = bias;
    } else {
      part.bias.memory = int(part.memories.size());
      part.memories.push_back(memory(bias, bias, operation_.send_offset));
    }
  }

  // Parts in the order of the list, with gaps of up to 3 elements.
  void lay_out_messages(RankPart& part) const {
    Bytes sent, received;
    const auto add = [&](Bytes& all, const Bytes* data, size_t gap, size_t bytes) {
      all.resize(all.size() + gap * kind_.bytes, GuardedBuffer::kFill);
      const size_t at = all.size();
      if (data) all.insert(all.end(), data->begin(), data->end());
      if (!data) all.resize(at + bytes, GuardedBuffer::kFill);
      return at;
    };
    for (size_t i = 0; i < operation_.messages.size(); ++i) {
      const Message& message = operation_.messages[i];
      const uint64_t seed = mix(operation_.seed + i);
      const Bytes data = random_bytes(seed, message.count * kind_.bytes);
      const bool sends = message.from == rank_, receives = message.to == rank_;
      part.send_at.push_back(sends ? add(sent, &data, seed % 4, 0) : 0);
      part.receive_at.push_back(receives ? add(received, &data, seed / 4 % 4, 0) : 0);
    }
    part.send = {0, 0};
    part.receive = {1, 0};
    part.memories.push_back(memory(sent, sent, operation_.send_offset));
    part.memories.push_back(memory({}, std::move(received), operation_.receive_offset));
  }

  const Operation& operation_;
  const Kind& kind_;
  const int rank_, ranks_;
};

}  // namespace

std::string Operation::text() const {
  std::string text =
      fmt::format("{} of {}", kCallNames[int(call)], kind_of(type, devices_are_fnuz()).name);
  if (reduces(call))
    text += scalar == Scalar::kNone ? fmt::format(", op {}", int(op))
                                    : fmt::format(", premultiplied by a scalar on the {}",
                                                  scalar == Scalar::kHost ? "host" : "device");
  if (!has_messages(call)) text += fmt::format(", count {}", count);
  if (has_root(call)) text += fmt::format(", root {}", root);
  if (in_place) text += ", in place";
  if (schedule != 0) text += ", by a schedule";
  text += fmt::format(", offsets {} and {}, data {}", send_offset, receive_offset, seed);
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < std::min(messages.size(), kMostShown); ++i)
    text += fmt::format("{} {}>{}:{}", i == 0 ? ", messages" : "", messages[i].from, messages[i].to,
                        messages[i].count);
  return text;
}

bool devices_are_fnuz() {
  static const bool fnuz = [] {
    hipDeviceProp_t properties{};
    require_hip(hipGetDeviceProperties(&properties, 0), "hipGetDeviceProperties");
    return std::string(properties.gcnArchName).starts_with("gfx94");
  }();
  return fnuz;
}

RankPart part_of(const Operation& operation, int rank, int ranks) {
  return Model(operation, rank, ranks).part();
}

}  // namespace weft::test
