#include "transport/probe_kernel.h"

#include "device_platform.h"

namespace weft {
namespace {

constexpr unsigned kProbeThreads = 64;

// A 64-bit mix (the finaliser of splitmix64): neighbouring words have nothing in common.
WEFT_HD uint64_t probe_word(uint64_t seed, uint64_t index) {
  uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct ProbeBody {
  static constexpr const char* kName = "weft_probe";
  static constexpr size_t kWords = kProbePatternBytes / sizeof(uint64_t);

  WEFT_DEV void operator()(const platform::Block& block, const ProbeArgs& args) const {
    char* head = static_cast<char*>(args.box);
    char* tail = head + args.box_bytes - kProbePatternBytes;
    if (!args.source) return check(block, args.seed, head, tail);
    store(block, args.seed, head);
    store(block, args.seed + 1, tail);
    store(block, args.seed + 2, static_cast<char*>(args.source));
  }

  // The first half as payload is written, the second as flags are.
  WEFT_DEV static void store(const platform::Block& block, uint64_t seed, char* at) {
    auto* words = reinterpret_cast<uint64_t*>(at);
    block.each(kWords / 4, [=](size_t i) {
      const uint64_t pair[2] = {probe_word(seed, 2 * i), probe_word(seed, 2 * i + 1)};
      platform::Bytes16 bytes;
      __builtin_memcpy(&bytes, pair, sizeof bytes);
      platform::store16(words + 2 * i, bytes);
    });
    platform::release_system();
    block.each(kWords / 2, [=](size_t i) {
      platform::post64(words + kWords / 2 + i, probe_word(seed, kWords / 2 + i));
    });
  }

  // One lane: 96 words are not worth a reduction over lanes.
  WEFT_DEV static void check(const platform::Block& block, uint64_t seed, char* head, char* tail) {
    if (!block.leader()) return;
    ProbeResult result = {kProbeDone, 0, 0, 0, 0};
    compare(seed, head, 0, result);
    compare(seed + 1, tail, static_cast<uint64_t>(tail - head), result);
    compare(seed + 2, head + kProbeCopiedOffset, kProbeCopiedOffset, result);
    auto* out = reinterpret_cast<uint64_t*>(head + kProbeResultOffset);
    const uint64_t words[] = {result.done, result.wrong, result.first, result.seen, result.want};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; ++i)
      platform::post64(out + i, words[i]);
  }

  WEFT_DEV static void compare(uint64_t seed, const char* at, uint64_t offset,
                               ProbeResult& result) {
    const auto* words = reinterpret_cast<const uint64_t*>(at);
    WEFT_ROLLED
    for (uint64_t i = 0; i < kWords; ++i) {
      const uint64_t seen = platform::poll64(words + i), want = probe_word(seed, i);
      if (seen == want) continue;
      if (result.wrong++ > 0) continue;
      result.first = offset + i * sizeof(uint64_t);
      result.seen = seen;
      result.want = want;
    }
  }
};

}  // namespace

hipError_t launch_probe(const ProbeArgs& args, hipStream_t stream) {
  ProbeArgs copy = args;
  void* parameters[] = {&copy};
  return hipLaunchKernel(platform::kernel_address<ProbeBody, ProbeArgs>(), dim3(1),
                         dim3(kProbeThreads), parameters, 0, stream);
}

}  // namespace weft
