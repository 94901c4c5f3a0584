// Sizes of boxes and launches (geometry.h).
#include "geometry.h"

#include <algorithm>

#include "device/work.h"
#include "launch_shape.h"

namespace weft {
namespace {

// All boxes of a rank together: the design allows 16 MiB a rank for 8 ranks of a node. Two ranks
// have one box and take four times that, which the longer slices are worth: on two H200, 64
// channels, 512 MiB, 16 MiB of slots for Simple gave 243 GB/s and 32 MiB gave 303
// (docs/performance.md).
constexpr uint64_t box_bytes_of_rank(int peers) { return uint64_t(peers > 1 ? 16 : 64) << 20; }
constexpr uint32_t kSlots =
    4;  // a chunk of two slices in flight, one behind it (docs/decisions/0002)
constexpr uint32_t kMinSliceBytes = 2 << 10;
// A slice costs a fence and a flag each way, some microseconds: rather fewer channels than shorter
// slices, down to a few.
constexpr uint32_t kGoodSliceBytes = 32 << 10;
constexpr uint32_t kFewChannels = 8;
// LL carries small operations; a slot of lines holds half its bytes.
constexpr uint32_t kMaxLineSlotBytes = 32 << 10;

// What a region gets of a box, in sixteenths; Simple takes the rest.
constexpr uint64_t share_of_box(Region region, uint64_t box) {
  constexpr uint64_t kSixteenths[kRegionCount] = {6, 3, 1, 1, 1, 3, 1};
  return box / 16 * kSixteenths[int(region)];
}
constexpr uint32_t slots_of(Region region) { return is_exchange(region) ? 2 : kSlots; }
constexpr uint32_t largest_slot(Region region) {
  return has_ll_lines(region) ? kMaxLineSlotBytes : platform::kMaxSliceBytes;
}

// Slots that fill `bytes` together with their words, at least the shortest ones.
Fifo make_fifo(Region region, uint32_t channels, uint64_t bytes, uint32_t largest) {
  Fifo fifo{0, slots_of(region), 0};
  const uint64_t words = fifo.bytes(channels);
  const uint64_t slot = (bytes > words ? bytes - words : 0) / (uint64_t(channels) * fifo.slots);
  fifo.slot_bytes = uint32_t(std::clamp<uint64_t>(slot / kLineBytes * kLineBytes, kMinSliceBytes,
                                                  largest / kLineBytes * kLineBytes));
  return fifo;
}
Fifo make_fifo(Region region, uint32_t channels, uint64_t bytes) {
  return make_fifo(region, channels, bytes, largest_slot(region));
}

}  // namespace

Limits make_limits(const Config& config, int config_min_ctas, int config_max_ctas,
                   int compute_units) {
  // The environment overrides the configuration of the call, as in RCCL.
  const auto chosen = [](std::optional<int> channels, std::optional<int> ctas, int asked,
                         uint32_t standard) {
    if (channels) return uint32_t(*channels);
    if (ctas) return uint32_t(*ctas);
    return asked > 0 ? uint32_t(asked) : standard;
  };
  // Every block of a launch must be resident, or ranks would wait for blocks that cannot start.
  const uint32_t most = std::min(kMaxChannels, uint32_t(std::max(compute_units, 1)));
  Limits limits;
  limits.min_channels =
      std::clamp(chosen(config.min_channels, config.min_ctas, config_min_ctas, 1), 1u, most);
  limits.max_channels = std::clamp(
      chosen(config.max_channels, config.max_ctas, config_max_ctas, platform::kDefaultChannels), 1u,
      most);
  limits.max_channels = std::max(limits.max_channels, limits.min_channels);
  limits.threads = std::min(uint32_t(config.threads.value_or(int(platform::kDefaultThreads))),
                            platform::kMaxThreads);
  limits.buffer_bytes = uint64_t(config.buffer_bytes.value_or(0));
  limits.resident = most;
  return limits;
}

void share_device(Limits& limits, int ranks_on_device) {
  if (ranks_on_device <= 1) return;
  const uint32_t part = std::max(limits.resident / uint32_t(ranks_on_device), 1u);
  limits.max_channels = std::min(limits.max_channels, part);
  limits.min_channels = std::min(limits.min_channels, part);
}

Geometry agree_geometry(const std::vector<Limits>& limits, int peers) {
  Limits all = limits.front();
  for (const Limits& rank : limits) {
    all.min_channels = std::max(all.min_channels, rank.min_channels);
    all.max_channels = std::min(all.max_channels, rank.max_channels);
    all.threads = std::min(all.threads, rank.threads);
    all.buffer_bytes = std::max(all.buffer_bytes, rank.buffer_bytes);
    all.line_messages = all.line_messages && rank.line_messages;
  }
  const uint64_t box = box_bytes_of_rank(peers) / uint64_t(std::max(peers, 1));
  const uint64_t simple =
      all.buffer_bytes > 0 ? all.buffer_bytes : share_of_box(Region::kSimple, box);
  const uint64_t roomy = std::max<uint64_t>(simple / (kSlots * kGoodSliceBytes), kFewChannels);
  const auto channels =
      uint32_t(std::max<uint64_t>(all.min_channels, std::min<uint64_t>(all.max_channels, roomy)));
  Geometry geometry;
  geometry.box.channels = channels;
  // Simple takes what the others leave; of the user's number, which is of its slots alone, all.
  uint64_t others = kLineBytes;  // the header
  for (int r = 1; r < kRegionCount; ++r) {
    geometry.box.fifo[r] = make_fifo(Region(r), channels, share_of_box(Region(r), box));
    others += geometry.box.fifo[r].bytes(channels);
  }
  geometry.box.fifo[0] =
      all.buffer_bytes > 0
          ? make_fifo(Region::kSimple, channels, all.buffer_bytes + channels * Fifo::kControlBytes,
                      UINT32_MAX)
          : make_fifo(Region::kSimple, channels, box > others ? box - others : 0);
  uint64_t offset = kLineBytes;
  for (Fifo& fifo : geometry.box.fifo) {
    fifo.offset = offset;
    offset += fifo.bytes(channels);
  }
  geometry.min_channels = all.min_channels;
  geometry.threads = all.threads;
  geometry.line_messages = all.line_messages;
  return geometry;
}

}  // namespace weft
