// Encoding and parsing of the payloads.
#include "bootstrap/messages.h"

#include <fmt/format.h>

namespace weft {
namespace {

// Limits that keep a card within a few hundred bytes; a longer text is cut by who encodes it.
constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxAddresses = 32;
constexpr size_t kMaxReasonBytes = 16 * 1024;

std::string cut(const std::string& text, size_t max_bytes) { return text.substr(0, max_bytes); }

void write_card(Writer& out, const Card& card) {
  out.u32(card.rank);
  out.u32(card.nranks);
  out.u32(card.library);
  out.u64(card.pid);
  out.u64(card.endpoint.place);
  out.u16(card.endpoint.port);
  out.text(cut(card.host, kMaxNameBytes));
  out.text(cut(card.endpoint.unix_name, kMaxNameBytes));
  const size_t count = std::min(card.endpoint.addresses.size(), kMaxAddresses);
  out.u32(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; i++) write_address(out, card.endpoint.addresses[i]);
}

Card read_card(Reader& in) {
  Card card;
  card.rank = in.u32();
  card.nranks = in.u32();
  card.library = in.u32();
  card.pid = in.u64();
  card.endpoint.place = in.u64();
  card.endpoint.port = in.u16();
  card.host = in.text(kMaxNameBytes);
  card.endpoint.unix_name = in.text(kMaxNameBytes);
  const uint32_t count = in.u32();
  if (count > kMaxAddresses) in.raw(in.left() + 1);  // too many: makes the reader fail
  for (uint32_t i = 0; i < count && in.ok(); i++)
    card.endpoint.addresses.push_back(read_address(in));
  return card;
}

template <class T>
std::optional<T> when_done(const Reader& in, T&& message) {
  if (!in.done()) return std::nullopt;
  return std::forward<T>(message);
}

}  // namespace

std::string Card::text() const {
  return fmt::format("rank {} on host {} (pid {})", rank, host, pid);
}

Bytes CheckIn::encode() const {
  Writer out;
  write_card(out, card);
  out.u64(wait_ms);
  out.i32(code);
  out.text(cut(reason, kMaxReasonBytes));
  return out.take();
}

std::optional<CheckIn> CheckIn::parse(ByteSpan payload) {
  Reader in(payload);
  CheckIn message;
  message.card = read_card(in);
  message.wait_ms = in.u64();
  message.code = in.i32();
  message.reason = in.text(kMaxReasonBytes);
  return when_done(in, std::move(message));
}

Bytes Verdict::encode() const {
  Writer out;
  out.i32(code);
  out.text(cut(text, kMaxReasonBytes));
  out.u8(parent.has_value());
  if (parent) write_card(out, *parent);
  return out.take();
}

std::optional<Verdict> Verdict::parse(ByteSpan payload) {
  Reader in(payload);
  Verdict message;
  message.code = in.i32();
  message.text = in.text(kMaxReasonBytes);
  if (in.u8() != 0) message.parent = read_card(in);
  return when_done(in, std::move(message));
}

Bytes Edge::encode() const {
  Writer out;
  write_card(out, child);
  return out.take();
}

std::optional<Edge> Edge::parse(ByteSpan payload) {
  Reader in(payload);
  Edge message{read_card(in)};
  return when_done(in, std::move(message));
}

Bytes Gather::encode() const {
  Writer out;
  out.u64(round);
  out.u8(static_cast<uint8_t>(kind));
  out.u64(bytes_each);
  out.u32(static_cast<uint32_t>(texts.size()));
  for (const auto& text : texts) out.text(text);
  return out.take();
}

std::optional<Gather> Gather::parse(ByteSpan payload) {
  Reader in(payload);
  Gather message;
  message.round = in.u64();
  const uint8_t kind = in.u8();
  message.kind = static_cast<GatherKind>(kind);
  message.bytes_each = in.u64();
  const uint32_t count = in.u32();
  // Each text takes at least its length: a count that cannot be there is refused before anything is
  // reserved.
  if (kind < 1 || kind > 3 || count > in.left() / 4) return std::nullopt;
  message.texts.reserve(count);
  for (uint32_t i = 0; i < count && in.ok(); i++)
    message.texts.push_back(in.text(kMaxMessageBytes));
  return when_done(in, std::move(message));
}

std::string Gather::call_text() const {
  if (kind == GatherKind::kFixed) return fmt::format("all_gather of {} bytes", bytes_each);
  return kind == GatherKind::kTexts ? "all_gather_texts" : "barrier";
}

Bytes Mail::encode() const {
  Writer out;
  out.u32(from);
  out.u32(to);
  out.u32(tag);
  out.raw(body);
  return out.take();
}

std::optional<Mail> Mail::parse(ByteSpan payload) {
  Reader in(payload);
  Mail message{in.u32(), in.u32(), in.u32(), {}};
  if (!in.ok() || in.left() > kMaxMessageBytes) return std::nullopt;
  auto body = in.raw(in.left());
  message.body.assign(body.begin(), body.end());
  return message;
}

Bytes Notice::encode() const {
  Writer out;
  out.u32(rank);
  out.i32(code);
  out.text(cut(text, kMaxReasonBytes));
  out.u8(gone);
  return out.take();
}

std::optional<Notice> Notice::parse(ByteSpan payload) {
  Reader in(payload);
  Notice message{in.u32(), in.i32(), in.text(kMaxReasonBytes), in.u8() != 0};
  return when_done(in, std::move(message));
}

}  // namespace weft
