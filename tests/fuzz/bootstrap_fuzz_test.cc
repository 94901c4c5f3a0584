// Random bytes, and good messages with random damage, through every parser of the bootstrap.
// Nothing may crash, hang or read out of bounds (the sanitizer builds watch), and what parses must
// survive encoding and parsing again. WEFT_FUZZ_SEED repeats a run, WEFT_FUZZ_MS sets its length.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "bootstrap/handshake.h"
#include "bootstrap/messages.h"
#include "bootstrap/unique_id.h"
#include "error.h"

namespace weft {
namespace {

using Random = std::mt19937_64;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

std::string random_text(Random& random, size_t most) {
  std::string text(random() % (most + 1), ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

Card random_card(Random& random) {
  Card card;
  card.rank = static_cast<uint32_t>(random());
  card.nranks = static_cast<uint32_t>(random());
  card.pid = random();
  card.host = random_text(random, 40);
  card.endpoint.unix_name = random_text(random, 30);
  card.endpoint.port = static_cast<uint16_t>(random());
  for (size_t i = random() % 5; i > 0; i--)
    card.endpoint.addresses.push_back(
        Address::parse(random() % 2 ? "10.0.0.1" : "fd00::1").value());
  return card;
}

Bytes random_message(Random& random) {
  switch (random() % 7) {
    case 0:
      return CheckIn{random_card(random), random(), 0, random_text(random, 20)}.encode();
    case 1:
      return Verdict{static_cast<int32_t>(random()), random_text(random, 50), random_card(random)}
          .encode();
    case 2:
      return Edge{random_card(random)}.encode();
    case 3:
      return Gather{
          random(), GatherKind::kTexts, random(), {random_text(random, 9), random_text(random, 99)}}
          .encode();
    case 4:
      return Mail{1, 2, 3, Bytes(random() % 50)}.encode();
    case 5:
      return Notice{7, 1, random_text(random, 60), false}.encode();
    default: {
      Bytes bytes(random() % 300);
      for (auto& byte : bytes) byte = static_cast<std::byte>(random());
      return bytes;
    }
  }
}

void damage(Random& random, Bytes& bytes) {
  for (size_t i = random() % 4; i > 0 && !bytes.empty(); i--) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] ^= std::byte{1} << (random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(random() % 2 ? 0xff : 0);
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), random() % 9, std::byte{0xff});
    }
  }
}

// Counts what parsed, so that a fuzzer which never gets past the first check would show.
template <class Message>
size_t parse_both_ways(const Bytes& bytes) {
  const auto message = Message::parse(bytes);
  if (!message) return 0;
  const Bytes again = message->encode();
  const auto second = Message::parse(again);
  EXPECT_TRUE(second.has_value());
  if (second) {
    EXPECT_EQ(second->encode(), again);
  }
  return 1;
}

size_t parse_everything(const Bytes& bytes) {
  size_t parsed = parse_both_ways<CheckIn>(bytes) + parse_both_ways<Verdict>(bytes) +
                  parse_both_ways<Edge>(bytes) + parse_both_ways<Gather>(bytes) +
                  parse_both_ways<Mail>(bytes) + parse_both_ways<Notice>(bytes);
  if (bytes.size() >= kFrameHeaderBytes) {
    const auto header = parse_frame_header(
        std::span<const std::byte, kFrameHeaderBytes>(bytes.data(), kFrameHeaderBytes),
        kMaxMeetingBytes);
    if (header) {
      EXPECT_LE(header->payload_bytes, kMaxMeetingBytes);
    }
  }
  return parsed;
}

void shake_hands(const Bytes& bytes) {
  const AcceptorHandshake::Self self{Key{}, 1, Purpose::kEdge, 0, 22803};
  Bytes hello = bytes, challenge = bytes;
  hello.resize(kHelloBytes);
  challenge.resize(kChallengeBytes);
  EXPECT_EQ(AcceptorHandshake(self).feed(hello), Shake::kStranger);
  EXPECT_NE(DiallerHandshake(Key{}, Hello{}).feed(challenge), Shake::kDone);
  ncclUniqueId id{};
  std::memcpy(&id, bytes.data(), std::min(bytes.size(), sizeof id));
  EXPECT_THROW(UniqueId::decode(id), Error);
}

TEST(BootstrapFuzz, ParsersTakeAnything) {
  const uint64_t seed = setting("WEFT_FUZZ_SEED", std::random_device{}());
  printf("WEFT_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(setting("WEFT_FUZZ_MS", 1500));
  size_t tried = 0, parsed = 0;
  while (std::chrono::steady_clock::now() < until && !HasFailure()) {
    Bytes bytes = random_message(random);
    damage(random, bytes);
    parsed += parse_everything(bytes);
    shake_hands(bytes);
    tried++;
  }
  printf("%zu inputs, %zu messages parsed\n", tried, parsed);
  EXPECT_GT(parsed, tried / 10);
  EXPECT_LT(parsed, tried * 3);
}

}  // namespace
}  // namespace weft
