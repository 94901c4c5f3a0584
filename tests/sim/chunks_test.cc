// Chunks cover every element exactly once, whatever the count, type, channels, places and chunk
// size.
#include "algorithms/chunks.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft {
namespace {

// Also: no chunk of a loop is empty while another has two packs, and none exceeds its limit.
void expect_covered(const Chunking& c) {
  std::vector<uint8_t> seen(c.count);
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Packs share = c.share(channel);
    for (uint32_t index = 0; index < c.loops; ++index) {
      const Packs loop = c.loop(share, index);
      for (uint32_t chunk = 0; chunk < c.chunks; ++chunk) {
        const Range r = c.chunk(loop, chunk);
        ASSERT_LE(r.count, size_t(c.chunk_packs) * c.pack_elems);
        ASSERT_TRUE(r.count == 0 || r.first + r.count <= c.count);
        ASSERT_TRUE(r.count == 0 || r.first % c.pack_elems == 0);
        ASSERT_TRUE(r.count > 0 || loop.size() < c.chunks);
        for (size_t i = r.first; i < r.first + r.count; ++i) ++seen[i];
      }
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
        for (uint32_t chunks : {1u, 2u, 3u, 9u})
          expect_covered(Chunking({count, pack, channels, chunks, 4}));
  for (int i = 0; i < 300; ++i)
    expect_covered(Chunking({random() % 20000, 2u << random() % 4, 1 + uint32_t(random() % 64),
                             1 + uint32_t(random() % 64), 1 + uint32_t(random() % 40)}));
}

TEST(Chunks, CountsAboveFourGigabytes) {
  const Chunking c({(size_t(1) << 33) + 5, 16, 3, 2, 1 << 14});
  size_t total = 0;
  for (uint32_t channel = 0; channel < c.channels; ++channel) {
    const Packs share = c.share(channel);
    for (uint32_t index = 0; index < c.loops; ++index)
      for (uint32_t chunk = 0; chunk < c.chunks; ++chunk) {
        const Range r = c.chunk(c.loop(share, index), chunk);
        ASSERT_LE(r.count, size_t(16) << 14);
        ASSERT_TRUE(r.count == 0 || r.first >= total);
        total += r.count;
      }
  }
  EXPECT_EQ(total, c.count);
}

}  // namespace
}  // namespace weft
