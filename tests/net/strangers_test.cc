// 500 connections that send garbage, nothing or half a message to every listening socket while an
// init goes on: they are counted, and the init is as fast as without them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "bootstrap/socket.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wait.h"
#include "ranks.h"

namespace weft::test {
namespace {

using std::chrono::seconds;
constexpr int kStrangers = 500;
constexpr int kRanks = 6;

// The addresses of all listening sockets of this process.
std::vector<SocketAddress> listening_sockets() {
  std::vector<SocketAddress> found;
  for (int fd = 3; fd < 1024; fd++) {
    int listening = 0;
    socklen_t bytes = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) != 0 || !listening) continue;
    SocketAddress address;
    address.bytes = sizeof address.storage;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes);
    found.push_back(address);
  }
  return found;
}

Bytes message_of(int kind, std::mt19937_64& random) {
  if (kind == 0) return {};
  Bytes bytes(kind == 1 ? 200 : 40);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  if (kind == 2) std::memcpy(bytes.data(), "WEFTWIRE", 8);  // starts well, then stops half-way
  return bytes;
}

// Connects `count` strangers, spread over all listeners; they stay connected as long as the result
// lives.
std::vector<Fd> send_strangers(int count, std::mt19937_64& random) {
  const auto targets = listening_sockets();
  std::vector<Fd> strangers;
  for (int i = 0; i < count && !targets.empty(); i++) {
    auto [fd, error] = start_connect(targets[static_cast<size_t>(i) % targets.size()]);
    EXPECT_TRUE(error == 0 || error == EINPROGRESS) << strerror(error);
    const Bytes message = message_of(i / static_cast<int>(targets.size()) % 3, random);
    if (!message.empty()) send_some(fd, message);
    strangers.push_back(std::move(fd));
  }
  return strangers;
}

void meet_among_strangers(const std::shared_ptr<Config>& config, size_t least_listeners) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const auto id = create_unique_id(*config);
  const uint64_t before = bootstrap_strangers_dropped();
  std::vector<Fd> strangers;
  const auto started = Clock::now();
  const auto outcomes = run_threads(kRanks, [&](int rank) {
    if (rank == kRanks - 1) {
      // The others have opened their listeners and wait; this rank is late by the time the
      // strangers need.
      while (listening_sockets().size() < least_listeners && Clock::now() - started < seconds(5))
        std::this_thread::yield();
      EXPECT_GE(listening_sockets().size(), least_listeners);
      strangers = send_strangers(kStrangers, random);
    }
    auto bootstrap = Bootstrap::connect(id, rank, kRanks, config, nullptr);
    exercise(*bootstrap);
    bootstrap->close(seconds(1));
  });
  EXPECT_EQ(problems(outcomes), "");
  EXPECT_EQ(strangers.size(), static_cast<size_t>(kStrangers));
  EXPECT_LT(Clock::now() - started, seconds(4));
  EXPECT_GE(bootstrap_strangers_dropped() - before, static_cast<uint64_t>(kStrangers));
}

// Root and kRanks - 1 ranks, each with a TCP and a Unix listener.
TEST(Strangers, ChangeNothingOnUnixAndTcp) { meet_among_strangers(test_config(), 2 * kRanks); }

TEST(Strangers, ChangeNothingOnTcpAlone) {
  auto config = test_config();
  config->socket_ifname = "lo";
  meet_among_strangers(config, kRanks);
}

// A full table: more silent connections than it has slots must not keep a genuine rank out.
TEST(Strangers, AFullTableLetsGenuineRanksIn) {
  auto config = test_config();
  config->socket_ifname = "lo";
  const auto id = create_unique_id(*config);
  const auto endpoint = UniqueId::decode(id).endpoint;
  ensure_descriptors(4096);
  std::vector<Fd> silent;
  for (int i = 0; i < 1300; i++)
    silent.push_back(
        start_connect(tcp_address(Address::parse("127.0.0.1").value(), endpoint.port)).fd);
  const auto started = Clock::now();
  const auto outcomes = run_threads(
      2, [&](int rank) { Bootstrap::connect(id, rank, 2, config, nullptr)->close(seconds(1)); });
  EXPECT_EQ(problems(outcomes), "");
  EXPECT_LT(Clock::now() - started, seconds(4));
}

}  // namespace
}  // namespace weft::test
