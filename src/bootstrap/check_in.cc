// Dial, check in, wait for the verdict.
#include "bootstrap/check_in.h"

#include <poll.h>

#include "bootstrap/id_table.h"
#include "log.h"

namespace weft {
namespace {

// The root decides at the first rank's deadline; its verdict may take this long to arrive.
constexpr milliseconds kVerdictGrace{3000};
constexpr milliseconds kFarewellLimit{2000};

[[noreturn]] void fail_dial(const Meeting& meeting, const DialResult& result) {
  using Outcome = DialResult::Outcome;
  if (result.outcome == Outcome::kOtherVersion)
    fail(ncclInvalidUsage,
         "this rank speaks {}, the root of {} speaks {}: all ranks need the same library",
         version_text({kWireVersion, NCCL_VERSION_CODE}), meeting.label, version_text(result.peer));
  if (result.outcome == Outcome::kGone && meeting.minted)
    fail(ncclInvalidUsage,
         "unique id {} cannot be used: nobody listens for it any more. It has been used already (a "
         "unique id "
         "serves one init), or the process that made it has ended. Tried: {}",
         meeting.label, result.text);
  std::string own;
  for (const auto& row : list_interfaces())
    own += fmt::format("{}{} {}", own.empty() ? "" : ", ", row.name, row.address.text());
  fail(ncclSystemError, "cannot reach {} from host {}: {}. Interfaces here: {}",
       meeting.target.name, host_name(), result.text, own);
}

Verdict wait_verdict(Stream& root, const Meeting& meeting, const Wait& wait) {
  Frame frame;
  for (;;) {
    wait.check_interrupt();
    if (!root.flush())
      fail(ncclRemoteError, "lost the connection to {}: {}", meeting.target.name,
           root.error_text());
    const auto result = root.read(frame);
    if (result == Stream::Read::kEnded)
      fail(ncclRemoteError, "{} ended before all ranks had met", meeting.target.name);
    if (result == Stream::Read::kBroken)
      fail(ncclRemoteError, "lost the connection to {}: {}", meeting.target.name,
           root.error_text());
    if (result == Stream::Read::kFrame && frame.type == FrameType::kProgress)
      log_info(Subsystem::kInit, "Bootstrap: waiting, {}",
               Reader(frame.payload).text(kMaxMeetingBytes));
    if (result == Stream::Read::kFrame && frame.type == FrameType::kVerdict)
      if (auto verdict = Verdict::parse(frame.payload)) return *verdict;
    if (result == Stream::Read::kFrame) continue;
    if (wait.expired()) fail(ncclSystemError, "{} did not answer in time", meeting.target.name);
    pollfd set{root.poll_fd(), static_cast<short>(root.wants_write() ? POLLIN | POLLOUT : POLLIN),
               0};
    ::poll(&set, 1, poll_timeout_ms(wait.next_look()));
  }
}

}  // namespace

Hello hello_of(const Card& card, Purpose purpose, uint64_t comm, uint32_t target) {
  return {kWireVersion, purpose, card.library, comm, card.rank, card.nranks, target};
}

CheckedIn check_in(const Meeting& meeting, const Card& card, const Wait& wait) {
  if (const std::string outcome = id_outcome(meeting.nonce); !outcome.empty())
    fail(ncclInvalidUsage, "unique id {} cannot be used: {}", meeting.label, outcome);
  auto result = dial(meeting.target, meeting.key,
                     hello_of(card, Purpose::kCheckIn, meeting.nonce, kRootTarget), wait);
  if (result.outcome != DialResult::Outcome::kConnected) fail_dial(meeting, result);
  CheckIn message{card, 0, ncclSuccess, ""};
  message.wait_ms = static_cast<uint64_t>(std::max<int64_t>(
      0, std::chrono::duration_cast<milliseconds>(wait.deadline - Clock::now()).count()));
  result.stream.queue(FrameType::kCheckIn, message.encode());
  Wait for_verdict = wait;
  for_verdict.deadline += kVerdictGrace;
  Verdict verdict = wait_verdict(result.stream, meeting, for_verdict);
  if (verdict.code != ncclSuccess)
    throw Error(static_cast<ncclResult_t>(verdict.code), verdict.text);
  return {std::move(result.stream), std::move(verdict)};
}

void check_in_failure(const Meeting& meeting, const Card& card, const Error& error) noexcept {
  try {
    const Wait wait = Wait::within(kFarewellLimit);
    auto result = dial(meeting.target, meeting.key,
                       hello_of(card, Purpose::kCheckIn, meeting.nonce, kRootTarget), wait);
    if (result.outcome != DialResult::Outcome::kConnected) return;
    result.stream.queue(FrameType::kCheckIn, CheckIn{card, 0, error.code(), error.text()}.encode());
    wait_verdict(result.stream, meeting, wait);
  } catch (const std::exception&) {  // the error itself is what the caller reports
  }
}

}  // namespace weft
