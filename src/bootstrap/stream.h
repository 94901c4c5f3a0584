// Frames over one non-blocking socket. Owns: the descriptor, bytes not yet parsed, bytes not yet
// sent. Does not own: when to call it (whoever polls) or what frames mean (messages.h).
#pragma once

#include <deque>
#include <memory>

#include "bootstrap/socket.h"

namespace weft {

// Shared, so that one frame queued on eight edges is kept once.
using SharedBytes = std::shared_ptr<const Bytes>;

class Stream {
 public:
  Stream() = default;
  Stream(Fd fd, size_t max_payload) : fd_(std::move(fd)), max_payload_(max_payload) {}

  enum class Read {
    kFrame,    // `frame` was filled
    kNothing,  // nothing complete now
    kEnded,    // the peer closed between two frames
    kBroken,   // closed within a frame, an error, or bytes that are no frame: error_text()
  };
  Read read(Frame& frame);
  void queue(SharedBytes frame) { out_.push_back(std::move(frame)); }
  void queue(FrameType type, ByteSpan payload) {
    queue(std::make_shared<const Bytes>(frame_bytes(type, payload)));
  }
  // Sends what the socket takes. False: the connection is broken.
  bool flush();
  bool wants_write() const { return !out_.empty(); }
  // No more will be sent; the peer sees the end after what was flushed.
  void end_writing();
  const Fd& fd() const { return fd_; }
  int poll_fd() const { return fd_.get(); }
  void allow_payload(size_t bytes) { max_payload_ = bytes; }
  void close();
  const std::string& error_text() const { return error_text_; }

 private:
  bool take_frame(Frame& frame, bool& broken);
  Fd fd_;
  size_t max_payload_ = 0;
  Bytes in_;
  size_t in_start_ = 0;  // bytes of in_ already parsed
  std::deque<SharedBytes> out_;
  size_t out_sent_ = 0;  // of the first of out_
  std::string error_text_;
};

}  // namespace weft
