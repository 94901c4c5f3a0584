// Zero-copy patterns for 2 to 64 places and every root: every output chunk is written once, with
// the right contributions; and, with outputs in the place of inputs, nothing is read that another
// place may have written already, since no place waits for another one between its steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "algorithms/pattern.h"
#include "algorithms/program.h"

namespace weft {
namespace {

// One place's access to a chunk of another's, or its own, buffer.
struct Access {
  int who, owner, chunk;
};

struct Trace {
  std::vector<Access> reads, writes;                // of inputs, of outputs
  std::map<std::pair<int, int>, Expected> outputs;  // by place and chunk
  std::map<std::pair<int, int>, int> times_written;
};

std::vector<int> listed(const Peers& peers, int self, int n) {
  std::vector<int> all;
  for (int i = 0; i < peers.candidates(n); ++i)
    if (peers.at(i, self) >= 0) all.push_back(peers.at(i, self));
  return all;
}

void write(Trace& trace, const Access& to, const Expected& value) {
  trace.writes.push_back(to);
  trace.outputs[{to.owner, to.chunk}] = value;
  ++trace.times_written[{to.owner, to.chunk}];
}

// A chunk of the own input to a chunk of each peer's output, which may have but one: its owner's.
void add_step_by_peer(Trace& trace, const Step& step, Collective collective, int place, int n) {
  const bool many = buffer_shape(collective, true).output == Segments::kPerRank;
  for (int peer = 0; peer < n; ++peer) {
    if (peer == place && !step.write_output) continue;
    trace.reads.push_back({place, place, peer});
    write(trace, {place, peer, many ? place : peer}, {uint64_t(1) << place, peer});
  }
}

void add_step(Trace& trace, const Step& step, Collective collective, int place, int n) {
  if (step.by_peer) return add_step_by_peer(trace, step, collective, place, n);
  Expected value{0, step.chunk};
  const auto read = [&](int owner) {
    trace.reads.push_back({place, owner, step.chunk});
    value.contributions |= uint64_t(1) << owner;
  };
  if (step.read_input) read(place);
  for (const int peer : listed(step.recv, place, n)) read(peer);
  if (value.contributions == 0) return;
  if (step.write_output) write(trace, {place, place, step.chunk}, value);
  for (const int peer : listed(step.send, place, n)) write(trace, {place, peer, step.chunk}, value);
}

Trace trace_of(Collective collective, int n, int root) {
  Trace trace;
  for (int place = 0; place < n; ++place)
    for (int hop = 0; hop < mapped_hops(collective, n); ++hop)
      add_step(trace, mapped_step(collective, {place, n, root}, hop), collective, place, n);
  return trace;
}

// The segments of an all-gather's inputs, a reduce-scatter's outputs and so on are one chunk each,
// whatever its number, and lie in the other buffer at the place of their owner.
int in_one_buffer(Segments segments, const Access& access) {
  return segments == Segments::kPerRank ? access.chunk : access.owner;
}

bool cuts(Collective collective) {  // one segment each, cut into chunks
  const BufferShape shape = buffer_shape(collective, true);
  return shape.input != Segments::kPerRank && shape.output != Segments::kPerRank;
}

bool is_own_copy(const Trace& trace, const Access& written) {
  const Expected& value = trace.outputs.at({written.owner, written.chunk});
  return written.who == written.owner && value.contributions == uint64_t(1) << written.owner;
}

void check_in_place(Collective collective, const Trace& trace) {
  const BufferShape shape = buffer_shape(collective, true);
  for (const Access& read : trace.reads)
    for (const Access& written : trace.writes) {
      if (read.who == written.who || read.owner != written.owner) continue;
      if (is_own_copy(trace, written)) continue;  // in place there is nothing to do
      const int from = cuts(collective) ? read.chunk : in_one_buffer(shape.input, read);
      const int to = cuts(collective) ? written.chunk : in_one_buffer(shape.output, written);
      ASSERT_NE(from, to) << "place " << read.who << " reads chunk " << from << " of place "
                          << read.owner << ", which place " << written.who << " writes";
    }
}

void check(Collective collective, int n, int root) {
  SCOPED_TRACE(std::string(collective_name(collective)) + ", " + std::to_string(n) +
               " places, root " + std::to_string(root));
  const Trace trace = trace_of(collective, n, root);
  for (int place = 0; place < n; ++place)
    for (int chunk = 0; chunk < n; ++chunk) {
      const Expected expected = expected_output(collective, {place, n, root}, chunk);
      const auto found = trace.outputs.find({place, chunk});
      ASSERT_EQ(found != trace.outputs.end(), expected.contributions != 0) << place << " " << chunk;
      if (found == trace.outputs.end()) continue;
      ASSERT_EQ(found->second.contributions, expected.contributions) << place << " " << chunk;
      ASSERT_EQ(trace.times_written.at({place, chunk}), 1) << place << " " << chunk;
    }
  const bool bare = n > 16;  // the pairs of accesses are many
  if (mapped_in_place(collective) && !bare) check_in_place(collective, trace);
}

TEST(MappedPatterns, AreRightForEveryCountAndRoot) {
  for (int n = 2; n <= 64; ++n)
    for (int c = 0; c < kCollectiveCount; ++c)
      for (int root = 0; root<(is_rooted(Collective(c)) ? n : 1); root += n> 16 ? 7 : 1)
        if (!is_pairwise(Collective(c))) check(Collective(c), n, root);
}

TEST(MappedPatterns, AnAllToAllInPlaceWouldReadWhatWasWritten) {
  const Trace trace = trace_of(Collective::kAllToAll, 3, 0);
  bool clash = false;
  for (const Access& read : trace.reads)
    for (const Access& written : trace.writes)
      clash |=
          read.who != written.who && read.owner == written.owner && read.chunk == written.chunk;
  EXPECT_TRUE(clash);
}

TEST(MappedPatterns, SayWhichBuffersOthersTouch) {
  for (int n = 2; n <= 9; ++n)
    for (int c = 0; c < kCollectiveCount; ++c)
      for (int root = 0; root < n && !is_pairwise(Collective(c)); ++root) {
        const Trace trace = trace_of(Collective(c), n, root);
        for (int place = 0; place < n; ++place) {
          const Touched touched = touched_by_others(Collective(c), {place, n, root});
          const auto by_other = [&](const Access& a) { return a.owner == place && a.who != place; };
          EXPECT_EQ(touched.input, std::ranges::any_of(trace.reads, by_other));
          EXPECT_EQ(touched.output, std::ranges::any_of(trace.writes, by_other));
        }
      }
}

}  // namespace
}  // namespace weft
