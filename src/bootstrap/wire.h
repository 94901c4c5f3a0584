// Bytes on the wire. Owns: bounded little-endian reading and writing, the frame header. Does not
// own: what messages mean (messages.h). A Reader never throws and never reads outside its bytes:
// after the first wrong step ok() is false and everything it gives is zero or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

inline ByteSpan as_byte_span(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class Writer {
 public:
  void u8(uint8_t v) { number(v, 1); }
  void u16(uint16_t v) { number(v, 2); }
  void u32(uint32_t v) { number(v, 4); }
  void u64(uint64_t v) { number(v, 8); }
  void i32(int32_t v) { number(static_cast<uint32_t>(v), 4); }
  void raw(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    u32(static_cast<uint32_t>(text.size()));
    raw(as_byte_span(text));
  }
  Bytes take() { return std::move(out_); }
  ByteSpan bytes() const { return out_; }

 private:
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  Bytes out_;
};

class Reader {
 public:
  explicit Reader(ByteSpan bytes) : left_(bytes) {}
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  int32_t i32() { return static_cast<int32_t>(u32()); }
  ByteSpan raw(size_t bytes) {
    if (!ok_ || bytes > left_.size()) {
      ok_ = false;
      return {};
    }
    auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  std::string text(size_t max_bytes) {
    const size_t bytes = u32();
    if (bytes > max_bytes) ok_ = false;
    auto taken = raw(bytes);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bool ok() const { return ok_; }
  // True when everything was read and nothing is left over.
  bool done() const { return ok_ && left_.empty(); }
  size_t left() const { return left_.size(); }

 private:
  uint64_t number(size_t bytes) {
    auto taken = raw(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < taken.size(); i++)
      value |= std::to_integer<uint64_t>(taken[i]) << (8 * i);
    return value;
  }
  ByteSpan left_;
  bool ok_ = true;
};

enum class FrameType : uint8_t {
  kCheckIn = 1,
  kVerdict,
  kProgress,
  kEdge,
  kGatherUp,
  kGatherDown,
  kMail,
  kNotice,
};

constexpr size_t kFrameHeaderBytes = 8;
// Limits on payloads by who may send them: before a rank is part of a tree its messages are short.
constexpr size_t kMaxMeetingBytes = 64 * 1024;
constexpr size_t kMaxMessageBytes = 1024 * 1024;   // a mail or a text of the contract
constexpr size_t kMaxEdgeBytes = size_t{1} << 30;  // a gather of all ranks

struct FrameHeader {
  FrameType type;
  size_t payload_bytes;
};
struct Frame {
  FrameType type;
  Bytes payload;
};

// Nothing when the header is not one of ours or announces more than `max_payload`.
std::optional<FrameHeader> parse_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                              size_t max_payload);
// Header and payload in one piece, ready to send.
Bytes frame_bytes(FrameType type, ByteSpan payload);

}  // namespace weft
