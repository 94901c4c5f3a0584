// Hosts as network namespaces joined by veth pairs. Needs root and `ip`; skips with the reason
// otherwise.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "bootstrap/wait.h"
#include "ranks.h"

namespace weft::test {
namespace {

using std::chrono::seconds;

// args: namespace, id ("new": make one and print it), first rank, last rank, nranks, timeout ms,
// NCCL_COMM_ID
int ns_role(const std::vector<std::string>& args) {
  const int ns = open(("/run/netns/" + args.at(0)).c_str(), O_RDONLY | O_CLOEXEC);
  if (ns < 0 || setns(ns, CLONE_NEWNET) != 0)
    fail(ncclSystemError, "cannot enter namespace {}", args.at(0));
  auto config = test_config(std::chrono::milliseconds(std::stoi(args.at(5))));
  config->comm_id = args.at(6);
  const bool make = args.at(1) == "new";
  const auto id = make ? create_unique_id(*config) : id_from_text(args.at(1));
  if (make) printf("%s\n", id_text(id).c_str()), fflush(stdout);
  const int first = std::stoi(args.at(2)), nranks = std::stoi(args.at(4));
  const auto outcomes = run_threads(std::stoi(args.at(3)) - first, [&](int i) {
    auto bootstrap = Bootstrap::connect(id, first + i, nranks, config, nullptr);
    exercise(*bootstrap);
    bootstrap->close(seconds(2));
  });
  printf("%s", problems(outcomes).c_str());
  fflush(stdout);
  return problems(outcomes).empty() ? 0 : 1;
}
const RegisterRole kNs("ns", ns_role);

bool run_command(const std::string& command) {
  return system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class Namespaces : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    if (!run_command("ip netns add " + name("probe")))
      GTEST_SKIP() << "`ip netns add` does not work here";
    run_command("ip netns del " + name("probe"));
  }
  void TearDown() override {
    for (const auto& host : hosts_) run_command("ip netns del " + name(host));
  }
  static std::string name(const std::string& host) {
    return fmt::format("weft{}{}", getpid(), host);
  }
  void add_host(const std::string& host, bool loopback = true) {
    hosts_.push_back(host);
    ASSERT_TRUE(run_command("ip netns add " + name(host)));
    if (loopback) in(host, "ip link set lo up");
  }
  void in(const std::string& host, const std::string& command) {
    EXPECT_TRUE(run_command("ip netns exec " + name(host) + " " + command))
        << host << ": " << command;
  }
  // A cable: interface `left` in host a and `right` in host b.
  void join(const std::string& a, const std::string& left, const std::string& b,
            const std::string& right) {
    ASSERT_TRUE(run_command(fmt::format("ip link add {} netns {} type veth peer name {} netns {}",
                                        left, name(a), right, name(b))));
    in(a, "ip link set " + left + " up");
    in(b, "ip link set " + right + " up");
  }
  void address(const std::string& host, const std::string& interface, const std::string& text) {
    in(host, "ip addr add " + text + " dev " + interface +
                 (text.find(':') != std::string::npos ? " nodad" : ""));
  }
  Process start(const std::string& host, const std::string& id, int first, int last, int nranks,
                int timeout_ms = 15000, const std::string& comm_id = "") {
    return Process({"ns", name(host), id, std::to_string(first), std::to_string(last),
                    std::to_string(nranks), std::to_string(timeout_ms), comm_id});
  }
  // Ranks 0-1 on host a, which makes the id, 2-3 on host b.
  void expect_meeting(const std::string& a, const std::string& b) {
    const auto started = Clock::now();
    Process first = start(a, "new", 0, 2, 4);
    std::string id = first.read_line(seconds(5));
    ASSERT_FALSE(id.empty());
    id.pop_back();
    Process second = start(b, id, 2, 4, 4);
    EXPECT_EQ(first.wait(seconds(15)), 0) << first.output();
    EXPECT_EQ(second.wait(seconds(15)), 0) << second.output();
    EXPECT_LT(Clock::now() - started, seconds(5));
  }

 private:
  std::vector<std::string> hosts_;
};

// N01: the same unreachable address on an interface that comes first on every host.
TEST_F(Namespaces, SameBridgeAddressOnEveryHost) {
  for (const char* host : {"a", "b"}) {
    add_host(host);
    join(host, "aaa0", host, "aaa1");
    address(host, "aaa0", "172.17.0.1/16");
  }
  join("a", "eth0", "b", "eth0");
  address("a", "eth0", "10.0.0.1/24");
  address("b", "eth0", "10.0.0.2/24");
  expect_meeting("a", "b");
}

// N07: one side has both families.
TEST_F(Namespaces, CommonFamilyIsFound) {
  for (const char* host : {"a", "b"}) add_host(host);
  join("a", "eth0", "b", "eth0");
  address("a", "eth0", "10.1.0.1/24");
  address("b", "eth0", "10.1.0.2/24");
  address("b", "eth0", "fd01::2/64");
  expect_meeting("a", "b");
  expect_meeting("b", "a");
}

// N07: no family in common. The error lists both sides' addresses.
TEST_F(Namespaces, NoCommonFamilyNamesBothSides) {
  for (const char* host : {"a", "b"}) add_host(host);
  join("a", "eth0", "b", "eth0");
  address("a", "eth0", "10.1.0.1/24");
  address("b", "eth0", "fd01::2/64");
  Process first = start("a", "new", 0, 1, 2, 4000);
  std::string id = first.read_line(seconds(5));
  ASSERT_FALSE(id.empty());
  id.pop_back();
  Process second = start("b", id, 1, 2, 2, 4000);
  EXPECT_EQ(second.wait(seconds(10)), 1);
  for (const char* part : {"10.1.0.1", "fd01::2", "unreachable"})
    EXPECT_NE(second.output().find(part), std::string::npos) << second.output();
  EXPECT_EQ(first.wait(seconds(10)), 1);
  EXPECT_NE(first.output().find("rank 1"), std::string::npos) << first.output();
}

// N06: every interface is down, even lo.
TEST_F(Namespaces, NoInterfaceAtAll) {
  add_host("a", false);
  const auto started = Clock::now();
  Process job = start("a", "new", 0, 4, 4);
  EXPECT_EQ(job.wait(seconds(15)), 0) << job.output();
  EXPECT_LT(Clock::now() - started, seconds(5));
}

// N09: NCCL_COMM_ID behind a router, and in the local subnet.
TEST_F(Namespaces, FixedAddressRoutedAndLocal) {
  for (const char* host : {"a", "r", "b"}) add_host(host);
  join("a", "eth0", "r", "left");
  join("b", "eth0", "r", "right");
  address("a", "eth0", "10.2.1.1/24");
  address("r", "left", "10.2.1.254/24");
  address("b", "eth0", "10.2.2.1/24");
  address("r", "right", "10.2.2.254/24");
  in("a", "ip route add default via 10.2.1.254");
  in("b", "ip route add default via 10.2.2.254");
  in("r", "sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'");
  for (const char* other : {"b", "r"}) {
    Process first = start("a", "new", 0, 1, 2, 15000, "10.2.1.1:4711");
    Process second = start(other, "new", 1, 2, 2, 15000, "10.2.1.1:4711");
    EXPECT_EQ(first.wait(seconds(15)), 0) << first.output();
    EXPECT_EQ(second.wait(seconds(15)), 0) << second.output();
  }
}

}  // namespace
}  // namespace weft::test
