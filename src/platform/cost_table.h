// What operations cost on a machine, for the choice among algorithms (algorithms/select.h) and of
// the number of blocks. Owns: the shape of the table and what follows from it. Does not own: the
// figures; every platform has its own in launch_shape.h, a file brings others
// (algorithms/cost_table.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::platform {

// Bytes a microsecond, by the number of blocks that move them.
class BlockCurve {
 public:
  struct Point {
    uint32_t blocks;
    double bytes_per_us;
  };
  static constexpr int kMostPoints = 16;

  // The same whatever the number of blocks.
  constexpr BlockCurve(double bytes_per_us) : count_(1), points_{{1, bytes_per_us}} {}
  // At least one point, at most kMostPoints, in the order of blocks.
  constexpr BlockCurve(const Point* points, int count) : count_(count), points_{} {
    std::copy(points, points + count, points_);
  }

  constexpr bool depends_on_blocks() const { return count_ > 1; }

  // Between points as on a line, before the first as through nothing, behind the last as there.
  constexpr double at(uint32_t blocks) const {
    if (!depends_on_blocks() || blocks >= points_[count_ - 1].blocks)
      return points_[count_ - 1].bytes_per_us;
    Point low{0, 0}, high = points_[0];
    for (int i = 1; high.blocks < blocks; ++i) {
      low = high;
      high = points_[i];
    }
    const double part = double(blocks - low.blocks) / double(high.blocks - low.blocks);
    return low.bytes_per_us + part * (high.bytes_per_us - low.bytes_per_us);
  }

 private:
  int count_;
  Point points_[kMostPoints];
};

// Of a way to move bytes: one hop, and bytes of one rank to all others together.
struct WireCost {
  double hop_us;
  BlockCurve bytes_per_us;
};

struct CostTable {
  double launch_us;  // a pipelined launch; one a group
  WireCost ll, ll128, simple, zero_copy;
  size_t zero_copy_bytes;  // from so many on (device/simple.h), 0: never
  double block_us = 0;     // one more block
  uint32_t least_blocks = 1, most_blocks = 1024;

  struct Estimate {
    double us;
    uint32_t blocks;  // that take so long; 0: the table does not know it by blocks
  };
  // The number of blocks that is done first, to a quarter.
  constexpr Estimate estimate(const WireCost& wire, double hops, double bytes) const {
    const double start_us = hops * wire.hop_us;
    if (!wire.bytes_per_us.depends_on_blocks())
      return {start_us + bytes / wire.bytes_per_us.at(most_blocks), 0};
    Estimate best{0, 0};
    for (uint32_t blocks = least_blocks; blocks <= most_blocks;) {
      const double us = start_us + (blocks - 1) * block_us + bytes / wire.bytes_per_us.at(blocks);
      if (best.blocks == 0 || us < best.us) best = {us, blocks};
      if (blocks == most_blocks) break;
      blocks = std::min(blocks + std::max(blocks / 4, 1u), most_blocks);
    }
    return best;
  }
};

}  // namespace weft::platform
