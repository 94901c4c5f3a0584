// Building and checking hello, challenge and proof.
#include "bootstrap/handshake.h"

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::string_view kMagic = "WEFTWIRE";
constexpr size_t kMacBytes = sizeof(Mac), kRandomBytes = 16;
enum Status : uint8_t { kGoOn = 0, kNotThisCommunicator = 1, kSpeakOther = 2 };

void write_random(Writer& out) {
  std::array<std::byte, kRandomBytes> random;
  fill_random(random);
  out.raw(random);
}

Bytes hello_bytes(const Key& key, const Hello& hello) {
  Writer out;
  out.raw(as_byte_span(kMagic));
  out.u16(hello.version);
  out.u8(static_cast<uint8_t>(hello.purpose));
  out.u8(0);
  out.u32(hello.library);
  out.u64(hello.comm);
  out.u32(hello.rank);
  out.u32(hello.nranks);
  out.u32(hello.target);
  out.u32(0);
  write_random(out);
  out.raw(mac_of(key, "hello", {out.bytes()}));
  return out.take();
}

bool same_bytes(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Parts {
  ByteSpan body, mac;
};
Parts split_mac(ByteSpan message) {
  const size_t body = message.size() - kMacBytes;
  return {message.first(body), message.subspan(body)};
}

}  // namespace

std::string version_text(PeerVersion version) {
  return fmt::format("wire version {} (library {}.{}.{})", version.wire, version.library / 10000,
                     version.library / 100 % 100, version.library % 100);
}

DiallerHandshake::DiallerHandshake(const Key& key, const Hello& hello)
    : key_(key), hello_(hello), hello_bytes_(hello_bytes(key, hello)), output_(hello_bytes_) {}

Shake DiallerHandshake::feed(ByteSpan challenge) {
  output_.clear();
  if (challenge.size() != kChallengeBytes) return Shake::kStranger;
  const auto [body, mac] = split_mac(challenge);
  Reader in(body);
  if (!same_bytes(in.raw(kMagic.size()), as_byte_span(kMagic))) return Shake::kStranger;
  peer_.wire = in.u16();
  const uint8_t status = in.u8();
  in.u8();
  peer_.library = in.u32();
  if (status == kNotThisCommunicator) return Shake::kRefused;
  if (!same_mac(mac, mac_of(key_, "challenge", {hello_bytes_, body}))) return Shake::kStranger;
  if (status == kSpeakOther || peer_.wire != hello_.version) return Shake::kOtherVersion;
  if (status != kGoOn) return Shake::kStranger;
  const Mac proof = mac_of(key_, "proof", {hello_bytes_, challenge});
  output_.assign(proof.begin(), proof.end());
  return Shake::kDone;
}

void AcceptorHandshake::answer(uint8_t status) {
  Writer out;
  out.raw(as_byte_span(kMagic));
  out.u16(self_.version);
  out.u8(status);
  out.u8(0);
  out.u32(self_.library);
  write_random(out);
  // A refusal goes to someone without the key: a mac would help nobody but a guesser.
  out.raw(status == kNotThisCommunicator
              ? Mac{}
              : mac_of(self_.key, "challenge", {hello_bytes_, out.bytes()}));
  output_ = out.take();
}

Shake AcceptorHandshake::feed_hello(ByteSpan message) {
  const auto [body, mac] = split_mac(message);
  Reader in(body);
  if (!same_bytes(in.raw(kMagic.size()), as_byte_span(kMagic))) return Shake::kStranger;
  hello_.version = in.u16();
  hello_.purpose = static_cast<Purpose>(in.u8());
  in.u8();
  hello_.library = in.u32();
  hello_.comm = in.u64();
  hello_.rank = in.u32();
  hello_.nranks = in.u32();
  hello_.target = in.u32();
  hello_bytes_.assign(message.begin(), message.end());
  const bool genuine = same_mac(mac, mac_of(self_.key, "hello", {body}));
  if (!genuine || hello_.comm != self_.comm || hello_.purpose != self_.purpose ||
      hello_.target != self_.target) {
    answer(kNotThisCommunicator);
    return Shake::kStranger;
  }
  if (hello_.version != self_.version) {
    answer(kSpeakOther);
    return Shake::kOtherVersion;
  }
  answer(kGoOn);
  challenge_ = output_;
  return Shake::kContinue;
}

Shake AcceptorHandshake::feed(ByteSpan message) {
  if (message.size() != wants()) return Shake::kStranger;
  if (challenge_.empty()) return feed_hello(message);
  output_.clear();
  const Mac expected = mac_of(self_.key, "proof", {hello_bytes_, challenge_});
  return same_mac(message, expected) ? Shake::kDone : Shake::kStranger;
}

}  // namespace weft
