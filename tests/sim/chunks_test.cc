// Chunks cover every element exactly once, whatever the count, type, channels, places and chunk
// size.
#include "algorithms/chunks.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft {
namespace {

void expect_covered(const Chunking& c) {
  std::vector<uint8_t> seen(c.count);
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Share share = c.share(channel);
    for (uint32_t loop = 0; loop < c.loops(share); ++loop)
      for (uint32_t chunk = 0; chunk < c.chunks; ++chunk) {
        const Range r = c.chunk(c.loop(share, loop), chunk);
        ASSERT_LE(r.count, size_t(c.chunk_packs) * c.pack_elems);
        ASSERT_LE(r.first + r.count, c.count);
        ASSERT_TRUE(r.count == 0 || r.first % c.pack_elems == 0);
        for (size_t i = r.first; i < r.first + r.count; ++i) ++seen[i];
      }
  }
  for (size_t i = 0; i < c.count; ++i)
    ASSERT_EQ(seen[i], 1) << "element " << i << " of " << c.count << ", pack " << c.pack_elems
                          << ", channels " << c.channels << ", chunks " << c.chunks
                          << ", chunk packs " << c.chunk_packs;
}

TEST(Chunks, CoverEveryElementOnce) {
  std::mt19937 random(20261129);
  std::printf("seed 20261129\n");
  for (size_t count :
       {size_t(0), size_t(1), size_t(2), size_t(15), size_t(16), size_t(17), size_t(1000)})
    for (uint32_t pack : {2u, 4u, 16u})
      for (uint32_t channels : {1u, 2u, 7u, 64u})
        for (uint32_t chunks : {1u, 2u, 3u, 9u}) expect_covered({count, pack, channels, chunks, 4});
  for (int i = 0; i < 300; ++i)
    expect_covered({random() % 20000, 2u << random() % 4, 1 + uint32_t(random() % 64),
                    1 + uint32_t(random() % 64), 1 + uint32_t(random() % 40)});
}

TEST(Chunks, CountsAboveFourGigabytes) {
  const Chunking c{(size_t(1) << 33) + 5, 16, 3, 2, 1 << 14};
  size_t total = 0;
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Share share = c.share(channel);
    const uint32_t last = c.loops(share) - 1;
    for (uint32_t loop : {0u, 1u, last})
      for (uint32_t chunk = 0; chunk < 2; ++chunk)
        ASSERT_LE(c.chunk(c.loop(share, loop), chunk).count, size_t(16) << 14);
    total += size_t(last) * 2 * 16 * (1 << 14) + c.chunk(c.loop(share, last), 0).count +
             c.chunk(c.loop(share, last), 1).count;
  }
  EXPECT_EQ(total, c.count);
}

}  // namespace
}  // namespace weft
