// Fits and the text of the table. See cost_fit.h.
#include "cost_fit.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::perf {
namespace {

// The first wire's small calls stand for all: it is the one that takes many of them.
double block_us_of(const CostSamples& samples) {
  return samples.wires.empty() ? 0 : fit_block_us(samples.wires.front().by_blocks);
}

std::string wire_text(const WireSamples& wire, double launch_us) {
  std::vector<BlockSamples> sorted = wire.by_blocks;
  std::sort(sorted.begin(), sorted.end(),
            [](const BlockSamples& a, const BlockSamples& b) { return a.blocks < b.blocks; });
  std::string points;
  for (const BlockSamples& each : sorted)
    points +=
        fmt::format("{}{}:{:.6g}", points.empty() ? "" : ",", each.blocks, bytes_per_us(each));
  // Of nothing but noise no figure is better than this one: left out, it stays as built in.
  const double hop_us = fit_hop_us(launch_us, wire.hops);
  const std::string hop = hop_us > 0 ? fmt::format("{}.hop_us={:.4f}\n", wire.name, hop_us)
                                     : fmt::format("# {}: no hop was seen\n", wire.name);
  return hop + fmt::format("{}.bytes_per_us={}\n", wire.name, points);
}

}  // namespace

double fit_hop_us(double launch_us, const std::vector<HopSample>& samples) {
  double products = 0, squares = 0;
  for (const HopSample& sample : samples) {
    products += sample.hops * (sample.us - launch_us);
    squares += double(sample.hops) * sample.hops;
  }
  return products / squares;
}

double fit_block_us(const std::vector<BlockSamples>& samples) {
  double blocks = 0, us = 0;
  for (const BlockSamples& each : samples) {
    blocks += each.blocks / double(samples.size());
    us += each.small_us / double(samples.size());
  }
  double products = 0, squares = 0;
  for (const BlockSamples& each : samples) {
    products += (each.blocks - blocks) * (each.small_us - us);
    squares += (each.blocks - blocks) * (each.blocks - blocks);
  }
  return squares > 0 ? std::max(products / squares, 0.0) : 0;
}

double bytes_per_us(const BlockSamples& samples) {
  const BlockSamples::Sample &a = samples.shorter, &b = samples.longer;
  return b.us > a.us && b.bytes > a.bytes ? (b.bytes - a.bytes) / (b.us - a.us) : b.bytes / b.us;
}

uint64_t crossing_bytes(const std::vector<CrossingSample>& samples) {
  uint64_t from = 0;
  for (auto sample = samples.rbegin(); sample != samples.rend(); ++sample) {
    if (sample->direct_us >= sample->copied_us) break;
    from = sample->bytes;
  }
  return from;
}

std::string cost_table_text(const CostSamples& samples, const std::string& comment,
                            const std::string& device, int ranks) {
  std::string text =
      fmt::format("# {}\nformat=1\ndevice={}\nranks={}\nlaunch_us={:.4f}\nblock_us={:.5f}\n",
                  comment, device, ranks, samples.launch_us, block_us_of(samples));
  for (const WireSamples& wire : samples.wires) text += wire_text(wire, samples.launch_us);
  if (!samples.crossing.empty())
    text += fmt::format("zero_copy.from_bytes={}\n", crossing_bytes(samples.crossing));
  return text;
}

}  // namespace weft::perf
