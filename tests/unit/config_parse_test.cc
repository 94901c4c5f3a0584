// The strict readers of setting values: each accepts its whole form and nothing else.
#include "config_parse.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::milliseconds;

TEST(ParseInteger, TakesTheFormsThatRcclTakes) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer(" -7 "), -7);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("0x10"), 16);
  EXPECT_EQ(parse_integer("010"), 8);
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const char* text :
       {"", " ", "-", "abc", "1x", "1 2", "0x", "08", "--1", "1.5", "9223372036854775808", "1e3"})
    EXPECT_EQ(parse_integer(text), std::nullopt) << '"' << text << '"';
}

TEST(ParseBytes, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_bytes("4194304"), 4194304);
  EXPECT_EQ(parse_bytes("4M"), 4194304);
  EXPECT_EQ(parse_bytes("64k"), 65536);
  EXPECT_EQ(parse_bytes("1G"), 1 << 30);
  EXPECT_EQ(parse_bytes("-1"), -1);
  EXPECT_EQ(parse_bytes("0x1000"), 4096);
  for (const char* text : {"", "K", "4T", "4MB", "abc", "9007199254740993M"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(ParseSwitch, OnlyZeroAndOne) {
  EXPECT_EQ(parse_switch("0"), false);
  EXPECT_EQ(parse_switch("1"), true);
  for (const char* text : {"", "2", "-1", "true", "yes", "01"})
    EXPECT_EQ(parse_switch(text), std::nullopt) << text;
}

TEST(ParseSeconds, KeepsMilliseconds) {
  EXPECT_EQ(parse_seconds("300"), milliseconds(300000));
  EXPECT_EQ(parse_seconds("0.5"), milliseconds(500));
  EXPECT_EQ(parse_seconds("1.25"), milliseconds(1250));
  EXPECT_EQ(parse_seconds("2.0009"), milliseconds(2000));
  EXPECT_EQ(parse_seconds("0"), milliseconds(0));
  for (const char* text :
       {"", "-1", ".5", "1.", "1s", "1.-5", "inf", "nan", "99999999999999999999"})
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
}

TEST(TextForms, HostAndPort) {
  for (const char* text : {"node-1:5000", "10.0.0.1:1", "[fe80::1%eth0]:65535"})
    EXPECT_TRUE(is_host_and_port(text)) << text;
  for (const char* text :
       {"", "node", ":5000", "node:", "node:0", "node:65536", "node:5x", "fe80::1:5000", "[]:1"})
    EXPECT_FALSE(is_host_and_port(text)) << text;
}

TEST(TextForms, PortRange) {
  EXPECT_TRUE(is_port_range("5000-5000"));
  EXPECT_TRUE(is_port_range("1-65535"));
  for (const char* text : {"", "5000", "2-1", "0-5", "1-65536", "a-b", "1-"})
    EXPECT_FALSE(is_port_range(text)) << text;
}

TEST(TextForms, SplitDropsEmptyParts) {
  EXPECT_EQ(split(" a,, b ,", ','), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(split("", ',').empty());
}

}  // namespace
}  // namespace weft
