// What times of calls say about a machine: launch, hop, block, bandwidth by blocks, and from which
// size going without copies pays. Owns: the fits and the text of the cost table (docs/tuning.md).
// Does not own: the times (calibrate.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::perf {

// A call of so few bytes that hops are all it costs beside its launch.
struct HopSample {
  int hops;  // messages that follow one another
  double us;
};

// Calls over one protocol, with a fixed number of blocks.
struct BlockSamples {
  struct Sample {
    double bytes;  // of one rank to all others
    double us;
  };
  int blocks;
  double small_us;  // a few bytes for each block
  Sample shorter, longer;
};

struct WireSamples {
  std::string name;  // as in the table: "ll"
  std::vector<HopSample> hops;
  std::vector<BlockSamples> by_blocks;
};

// The same call with copies and without.
struct CrossingSample {
  uint64_t bytes;
  double copied_us, direct_us;
};

struct CostSamples {
  double launch_us = 0;  // a call of no bytes
  std::vector<WireSamples> wires;
  std::vector<CrossingSample> crossing;  // by rising size; empty: not measured
};

// Least squares on a line through the launch; not above 0: noise. At least one sample.
double fit_hop_us(double launch_us, const std::vector<HopSample>& samples);
// What a block more adds to a small call, never below 0; by least squares. 0 of fewer than two.
double fit_block_us(const std::vector<BlockSamples>& samples);
// From the shorter to the longer call; of the longer alone where noise made that the faster one.
double bytes_per_us(const BlockSamples& samples);
// The smallest size from which all are faster without copies; 0: none.
uint64_t crossing_bytes(const std::vector<CrossingSample>& samples);

// The file. `comment` is one line.
std::string cost_table_text(const CostSamples& samples, const std::string& comment,
                            const std::string& device, int ranks);

}  // namespace weft::perf
