// Reads a schedule from the XML of MSCCL (schedule.h):
//   <algo name proto nchannels nchunksperloop ngpus coll inplace outofplace minBytes maxBytes>
//     <gpu id i_chunks o_chunks s_chunks>
//       <tb id send recv chan>
//         <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep>
// Everything that a later step relies on is checked here: numbers, ranges, that ids count from 0.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "algorithms/schedule/schedule.h"
#include "error.h"

namespace weft {
namespace {

constexpr int kMostPlaces = 64;  // check_schedule keeps sets of places in a word
constexpr int kMostBlocks = 256, kMostSteps = 1 << 16, kMostChunks = 1 << 16;

[[noreturn]] void refuse_node(const pugi::xml_node& node, const std::string& what) {
  std::string path;
  for (pugi::xml_node at = node; at && at.type() == pugi::node_element; at = at.parent()) {
    const pugi::xml_attribute id = at.attribute("id") ? at.attribute("id") : at.attribute("s");
    path = fmt::format("/{}{}{}", at.name(), id ? fmt::format(" {}", id.value()) : "", path);
  }
  fail(ncclInvalidUsage, "schedule: {}: {}", path, what);
}

template <class T>
T number(const pugi::xml_node& node, const char* name, T least, T most, T otherwise) {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return otherwise;
  const std::string_view text = attribute.value();
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    refuse_node(node,
                fmt::format("{}=\"{}\" is not a number from {} to {}", name, text, least, most));
  return value;
}

int required(const pugi::xml_node& node, const char* name, int least, int most) {
  if (!node.attribute(name)) refuse_node(node, fmt::format("{} is missing", name));
  return number<int>(node, name, least, most, 0);
}

// Which of the named `values` an attribute is.
template <class T, size_t kCount>
T one_of(const pugi::xml_node& node, const char* name,
         const std::array<std::pair<std::string_view, T>, kCount>& values) {
  const std::string_view text = node.attribute(name).value();
  std::string known;
  for (const auto& [key, value] : values) {
    if (text == key) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", key);
  }
  refuse_node(node, fmt::format("{}=\"{}\" is none of {}", name, text, known));
}

constexpr std::array<std::pair<std::string_view, ScheduleBuffer>, 3> kBuffers{
    {{"i", ScheduleBuffer::kInput},
     {"o", ScheduleBuffer::kOutput},
     {"s", ScheduleBuffer::kScratch}}};

constexpr std::array<std::pair<std::string_view, Collective>, 4> kCollectives{
    {{"allreduce", Collective::kAllReduce},
     {"allgather", Collective::kAllGather},
     {"reducescatter", Collective::kReduceScatter},
     {"alltoall", Collective::kAllToAll}}};

struct Kind {
  bool receives, reads, writes, sends, adds_to_target;
};
constexpr std::array<std::pair<std::string_view, Kind>, 9> kKinds{{
    {"s", {false, true, false, true, false}},
    {"r", {true, false, true, false, false}},
    {"rcs", {true, false, true, true, false}},
    {"rrs", {true, true, false, true, false}},
    {"rrc", {true, true, true, false, false}},
    {"rrcs", {true, true, true, true, false}},
    {"cpy", {false, true, true, false, false}},
    {"re", {false, true, true, false, true}},
    {"nop", {false, false, false, false, false}},
}};

int chunks_of(const SchedulePlace& place, ScheduleBuffer buffer) {
  if (buffer == ScheduleBuffer::kInput) return place.input_chunks;
  return buffer == ScheduleBuffer::kOutput ? place.output_chunks : place.scratch_chunks;
}

ScheduleRange range(const pugi::xml_node& node, const char* buffer, const char* offset,
                    const SchedulePlace& place, int count) {
  const ScheduleBuffer which = one_of(node, buffer, kBuffers);
  const int chunks = chunks_of(place, which);
  const int first = required(node, offset, 0, kMostChunks);
  if (first + count > chunks)
    refuse_node(node, fmt::format("{} {} and cnt {}: {} has {} chunks", offset, first, count,
                                  node.attribute(buffer).value(), chunks));
  return {which, first};
}

ScheduleStep read_step(const pugi::xml_node& node, const SchedulePlace& place,
                       const ScheduleBlock& block) {
  const Kind kind = one_of(node, "type", kKinds);
  ScheduleStep step;
  step.receives = kind.receives;
  step.reads = kind.reads;
  step.writes = kind.writes;
  step.sends = kind.sends;
  step.adds_to_target = kind.adds_to_target;
  step.after_block = number<int>(node, "depid", -1, kMostBlocks, -1);
  step.after_step = number<int>(node, "deps", -1, kMostSteps, -1);
  if ((step.after_block < 0) != (step.after_step < 0)) refuse_node(node, "depid without deps");
  if (step.reads || step.writes) step.count = required(node, "cnt", 1, kMostChunks);
  if (step.reads) step.source = range(node, "srcbuf", "srcoff", place, step.count);
  if (step.writes) step.target = range(node, "dstbuf", "dstoff", place, step.count);
  if (step.sends && block.send_to < 0) refuse_node(node, "sends, but its tb has no send");
  if (step.receives && block.receive_from < 0)
    refuse_node(node, "receives, but its tb has no recv");
  return step;
}

// The children called `name`, whose `id` must count from 0 in order.
template <class F>
void each(const pugi::xml_node& parent, const char* name, const char* id, F f) {
  int next = 0;
  for (const pugi::xml_node& node : parent.children()) {
    if (node.type() != pugi::node_element) continue;
    if (std::string_view(node.name()) != name) refuse_node(node, fmt::format("not a {}", name));
    if (required(node, id, 0, std::numeric_limits<int>::max()) != next)
      refuse_node(node, fmt::format("expected {}=\"{}\"", id, next));
    ++next;
    f(node);
  }
}

ScheduleBlock read_block(const pugi::xml_node& node, const Schedule& schedule,
                         const SchedulePlace& place, int self) {
  const int last = int(schedule.places.size()) - 1;
  ScheduleBlock block;
  block.send_to = required(node, "send", -1, last);
  block.receive_from = required(node, "recv", -1, last);
  block.channel = required(node, "chan", 0, schedule.channels - 1);
  if (block.send_to == self || block.receive_from == self)
    refuse_node(node, "talks to its own gpu");
  each(node, "step", "s", [&](const pugi::xml_node& step) {
    if (block.steps.size() == size_t(kMostSteps)) refuse_node(node, "too many steps");
    block.steps.push_back(read_step(step, place, block));
  });
  return block;
}

// Two blocks with the same flow would take each other's messages.
void check_flows(const pugi::xml_node& node, const SchedulePlace& place) {
  std::set<std::pair<int, int>> sends, receives;
  for (const ScheduleBlock& block : place.blocks) {
    if (block.send_to >= 0 && !sends.insert({block.send_to, block.channel}).second)
      refuse_node(node,
                  fmt::format("two tbs send to gpu {} on chan {}", block.send_to, block.channel));
    if (block.receive_from >= 0 && !receives.insert({block.receive_from, block.channel}).second)
      refuse_node(node, fmt::format("two tbs receive from gpu {} on chan {}", block.receive_from,
                                    block.channel));
  }
}

void check_step_order(const pugi::xml_node& node, const SchedulePlace& place) {
  for (const ScheduleBlock& block : place.blocks)
    for (const ScheduleStep& step : block.steps) {
      if (step.after_block < 0) continue;
      if (step.after_block >= int(place.blocks.size()) ||
          step.after_step >= int(place.blocks[size_t(step.after_block)].steps.size()))
        refuse_node(node, fmt::format("a step depends on step {} of tb {}, which is not there",
                                      step.after_step, step.after_block));
    }
}

void check_sizes(const pugi::xml_node& node, const Schedule& schedule, const SchedulePlace& place) {
  const auto [input, output] = buffer_shape(schedule.collective, false);
  const int segment = schedule.chunks / int(schedule.places.size());
  const auto expect = [&](const char* what, Segments shape, int chunks) {
    // A buffer that is not named: the operation is in place, and the other one is meant.
    const bool per_rank = input == Segments::kPerRank || output == Segments::kPerRank;
    const int expected = per_rank && shape == Segments::kOne ? segment : schedule.chunks;
    if (chunks != expected && (chunks != 0 || schedule.out_of_place))
      refuse_node(node, fmt::format("{} is {}, expected {}", what, chunks, expected));
  };
  expect("i_chunks", input, place.input_chunks);
  expect("o_chunks", output, place.output_chunks);
}

void read_place(const pugi::xml_node& node, Schedule& schedule, int self) {
  SchedulePlace& place = schedule.places[size_t(self)];
  place.input_chunks = required(node, "i_chunks", 0, kMostChunks);
  place.output_chunks = required(node, "o_chunks", 0, kMostChunks);
  place.scratch_chunks = required(node, "s_chunks", 0, kMostChunks);
  check_sizes(node, schedule, place);
  each(node, "tb", "id", [&](const pugi::xml_node& block) {
    if (place.blocks.size() == size_t(kMostBlocks)) refuse_node(node, "too many tbs");
    place.blocks.push_back(read_block(block, schedule, place, self));
  });
  check_flows(node, place);
  check_step_order(node, place);
}

Schedule read_head(const pugi::xml_node& algo) {
  Schedule schedule;
  schedule.name = algo.attribute("name").value();
  schedule.protocol = algo.attribute("proto").value();
  schedule.collective = one_of(algo, "coll", kCollectives);
  schedule.channels = required(algo, "nchannels", 1, kMostBlocks);
  schedule.chunks = required(algo, "nchunksperloop", 1, kMostChunks);
  schedule.in_place = number<int>(algo, "inplace", 0, 1, 1) == 1;
  schedule.out_of_place = number<int>(algo, "outofplace", 0, 1, 1) == 1;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  schedule.min_bytes = number<uint64_t>(algo, "minBytes", 0, kMost, 0);
  schedule.max_bytes = number<uint64_t>(algo, "maxBytes", 0, kMost, 0);
  schedule.places.resize(size_t(required(algo, "ngpus", 1, kMostPlaces)));
  if (!schedule.in_place && !schedule.out_of_place)
    refuse_node(algo, "neither inplace nor outofplace");
  const bool segments = schedule.collective != Collective::kAllReduce;
  if (segments && schedule.chunks % int(schedule.places.size()) != 0)
    refuse_node(algo, "nchunksperloop is not a multiple of ngpus");
  return schedule;
}

}  // namespace

Schedule read_schedule(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed)
    fail(ncclInvalidUsage, "schedule: not XML: {}, at byte {}", parsed.description(),
         parsed.offset);
  const pugi::xml_node algo = document.child("algo");
  if (!algo) fail(ncclInvalidUsage, "schedule: there is no <algo>");
  Schedule schedule = read_head(algo);
  int self = 0;
  each(algo, "gpu", "id", [&](const pugi::xml_node& node) {
    if (self == int(schedule.places.size())) refuse_node(node, "one more than ngpus says");
    read_place(node, schedule, self++);
  });
  if (self != int(schedule.places.size()))
    refuse_node(algo, fmt::format("ngpus is {}, but there are {}", schedule.places.size(), self));
  return schedule;
}

}  // namespace weft
