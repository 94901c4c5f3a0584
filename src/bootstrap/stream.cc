// Cutting a byte stream into frames, and sending frames piece by piece.
#include "bootstrap/stream.h"

#include <cerrno>
#include <cstring>

namespace weft {
namespace {
constexpr size_t kReadBytes = 64 * 1024;
}

bool Stream::take_frame(Frame& frame, bool& broken) {
  const size_t have = in_.size() - in_start_;
  if (have < kFrameHeaderBytes) return false;
  const auto header = parse_frame_header(
      std::span<const std::byte, kFrameHeaderBytes>(in_.data() + in_start_, kFrameHeaderBytes),
      max_payload_);
  if (!header) {
    broken = true;
    error_text_ = "bytes that are no frame";
    return false;
  }
  if (have < kFrameHeaderBytes + header->payload_bytes) return false;
  const auto* payload = in_.data() + in_start_ + kFrameHeaderBytes;
  frame.type = header->type;
  frame.payload.assign(payload, payload + header->payload_bytes);
  in_start_ += kFrameHeaderBytes + header->payload_bytes;
  if (in_start_ == in_.size()) in_.clear(), in_start_ = 0;
  return true;
}

Stream::Read Stream::read(Frame& frame) {
  bool broken = false;
  std::byte buffer[kReadBytes];
  for (;;) {
    if (take_frame(frame, broken)) return Read::kFrame;
    if (broken) return Read::kBroken;
    const auto got = receive_some(fd_, buffer);
    if (got.error == EAGAIN) return Read::kNothing;
    if (got.error) {
      error_text_ = strerror(got.error);
      return Read::kBroken;
    }
    if (got.bytes == 0) {
      if (in_.size() == in_start_) return Read::kEnded;
      error_text_ = "closed within a message";
      return Read::kBroken;
    }
    if (in_start_ > 0)
      in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(in_start_)), in_start_ = 0;
    in_.insert(in_.end(), buffer, buffer + got.bytes);
  }
}

bool Stream::flush() {
  while (!out_.empty()) {
    const Bytes& first = *out_.front();
    const auto sent = send_some(fd_, ByteSpan(first).subspan(out_sent_));
    if (sent.error == EAGAIN) return true;
    if (sent.error) {
      error_text_ = strerror(sent.error);
      return false;
    }
    out_sent_ += sent.bytes;
    if (out_sent_ == first.size()) out_.pop_front(), out_sent_ = 0;
  }
  return true;
}

void Stream::end_writing() { shutdown(fd_.get(), SHUT_WR); }

void Stream::close() {
  fd_.reset();
  in_.clear();
  in_start_ = out_sent_ = 0;
  out_.clear();
}

}  // namespace weft
