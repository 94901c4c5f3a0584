// What is laid out inside a box, the memory one rank writes in another rank's device
// (transport/links.h). Pure arithmetic.
//
// The inbox that rank r has for peer p holds the flows p -> r: the header p stores at the start of
// each operation, then one region a protocol, each with a FIFO of slots a channel and a ready flag
// a slot. It also holds the credits of the opposite flows r -> p, since every word is polled where
// it is local: r polls them here, p writes them.
//
//   header | region 0: channel 0: flags line, credit line | channel 1 ... | channel 0: slot 0, slot
//   1, ... | channel 1 ... | region 1: ...
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
  uint64_t withdrawn;  // not 0: the peer left an operation unfinished and takes its buffers back
};

// No region is shared by two protocols (invariant 2). An exchange is used only by operations that
// make every rank wait for all others, and needs no credits (invariant 3).
enum class Region : uint8_t {
  kSimple,
  kPairwise,
  kLlStream,
  kLlExchange,
  kLl128Stream,
  kLl128Exchange,
  kLlPairwise
};
inline constexpr int kRegionCount = 7;

WEFT_HD constexpr bool has_lines(Region region) {
  return region != Region::kSimple && region != Region::kPairwise;
}
WEFT_HD constexpr bool has_ll_lines(Region region) {
  return region == Region::kLlStream || region == Region::kLlExchange ||
         region == Region::kLlPairwise;
}
WEFT_HD constexpr bool is_exchange(Region region) {
  return region == Region::kLlExchange || region == Region::kLl128Exchange;
}

// The FIFOs of one region of a box, one a channel.
struct Fifo {
  uint64_t offset;      // in the box; a multiple of kLineBytes
  uint32_t slots;       // a power of two
  uint32_t slot_bytes;  // a multiple of kLineBytes

  static constexpr size_t kControlBytes = 2 * kLineBytes;  // of a channel

  WEFT_HD constexpr size_t bytes(uint32_t channels) const {
    return channels * (kControlBytes + size_t(slots) * slot_bytes);
  }
  // slots words, each counter32 | signature32, written by the sender.
  WEFT_HD uint64_t* ready(void* box, uint32_t channel) const {
    return reinterpret_cast<uint64_t*>(at(box, channel * kControlBytes));
  }
  // The number of slices the receiver has taken, in the upper half; written by the receiver of the
  // opposite flow.
  WEFT_HD uint64_t* credit(void* box, uint32_t channel) const {
    return reinterpret_cast<uint64_t*>(at(box, channel * kControlBytes + kLineBytes));
  }
  WEFT_HD char* slot(void* box, uint32_t channels, uint32_t channel, uint32_t index) const {
    return at(box, channels * kControlBytes + (size_t(channel) * slots + index) * slot_bytes);
  }

 private:
  WEFT_HD char* at(void* box, size_t in_region) const {
    return static_cast<char*>(box) + offset + in_region;
  }
};

struct BoxLayout {
  uint32_t channels;
  Fifo fifo[kRegionCount];

  WEFT_HD constexpr const Fifo& of(Region region) const { return fifo[int(region)]; }
  WEFT_HD constexpr size_t bytes() const {
    const Fifo& last = fifo[kRegionCount - 1];
    return last.offset + last.bytes(channels);
  }
  WEFT_HD BoxHeader* header(void* box) const { return static_cast<BoxHeader*>(box); }
};

}  // namespace weft
