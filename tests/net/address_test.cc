// NCCL_SOCKET_IFNAME's grammar, and which addresses of made-up hosts are offered in which order.
#include "bootstrap/address.h"

#include <gtest/gtest.h>

#include "bootstrap/socket.h"
#include "error.h"

namespace weft {
namespace {

Interface row(const char* name, const char* address, bool carrier = true, bool up = true) {
  Interface result;
  result.name = name;
  result.address = Address::parse(address).value();
  result.carrier = carrier;
  result.up = up;
  result.loopback = std::string(name) == "lo";
  return result;
}

std::string ranked(const std::vector<Interface>& all, const char* ifname = "",
                   FamilyRule family = FamilyRule::kAny) {
  std::string text;
  for (const auto& one : rank_interfaces(all, ifname, family))
    text += one.name + "=" + one.address.text() + " ";
  return text;
}

std::string refusal(const std::vector<Interface>& all, const char* ifname,
                    FamilyRule family = FamilyRule::kAny) {
  try {
    rank_interfaces(all, ifname, family);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    return error.text();
  }
  return "";
}

TEST(InterfaceFilter, Grammar) {
  struct Case {
    const char *text, *name;
    bool passes;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"", "eth0", true},           {"eth", "eth0", true},
                                   {"eth", "ib0", false},        {"=eth", "eth0", false},
                                   {"=eth0", "eth0", true},      {"=eth0", "eth01", false},
                                   {"eth0", "eth01", true},      {"^docker", "docker0", false},
                                   {"^docker", "eth0", true},    {"^=eth0,lo", "eth0", false},
                                   {"^=eth0,lo", "eth01", true}, {"^=eth0,lo", "lo", false},
                                   {"eno1,eth0", "eth0", true},  {"eno1,eth0", "eno1", true},
                                   {"eno1, eth0", "eth0", true}, {"eno1,,eth0", "ib0", false},
                                   {"^", "eth0", true},          {"=", "eth0", true},
                                   {"^eth,ib", "ib1", false},    {"=ib0,ib1", "ib10", false}})
    EXPECT_EQ(InterfaceFilter(c.text).passes(c.name), c.passes) << '"' << c.text << "\" " << c.name;
}

TEST(Ranking, RoutableFirst) {
  const std::vector<Interface> host{row("aaa0", "169.254.3.1"), row("docker0", "172.17.0.1"),
                                    row("lo", "127.0.0.1"),     row("eth0", "fe80::1"),
                                    row("eth0", "10.0.0.2"),    row("eth0", "fd00::2"),
                                    row("ib0", "10.1.0.2")};
  EXPECT_EQ(
      ranked(host),
      "ib0=10.1.0.2 eth0=10.0.0.2 eth0=fd00::2 docker0=172.17.0.1 aaa0=169.254.3.1 eth0=fe80::1 ");
  EXPECT_EQ(ranked(host, "", FamilyRule::kIpv6), "eth0=fd00::2 eth0=fe80::1 ");
}

TEST(Ranking, DownAndWithoutCarrierAreLeftOut) {
  const std::vector<Interface> host{row("eth9", "10.9.0.1", false),
                                    row("eth8", "10.8.0.1", true, false), row("eth1", "10.0.0.1")};
  EXPECT_EQ(ranked(host), "eth1=10.0.0.1 ");
  EXPECT_NE(refusal(host, "=eth9").find("eth9 (10.9.0.1, no carrier)"), std::string::npos);
  EXPECT_NE(refusal(host, "=eth8").find("eth8 (10.8.0.1, down)"), std::string::npos);
}

TEST(Ranking, ExcludingNeverBringsLoopbackBack) {
  const std::vector<Interface> host{row("lo", "127.0.0.1"), row("docker0", "172.17.0.1"),
                                    row("eth0", "10.0.0.1")};
  EXPECT_EQ(ranked(host, "^docker0"), "eth0=10.0.0.1 ");
  EXPECT_EQ(ranked(host, "^docker0,eth0"), "");
  EXPECT_EQ(ranked(host, "lo"), "lo=127.0.0.1 ");
}

TEST(Ranking, ANameThatMatchesNothingIsAnError) {
  const std::vector<Interface> host{row("lo", "127.0.0.1"), row("eth0", "10.0.0.1")};
  const std::string text = refusal(host, "doesnotexist");
  for (const char* part : {"NCCL_SOCKET_IFNAME", "doesnotexist", "eth0", "10.0.0.1", "lo"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(refusal(host, "eth0", FamilyRule::kIpv6).find("IPv6"), std::string::npos);
}

TEST(Settings, FamilyAndPortRange) {
  EXPECT_EQ(parse_family("AF_INET6"), FamilyRule::kIpv6);
  EXPECT_THROW(parse_family("inet"), Error);
  EXPECT_EQ(parse_port_range("40000-40100").last, 40100);
  for (const char* bad : {"40000", "5-4", "0-9", "1-65536", "1-2x", "a-b"})
    EXPECT_THROW(parse_port_range(bad), Error) << bad;
}

TEST(Settings, AUsedUpPortRangeIsNamed) {
  uint16_t port = 0, again = 0;
  const Fd first = listen_tcp(FamilyRule::kAny, {}, port);
  try {
    listen_tcp(FamilyRule::kAny, {port, port}, again);
    FAIL() << "two sockets on port " << port;
  } catch (const Error& error) {
    EXPECT_NE(error.text().find("WEFT_PORT_RANGE"), std::string::npos) << error.text();
  }
}

}  // namespace
}  // namespace weft
