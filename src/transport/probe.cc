#include "transport/probe.h"

#include <memory>

#include "transport/probe_kernel.h"

namespace weft {
namespace {

// Far above what a working path needs (microseconds; the first launch on a device may load code for
// seconds).
constexpr std::chrono::seconds kProbeLimit{20};
constexpr const char* kStuckText = "an earlier test transfer of this device is stuck";

std::string failure_text(const char* what, hipError_t code) {
  if (code == hipSuccess) return "";
  (void)hipGetLastError();
  if (code == hipErrorNotReady)
    return fmt::format("{} did not end within {} s", what, kProbeLimit.count());
  return fmt::format("{}: {}", what, hip_text(code));
}

std::string clear(SideStream& stream, void* inbox, size_t box_bytes) {
  auto* bytes = static_cast<char*>(inbox);
  hipError_t code = hipMemsetAsync(bytes, 0, kProbeHeadBytes, stream.get());
  if (code == hipSuccess)
    code =
        hipMemsetAsync(bytes + box_bytes - kProbePatternBytes, 0, kProbePatternBytes, stream.get());
  return failure_text("clearing the box after the test transfer",
                      code != hipSuccess ? code : stream.wait(kProbeLimit));
}

}  // namespace

uint64_t probe_seed(uint64_t nonce, int from, int to) {
  return nonce ^ (uint64_t(uint32_t(from)) << 33) ^ (uint64_t(uint32_t(to)) << 3);
}

std::string probe_write(SideStream& stream, void* outbox, void* inbox, size_t box_bytes,
                        uint64_t seed) {
  if (stream.stuck()) return kStuckText;
  char* const source = static_cast<char*>(inbox) + kProbeSourceOffset;
  hipError_t code = launch_probe({outbox, source, box_bytes, seed}, stream.get());
  if (code == hipSuccess)
    code = hipMemcpyAsync(static_cast<char*>(outbox) + kProbeCopiedOffset, source,
                          kProbePatternBytes, hipMemcpyDefault, stream.get());
  return failure_text("storing the test pattern in the peer's memory",
                      code != hipSuccess ? code : stream.wait(kProbeLimit));
}

std::string probe_check(SideStream& stream, void* inbox, size_t box_bytes, uint64_t seed) {
  if (stream.stuck()) return kStuckText;
  const hipError_t launched = launch_probe({inbox, nullptr, box_bytes, seed}, stream.get());
  std::string error = failure_text("reading the test pattern of the peer",
                                   launched != hipSuccess ? launched : stream.wait(kProbeLimit));
  if (!error.empty()) return error;
  auto landing = std::make_unique<ProbeResult>();
  hipError_t code = hipMemcpyAsync(landing.get(), static_cast<char*>(inbox) + kProbeResultOffset,
                                   sizeof(ProbeResult), hipMemcpyDefault, stream.get());
  if (code == hipSuccess) code = stream.wait(kProbeLimit);
  const ProbeResult result = *landing;
  if (stream.stuck()) (void)landing.release();  // the copy may still come
  error = failure_text("copying the result of the test transfer", code);
  if (error.empty() && result.done != kProbeDone) error = "the test kernel left no result";
  if (error.empty() && result.wrong > 0) {
    error = fmt::format(
        "the test transfer arrived wrong in {} of {} words, the first at byte {}: {:#x} instead of "
        "{:#x}",
        result.wrong, 3 * kProbePatternBytes / sizeof(uint64_t), result.first, result.seen,
        result.want);
  }
  const std::string cleared = clear(stream, inbox, box_bytes);
  return error.empty() ? cleared : error;
}

}  // namespace weft
