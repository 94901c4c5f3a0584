// The sizes of a communicator that all ranks must agree on: channels, threads, boxes. Pure
// functions of gathered data.
#pragma once

#include <cstdint>
#include <vector>

#include "config.h"
#include "device/box.h"

namespace weft {

// What one rank asks for; gathered from all.
struct Limits {
  uint32_t min_channels = 1, max_channels = 1;
  uint32_t threads = 1;
  uint64_t buffer_bytes = 0;  // of the FIFOs with one peer; 0: the library decides
  uint32_t resident = 0;      // blocks that its device surely runs at once
  bool line_messages = true;  // short messages may go by LL
};

struct Geometry {
  BoxLayout box{};
  uint32_t min_channels = 1;  // of an operation; at most box.channels
  uint32_t threads = 1;
  bool line_messages = true;  // short messages go by LL
};

// From the settings, the user's ncclConfig_t (0: not said) and the device.
Limits make_limits(const Config& config, int config_min_ctas, int config_max_ctas,
                   int compute_units);

// All blocks of the ranks that share a device must run at once: each gets its part of them.
void share_device(Limits& limits, int ranks_on_device);

// `peers`: the most peers that a rank has on its host.
Geometry agree_geometry(const std::vector<Limits>& limits, int peers);

}  // namespace weft
