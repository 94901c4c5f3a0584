// What is laid out inside a box, the memory one rank writes in another rank's device
// (transport/links.h). Pure arithmetic.
//
// The inbox that rank r has for peer p holds the flow p -> r: the header p stores at the start of
// each operation, and per channel a FIFO of `slots` slots with one ready flag each. It also holds
// the credits of the opposite flow r -> p, since every word is polled where it is local: r polls
// them here, p writes them.
//
//   header | channel 0: flags line, credit line | channel 1 ... | channel 0: slot 0, slot 1, ... |
//   channel 1 ...
//
// Words polled by one side never share a 128-byte line with words polled or written by the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_platform.h"

namespace weft {

inline constexpr size_t kLineBytes = 128;
inline constexpr uint32_t kMaxSlots = 8;  // flags of a channel fill half a line

// First line of a box: what the peer is doing now (invariant 4).
struct BoxHeader {
  uint64_t call;  // sequence32 | signature32
  uint64_t wire_version;
};

struct BoxLayout {
  uint32_t channels;
  uint32_t slots;
  uint32_t slice_bytes;  // of a slot; a multiple of kLineBytes

  static constexpr size_t kControlBytes = 2 * kLineBytes;  // of a channel

  WEFT_HD constexpr size_t bytes() const { return data(channels); }

  WEFT_HD BoxHeader* header(void* box) const { return static_cast<BoxHeader*>(box); }
  // slots words, each counter32 | signature32, written by the sender.
  WEFT_HD uint64_t* ready(void* box, uint32_t channel) const {
    return word(box, kLineBytes + channel * kControlBytes);
  }
  // The number of slices the receiver has taken, in the upper half; written by the receiver of the
  // opposite flow.
  WEFT_HD uint64_t* credit(void* box, uint32_t channel) const {
    return word(box, kLineBytes + channel * kControlBytes + kLineBytes);
  }
  WEFT_HD char* slot(void* box, uint32_t channel, uint32_t index) const {
    return static_cast<char*>(box) + data(channel) + size_t(index) * slice_bytes;
  }

 private:
  WEFT_HD constexpr size_t data(uint32_t channel) const {
    return kLineBytes + channels * kControlBytes + size_t(channel) * slots * slice_bytes;
  }
  WEFT_HD static uint64_t* word(void* box, size_t offset) {
    return reinterpret_cast<uint64_t*>(static_cast<char*>(box) + offset);
  }
};

}  // namespace weft
