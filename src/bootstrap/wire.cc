// The frame header: u32 payload bytes, u8 type, three zero bytes.
#include "bootstrap/wire.h"

namespace weft {

std::optional<FrameHeader> parse_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                              size_t max_payload) {
  Reader in(bytes);
  const size_t payload_bytes = in.u32();
  const uint8_t type = in.u8();
  const bool zero = in.u8() == 0 && in.u16() == 0;
  if (!zero || payload_bytes > max_payload) return std::nullopt;
  if (type < static_cast<uint8_t>(FrameType::kCheckIn) ||
      type > static_cast<uint8_t>(FrameType::kNotice))
    return std::nullopt;
  return FrameHeader{static_cast<FrameType>(type), payload_bytes};
}

Bytes frame_bytes(FrameType type, ByteSpan payload) {
  Writer out;
  out.u32(static_cast<uint32_t>(payload.size()));
  out.u8(static_cast<uint8_t>(type));
  out.u8(0);
  out.u16(0);
  out.raw(payload);
  return out.take();
}

}  // namespace weft
