// Faults in words (fault_text.h).
#include "fault_text.h"

#include <fmt/format.h>

#include "device/flag.h"

namespace weft {
namespace {

bool is_of_message(const Fault& fault) {
  return fault.wait == Fault::kMessage || fault.wait == Fault::kMessageRoom;
}

std::string awaited(const Fault& fault) {
  switch (fault.wait) {
    case Fault::kData:
      return fmt::format("data of rank {}", fault.rank);
    case Fault::kCredit:
      return fmt::format("room at rank {}", fault.rank);
    case Fault::kMessage:
      return fmt::format("a message of rank {}", fault.rank);
    case Fault::kMessageRoom:
      return fmt::format("room for a message at rank {}", fault.rank);
    default:
      return "its own earlier kernel";
  }
}

std::string what_happened(const Fault& fault) {
  const uint32_t expected = flag_signature(fault.expected), seen = flag_signature(fault.seen);
  switch (fault.kind) {
    case Fault::kMismatch:
      if (is_of_message(fault))
        return fmt::format(
            ", which sends another one (signature {:08x}, here {:08x}): sizes and types of a send "
            "and its receive must be equal",
            seen, expected);
      return fmt::format(
          ", which is in another call (signature {:08x}, here {:08x}): all ranks must make the "
          "same "
          "calls in the same order",
          seen, expected);
    case Fault::kPeerWentOn:
      return fmt::format(
          ", which has gone on to operation {} without it: all ranks must make the same calls in "
          "the same order",
          flag_counter(fault.seen) - 1);
    default:
      return fmt::format("{} (expected {}, seen {})",
                         fault.kind == Fault::kDeadline ? " longer than WEFT_TIMEOUT allows"
                                                        : " when it was aborted",
                         flag_counter(fault.expected), flag_counter(fault.seen));
  }
}

}  // namespace

std::string describe_fault(int rank, const Fault& fault, const Request& request) {
  const std::string operation =
      is_of_message(fault) ? "a group of messages"
                           : fmt::format("operation {} ({})", fault.sequence, describe(request));
  return fmt::format("rank {}, {}, channel {}: waited for {}{}", rank, operation, fault.channel,
                     awaited(fault), what_happened(fault));
}

}  // namespace weft
