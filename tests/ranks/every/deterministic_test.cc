// WEFT_DETERMINISTIC: the bits of a reduction are those of one fold in the order of ranks, whatever
// the call, the number of elements, the algorithm, the protocol, the channels and the grid.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>

#include "../../support/expect_error.h"
#include "../../support/local_ranks.h"
#include "../../support/reduction_model.h"
#include "../../unit/scoped_log.h"

namespace weft::test {
namespace {

constexpr int kSummingRanks = 5;

// Of magnitudes so unlike that nearly every order of adding gives other bits.
float value(int rank, size_t i) {
  const uint64_t random = mix(uint64_t(rank) << 40 | i);
  return std::ldexp(float(random >> 40) - float(1 << 23), int(random % 24) - 30);
}

// A type by how it is stored; elements are added as float.
struct Float32 {
  static constexpr ncclDataType_t kType = ncclFloat32;
  using Storage = uint32_t;
  static Storage store(float x) { return std::bit_cast<uint32_t>(x); }
  static float load(Storage x) { return std::bit_cast<float>(x); }
};
struct Bfloat16 {
  static constexpr ncclDataType_t kType = ncclBfloat16;
  using Storage = uint16_t;
  static Storage store(float x) {  // to nearest, ties to even
    const auto bits = std::bit_cast<uint32_t>(x);
    return Storage((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static float load(Storage x) { return std::bit_cast<float>(uint32_t(x) << 16); }
};

template <class Type>
typename Type::Storage input_element(int rank, size_t i) {
  return Type::store(value(rank, i));
}
template <class Type>
typename Type::Storage one_fold(size_t i) {
  float sum = Type::load(input_element<Type>(0, i));
  for (int rank = 1; rank < kSummingRanks; ++rank) sum += Type::load(input_element<Type>(rank, i));
  return Type::store(sum);
}

enum class Reduction { kAllReduce, kReduce, kReduceScatter };

// In place, of `count` elements in all, a multiple of the ranks.
void issue(Reduction kind, char* data, size_t count, ncclDataType_t type, const LocalRanks& ranks,
           int rank) {
  const ncclComm_t comm = ranks.comm(rank);
  const hipStream_t stream = ranks.stream(rank);
  const size_t part = count / kSummingRanks, element = type == ncclFloat32 ? 4 : 2;
  switch (kind) {
    case Reduction::kAllReduce:
      return require_ok(ncclAllReduce(data, data, count, type, ncclSum, comm, stream), "AllReduce");
    case Reduction::kReduce:
      return require_ok(ncclReduce(data, data, count, type, ncclSum, 0, comm, stream), "Reduce");
    case Reduction::kReduceScatter:
      return require_ok(ncclReduceScatter(data, data + size_t(rank) * part * element, part, type,
                                          ncclSum, comm, stream),
                        "ReduceScatter");
  }
}

// Which elements hold the result at a rank.
struct Span {
  size_t first, end;
};
Span result_of(Reduction kind, size_t count, int rank) {
  const size_t part = count / kSummingRanks;
  if (kind == Reduction::kReduceScatter) return {size_t(rank) * part, size_t(rank + 1) * part};
  return {0, kind == Reduction::kReduce && rank != 0 ? 0 : count};
}

template <class Type>
std::vector<char> input(int rank, size_t count) {
  using Storage = typename Type::Storage;
  std::vector<char> bytes(count * sizeof(Storage));
  for (size_t i = 0; i < count; ++i) {
    const Storage x = input_element<Type>(rank, i);
    std::memcpy(&bytes[i * sizeof(Storage)], &x, sizeof(Storage));
  }
  return bytes;
}

// How many elements of the result are not those of one fold.
template <class Type>
size_t others(const GuardedBuffer& buffer, Span span) {
  using Storage = typename Type::Storage;
  const std::vector<char> all = buffer.read();
  size_t found = 0;
  for (size_t i = span.first; i < span.end; ++i) {
    Storage x;
    std::memcpy(&x, &all[GuardedBuffer::kGuard + i * sizeof(Storage)], sizeof(Storage));
    found += x != one_fold<Type>(i);
  }
  return found;
}

template <class Type>
size_t reduce(const LocalRanks& ranks, Reduction kind, size_t count) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < kSummingRanks; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    const std::vector<char> bytes = input<Type>(rank, count);
    buffers.push_back(std::make_unique<GuardedBuffer>(bytes.size(), 0));
    buffers.back()->write(bytes);
    issue(kind, static_cast<char*>(buffers.back()->data()), count, Type::kType, ranks, rank);
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  ranks.synchronize();
  size_t found = 0;
  for (int rank = 0; rank < kSummingRanks; ++rank)
    found += others<Type>(*buffers[size_t(rank)], result_of(kind, count, rank));
  return found;
}

// Every call in several sizes: each is a part of the next one.
void expect_one_fold() {
  const LocalRanks ranks(kSummingRanks);
  for (const Reduction kind :
       {Reduction::kAllReduce, Reduction::kReduce, Reduction::kReduceScatter})
    for (const size_t part : {1, 7, 803, 20'011}) {
      SCOPED_TRACE(testing::Message() << "kind " << int(kind) << ", " << part * kSummingRanks);
      EXPECT_EQ(reduce<Float32>(ranks, kind, part * kSummingRanks), 0u);
      EXPECT_EQ(reduce<Bfloat16>(ranks, kind, part * kSummingRanks), 0u);
    }
}

TEST(Deterministic, BitsDependOnTheInputsAlone) {
  const ScopedEnv on("WEFT_DETERMINISTIC", "1");
  expect_one_fold();
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"NCCL_ALGO", "Direct"},
                                                                  {"NCCL_ALGO", "^Ring"},
                                                                  {"NCCL_ALGO", "Tree,Direct"},
                                                                  {"NCCL_PROTO", "LL"},
                                                                  {"NCCL_PROTO", "LL128"},
                                                                  {"NCCL_PROTO", "Simple"},
                                                                  {"NCCL_MAX_NCHANNELS", "1"},
                                                                  {"NCCL_MIN_NCHANNELS", "7"},
                                                                  {"WEFT_RANDOM_GRID", "11"}}) {
    SCOPED_TRACE(testing::Message() << name << "=" << text);
    const ScopedEnv env(name, text);
    expect_one_fold();
  }
}

// That these inputs show an order: the same without the setting.
TEST(Deterministic, RingAndTreeGiveOtherBits) {
  for (const char* algo : {"Ring", "Tree"}) {
    const ScopedEnv env("NCCL_ALGO", algo);
    const LocalRanks ranks(kSummingRanks);
    constexpr size_t kCount = 803 * kSummingRanks;
    EXPECT_GT(reduce<Float32>(ranks, Reduction::kAllReduce, kCount), kCount / 2) << algo;
    EXPECT_GT(reduce<Bfloat16>(ranks, Reduction::kAllReduce, kCount), kCount / 2) << algo;
  }
}

TEST(Deterministic, WhatFoldsInAnotherOrderIsRefused) {
  const ScopedEnv on("WEFT_DETERMINISTIC", "1");
  for (const char* algo : {"Ring", "Tree,Ring", "^Direct", "allreduce:Direct;reducescatter:PAT"}) {
    SCOPED_TRACE(algo);
    const ScopedEnv env("NCCL_ALGO", algo);
    ncclComm_t comms[2] = {};
    expect_error(ncclCommInitAll(comms, 2, nullptr), ncclInvalidUsage,
                 {"WEFT_DETERMINISTIC", "NCCL_ALGO", "Direct"});
    EXPECT_EQ(comms[0], nullptr);
  }
}

}  // namespace
}  // namespace weft::test
