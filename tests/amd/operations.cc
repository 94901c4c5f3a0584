#include "operations.h"

#include <algorithm>

namespace amd_test {

// Scattered, so that every pair of values meets in some order. Products take ones and twos: 2^8 is
// exact in every type they are run with.
uint64_t contribution(const Call& call, int rank, size_t index) {
  uint64_t mixed =
      (uint64_t(rank) << 32 | index) * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9;  // this and the shift before it are of splitmix64
  mixed >>= 40;
  if (call.op == ncclProd) return 1 + mixed % 2;
  return mixed % uint64_t(call.element->largest + 1);
}

// As a rank behind the last one would give it.
uint64_t bias(const Call& call, size_t index) { return contribution(call, call.ranks, index); }

int root_of(size_t count, int ranks) { return int(count % size_t(ranks)); }

namespace {

uint64_t joined(ncclRedOp_t op, uint64_t a, uint64_t b) {
  if (op == ncclProd) return a * b;
  if (op == ncclMin) return std::min(a, b);
  if (op == ncclMax) return std::max(a, b);
  return a + b;
}

uint64_t reduced(const Call& call, size_t index) {
  uint64_t value = contribution(call, 0, index);
  for (int rank = 1; rank < call.ranks; ++rank)
    value = joined(call.op, value, contribution(call, rank, index));
  return value;
}

ncclResult_t all_reduce(const Call& c) {
  return ncclAllReduce(c.input, c.output, c.count, c.element->type, c.op, c.comm, c.stream);
}

// What the output holds is the bias.
ncclResult_t all_reduce_with_bias(const Call& c) {
  return ncclAllReduceWithBias(c.input, c.output, c.count, c.element->type, c.op, c.comm, c.stream,
                               c.output);
}
uint64_t reduced_with_bias(const Call& call, size_t index) {
  return joined(call.op, reduced(call, index), bias(call, index));
}

// The sum of twice what each rank gives.
constexpr uint64_t kScalar = 2;
ncclResult_t all_reduce_of_products(const Call& c) {
  std::vector<char> scalar(c.element->bytes);
  put(*c.element, scalar, 0, kScalar, is_fnuz());
  ncclRedOp_t op{};
  ncclResult_t code = ncclRedOpCreatePreMulSum(&op, scalar.data(), c.element->type,
                                               ncclScalarHostImmediate, c.comm);
  if (code != ncclSuccess) return code;
  code = ncclAllReduce(c.input, c.output, c.count, c.element->type, op, c.comm, c.stream);
  const ncclResult_t end = ncclRedOpDestroy(op, c.comm);
  return code == ncclSuccess ? end : code;
}
uint64_t reduced_products(const Call& call, size_t index) { return kScalar * reduced(call, index); }

ncclResult_t reduce(const Call& c) {
  return ncclReduce(c.input, c.output, c.count, c.element->type, c.op, c.root, c.comm, c.stream);
}
uint64_t reduced_at_root(const Call& call, size_t index) {
  return call.rank == call.root ? reduced(call, index) : kUntouched;
}

ncclResult_t broadcast(const Call& c) {
  return ncclBroadcast(c.input, c.output, c.count, c.element->type, c.root, c.comm, c.stream);
}
uint64_t of_root(const Call& call, size_t index) { return contribution(call, call.root, index); }

ncclResult_t reduce_scatter(const Call& c) {
  return ncclReduceScatter(c.input, c.output, c.count, c.element->type, c.op, c.comm, c.stream);
}
uint64_t reduced_part(const Call& call, size_t index) {
  return reduced(call, size_t(call.rank) * call.count + index);
}

ncclResult_t all_gather(const Call& c) {
  return ncclAllGather(c.input, c.output, c.count, c.element->type, c.comm, c.stream);
}
uint64_t gathered(const Call& call, size_t index) {
  return contribution(call, int(index / call.count), index % call.count);
}

ncclResult_t all_to_all(const Call& c) {
  return ncclAllToAll(c.input, c.output, c.count, c.element->type, c.comm, c.stream);
}
uint64_t exchanged(const Call& call, size_t index) {
  return contribution(call, int(index / call.count),
                      size_t(call.rank) * call.count + index % call.count);
}

// Between two ranks that differ: less than what there is room for, or nothing.
size_t exchanged_elems(const Call& call, int from, int to) {
  const size_t less = size_t(from + 2 * to) % 3;
  return less == 2 ? 0 : call.count - std::min(call.count, less);
}
ncclResult_t all_to_all_v(const Call& c) {
  std::vector<size_t> gives, gets, places;
  for (int peer = 0; peer < c.ranks; ++peer) {
    gives.push_back(exchanged_elems(c, c.rank, peer));
    gets.push_back(exchanged_elems(c, peer, c.rank));
    places.push_back(size_t(peer) * c.count);
  }
  return ncclAllToAllv(c.input, gives.data(), places.data(), c.output, gets.data(), places.data(),
                       c.element->type, c.comm, c.stream);
}
uint64_t exchanged_parts(const Call& call, size_t index) {
  const int from = int(index / call.count);
  return index % call.count < exchanged_elems(call, from, call.rank) ? exchanged(call, index)
                                                                     : kUntouched;
}

ncclResult_t gather(const Call& c) {
  return ncclGather(c.input, c.output, c.count, c.element->type, c.root, c.comm, c.stream);
}
uint64_t gathered_at_root(const Call& call, size_t index) {
  return call.rank == call.root ? gathered(call, index) : kUntouched;
}

ncclResult_t scatter(const Call& c) {
  return ncclScatter(c.input, c.output, c.count, c.element->type, c.root, c.comm, c.stream);
}
uint64_t scattered(const Call& call, size_t index) {
  return contribution(call, call.root, size_t(call.rank) * call.count + index);
}

// To the next rank, from the one before.
ncclResult_t send_receive(const Call& c) {
  const int next = (c.rank + 1) % c.ranks, before = (c.rank + c.ranks - 1) % c.ranks;
  ncclResult_t code = ncclGroupStart();
  if (code == ncclSuccess)
    code = ncclSend(c.input, c.count, c.element->type, next, c.comm, c.stream);
  if (code == ncclSuccess)
    code = ncclRecv(c.output, c.count, c.element->type, before, c.comm, c.stream);
  const ncclResult_t end = ncclGroupEnd();
  return code == ncclSuccess ? end : code;
}
uint64_t of_rank_before(const Call& call, size_t index) {
  return contribution(call, (call.rank + call.ranks - 1) % call.ranks, index);
}

}  // namespace

// name, reduces, gives_all, gets_all, run, wanted, adds_output
const Operation kOperations[] = {
    {"all_reduce", true, false, false, all_reduce, reduced},
    {"all_reduce_with_bias", true, false, false, all_reduce_with_bias, reduced_with_bias, true},
    {"all_reduce_of_products", false, false, false, all_reduce_of_products, reduced_products},
    {"reduce", true, false, false, reduce, reduced_at_root},
    {"broadcast", false, false, false, broadcast, of_root},
    {"reduce_scatter", true, true, false, reduce_scatter, reduced_part},
    {"all_gather", false, false, true, all_gather, gathered},
    {"all_to_all", false, true, true, all_to_all, exchanged},
    {"all_to_all_v", false, true, true, all_to_all_v, exchanged_parts},
    {"gather", false, false, true, gather, gathered_at_root},
    {"scatter", false, true, false, scatter, scattered},
    {"send_receive", false, false, false, send_receive, of_rank_before},
};
const size_t kOperationCount = std::size(kOperations);

}  // namespace amd_test
