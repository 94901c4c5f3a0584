// The keyed handshake without sockets: what passes, and that no single bit may differ.
#include "bootstrap/handshake.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

const Key kKey = hash256("test", as_byte_span("a key"));
constexpr uint64_t kComm = 42;

Hello hello() { return {kWireVersion, Purpose::kEdge, 22803, kComm, 3, 8, 1}; }
AcceptorHandshake::Self self() { return {kKey, kComm, Purpose::kEdge, 1, 22803}; }
Bytes copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }
Bytes flipped(Bytes bytes, size_t bit) {
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  return bytes;
}

TEST(Handshake, BothEndsProveThemselves) {
  DiallerHandshake dialler(kKey, hello());
  AcceptorHandshake acceptor(self());
  EXPECT_EQ(acceptor.wants(), kHelloBytes);
  EXPECT_EQ(acceptor.feed(dialler.output()), Shake::kContinue);
  EXPECT_EQ(dialler.feed(copy(acceptor.output())), Shake::kDone);
  EXPECT_EQ(acceptor.wants(), kProofBytes);
  EXPECT_EQ(acceptor.feed(dialler.output()), Shake::kDone);
  EXPECT_EQ(acceptor.hello().rank, 3u);
  EXPECT_EQ(acceptor.hello().nranks, 8u);
}

TEST(Handshake, NoBitOfTheHelloMayDiffer) {
  const Bytes good = copy(DiallerHandshake(kKey, hello()).output());
  for (size_t bit = 0; bit < good.size() * 8; bit++) {
    AcceptorHandshake acceptor(self());
    EXPECT_EQ(acceptor.feed(flipped(good, bit)), Shake::kStranger) << "bit " << bit;
  }
}

TEST(Handshake, NoBitOfTheChallengeMayDiffer) {
  constexpr size_t kStatusByte = 10;
  for (size_t bit = 0; bit < kChallengeBytes * 8; bit++) {
    DiallerHandshake dialler(kKey, hello());
    AcceptorHandshake acceptor(self());
    acceptor.feed(dialler.output());
    const Shake result = dialler.feed(flipped(copy(acceptor.output()), bit));
    // Status 1 is the unkeyed refusal; it ends this attempt and nothing else.
    EXPECT_EQ(result, bit == kStatusByte * 8 ? Shake::kRefused : Shake::kStranger) << "bit " << bit;
  }
}

TEST(Handshake, NoBitOfTheProofMayDiffer) {
  for (size_t bit = 0; bit < kProofBytes * 8; bit++) {
    DiallerHandshake dialler(kKey, hello());
    AcceptorHandshake acceptor(self());
    acceptor.feed(dialler.output());
    dialler.feed(copy(acceptor.output()));
    EXPECT_EQ(acceptor.feed(flipped(copy(dialler.output()), bit)), Shake::kStranger)
        << "bit " << bit;
  }
}

TEST(Handshake, AReplayedConversationIsWorthless) {
  DiallerHandshake dialler(kKey, hello());
  AcceptorHandshake first(self()), second(self());
  const Bytes said = copy(dialler.output());
  first.feed(said);
  dialler.feed(copy(first.output()));
  const Bytes proof = copy(dialler.output());
  EXPECT_EQ(second.feed(said), Shake::kContinue);
  EXPECT_EQ(second.feed(proof), Shake::kStranger);
}

TEST(Handshake, OtherKeyCommunicatorPurposeOrTargetIsRefused) {
  auto refused = [](const Key& key, const Hello& wrong) {
    DiallerHandshake dialler(key, wrong);
    AcceptorHandshake acceptor(self());
    EXPECT_EQ(acceptor.feed(dialler.output()), Shake::kStranger);
    return dialler.feed(copy(acceptor.output())) == Shake::kRefused;
  };
  Hello comm = hello(), purpose = hello(), target = hello();
  comm.comm++;
  purpose.purpose = Purpose::kCheckIn;
  target.target++;
  EXPECT_TRUE(refused(hash256("test", as_byte_span("other key")), hello()));
  EXPECT_TRUE(refused(kKey, comm));
  EXPECT_TRUE(refused(kKey, purpose));
  EXPECT_TRUE(refused(kKey, target));
}

TEST(Handshake, AnotherWireVersionIsSeenByBothEnds) {
  Hello newer = hello();
  newer.version = kWireVersion + 1;
  newer.library = 23001;
  DiallerHandshake dialler(kKey, newer);
  AcceptorHandshake acceptor(self());
  EXPECT_EQ(acceptor.feed(dialler.output()), Shake::kOtherVersion);
  EXPECT_EQ(acceptor.hello().version, kWireVersion + 1);
  EXPECT_EQ(dialler.feed(copy(acceptor.output())), Shake::kOtherVersion);
  EXPECT_EQ(dialler.peer().wire, kWireVersion);
  EXPECT_EQ(version_text({2, 23001}), "wire version 2 (library 2.30.1)");
}

TEST(Handshake, AStrangerCannotFakeAnotherVersion) {
  Hello newer = hello();
  newer.version = kWireVersion + 1;
  AcceptorHandshake acceptor(self());
  EXPECT_EQ(acceptor.feed(DiallerHandshake(Key{}, newer).output()), Shake::kStranger);
}

}  // namespace
}  // namespace weft
