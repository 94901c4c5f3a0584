// What operations cost on a machine, for the choice among algorithms (algorithms/select.h). Owns:
// the shape of the table. Does not own: the figures; every platform has its own in launch_shape.h.
#pragma once

namespace weft::platform {

// Of a way to move bytes: one hop, and bytes of one rank to all others together.
struct WireCost {
  double hop_us, bytes_per_us;

  constexpr double us(double hops, double bytes) const {
    return hops * hop_us + bytes / bytes_per_us;
  }
};

struct CostTable {
  double launch_us;  // a pipelined launch; one a group
  WireCost ll, ll128, simple, zero_copy;
};

}  // namespace weft::platform
