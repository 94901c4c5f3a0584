// The settings: table, ranges, sources and what is said about them. Names and values are unlike in
// every test, because each line is said once in a process.
#include "config.h"

#include <gtest/gtest.h>

#include <set>

#include "config_apply.h"
#include "config_known.h"
#include "config_sources.h"
#include "config_table.h"
#include "error.h"
#include "scoped_log.h"

namespace weft {
namespace {

// The text of the refusal, or "" when the value is taken.
std::string refusal(const std::string& name, const std::string& value) {
  ScopedEnv env(name, value);
  try {
    read_config();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidUsage);
    return error.text();
  }
  return "";
}

TEST(Config, DefaultsHoldWhenNothingIsSet) {
  auto config = read_config();
  EXPECT_EQ(config->init_timeout, std::chrono::seconds(300));
  EXPECT_EQ(config->op_timeout.count(), 0);
  EXPECT_EQ(config->min_channels, std::nullopt);
  EXPECT_EQ(config->comm_id, "");
  EXPECT_FALSE(config->p2p_disable);
}

TEST(Config, EveryTypeIsRead) {
  ScopedEnv comm_id("NCCL_COMM_ID", "node1:5001"), channels("NCCL_MIN_NCHANNELS", "0x4"),
      buffer("NCCL_BUFFSIZE", "2M"), p2p("NCCL_P2P_DISABLE", "1"), timeout("WEFT_TIMEOUT", "1.5"),
      epoch("WEFT_EPOCH_BASE", "4294967295");
  auto config = read_config();
  EXPECT_EQ(config->comm_id, "node1:5001");
  EXPECT_EQ(config->min_channels, 4);
  EXPECT_EQ(config->buffer_bytes, 2 << 20);
  EXPECT_TRUE(config->p2p_disable);
  EXPECT_EQ(config->op_timeout.count(), 1500);
  EXPECT_EQ(config->epoch_base, 4294967295u);
}

// A24: a variable set between two communicators reaches the second.
TEST(Config, IsReadAgainEachTime) {
  ScopedEnv first("NCCL_MAX_NCHANNELS", "3");
  auto before = read_config();
  ScopedEnv second("NCCL_MAX_NCHANNELS", "5");
  EXPECT_EQ(read_config()->max_channels, 5);
  EXPECT_EQ(before->max_channels, 3);
}

TEST(Config, EmptyIsNotSet) {
  ScopedEnv channels("NCCL_MAX_NCHANNELS", ""), p2p("NCCL_P2P_DISABLE", "");
  EXPECT_EQ(read_config()->max_channels, std::nullopt);
}

TEST(Config, RcclsUnsetNumberIsNotSet) {
  ScopedEnv channels("NCCL_MAX_NCHANNELS", "-2"), buffer("NCCL_BUFFSIZE", "-2");
  EXPECT_EQ(read_config()->max_channels, std::nullopt);
  EXPECT_EQ(read_config()->buffer_bytes, std::nullopt);
}

TEST(Config, AliasIsReadAndTheNameWins) {
  ScopedEnv alias("NCCL_MIN_NRINGS", "6");
  EXPECT_EQ(read_config()->min_channels, 6);
  ScopedEnv name("NCCL_MIN_NCHANNELS", "2");
  EXPECT_EQ(read_config()->min_channels, 2);
}

// A25: each of these ends in a usable value with a warning, or in a refusal.
TEST(Config, BufferSizesAreClampedOrRefused) {
  ScopedLog log("WARN");
  for (const char* value : {"0", "1", "3", "-1"}) {
    ScopedEnv env("NCCL_BUFFSIZE", value);
    EXPECT_EQ(read_config()->buffer_bytes, 64 << 10) << value;
    EXPECT_EQ(count_of(log.text(), std::string("NCCL_BUFFSIZE=") + value + " "), 1u) << log.text();
  }
  ScopedEnv odd("NCCL_BUFFSIZE", "1000001");
  EXPECT_EQ(*read_config()->buffer_bytes % 4096, 0);
  ScopedEnv large("NCCL_BUFFSIZE", "1G");
  EXPECT_EQ(read_config()->buffer_bytes, 1 << 30);
  EXPECT_NE(refusal("NCCL_BUFFSIZE", "abc"), "");
}

TEST(Config, RefusalsNameVariableValueAndWhatIsAllowed) {
  std::string text = refusal("NCCL_P2P_DISABLE", "maybe");
  for (const char* part : {"NCCL_P2P_DISABLE", "maybe", "environment", "0 or 1"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(refusal("WEFT_INIT_TIMEOUT", "0"), "");
  EXPECT_NE(refusal("WEFT_INIT_TIMEOUT", "soon"), "");
  EXPECT_NE(refusal("NCCL_SOCKET_FAMILY", "AF_UNIX"), "");
  EXPECT_NE(refusal("NCCL_COMM_ID", "node"), "");
  EXPECT_NE(refusal("WEFT_EPOCH_BASE", "4294967296"), "");
  EXPECT_NE(refusal("NCCL_COMM_BLOCKING", "2"), "");
}

TEST(Config, BoundsThatCrossAreRefused) {
  ScopedEnv low("NCCL_MIN_CTAS", "8");
  EXPECT_NE(refusal("NCCL_MAX_CTAS", "4").find("NCCL_MIN_CTAS=8"), std::string::npos);
}

TEST(Config, MisspeltNameIsWarnedOfOnceWithTheNearest) {
  ScopedLog log("WARN");
  ScopedEnv env("NCCL_SOKCET_IFNAME", "eth0");
  read_config();
  read_config();
  EXPECT_EQ(count_of(log.text(), "NCCL_SOKCET_IFNAME"), 1u) << log.text();
  EXPECT_NE(log.text().find("did you mean NCCL_SOCKET_IFNAME?"), std::string::npos) << log.text();
}

TEST(Config, NameOfAnotherLibraryIsAnInfoOnly) {
  ScopedLog log("INFO");
  ScopedEnv known("NCCL_IB_HCA", "mlx5_0"), family("NCCL_TESTS_DEVICE", "1"),
      host("WEFT_HOST_DEVICES", "8"), torch("TORCH_NCCL_BLOCKING_WAIT", "1");
  read_config();
  read_config();
  EXPECT_EQ(count_of(log.text(),
                     "NCCL INFO NCCL_IB_HCA (set by environment) is known but has no effect here"),
            1u)
      << log.text();
  for (const char* name : {"NCCL_TESTS_DEVICE is not", "WEFT_HOST_DEVICES is not", "TORCH_NCCL"})
    EXPECT_EQ(log.text().find(name), std::string::npos) << log.text();
  EXPECT_EQ(log.text().find("NCCL WARN"), std::string::npos) << log.text();
}

TEST(Config, SetValuesAreSaidAsRcclSaysThem) {
  ScopedLog log("INFO", "ENV");
  ScopedEnv env("NCCL_HOSTID", "rack-7");
  read_config();
  read_config();
  EXPECT_EQ(count_of(log.text(), "NCCL INFO NCCL_HOSTID set by environment to rack-7."), 1u)
      << log.text();
}

// N10: a conf file per host is read and its use is logged.
TEST(Config, ConfFileIsReadAndSaid) {
  TempFolder folder;
  std::string path =
      folder.write("weft.conf", "# a comment\nNCCL_SOCKET_IFNAME=eno1,eth0\n\nno equals sign\n");
  ScopedLog log("INFO", "ENV,INIT");
  ScopedEnv env("NCCL_CONF_FILE", path);
  EXPECT_EQ(read_config()->socket_ifname, "eno1,eth0");
  EXPECT_NE(log.text().find("NCCL_SOCKET_IFNAME set by " + path + " to eno1,eth0."),
            std::string::npos)
      << log.text();
  EXPECT_NE(log.text().find(path + ":4: not NAME=VALUE"), std::string::npos) << log.text();
}

TEST(Config, ConfFileThatIsNotThereIsWarnedOf) {
  ScopedLog log("WARN");
  ScopedEnv env("NCCL_CONF_FILE", "/nowhere/weft.conf");
  read_config();
  EXPECT_NE(log.text().find("NCCL_CONF_FILE names /nowhere/weft.conf"), std::string::npos)
      << log.text();
}

TEST(Sources, EnvironmentThenUserFileThenSystemFile) {
  TempFolder folder;
  std::string user = folder.write("user", "NCCL_ALGO=user\nNCCL_PROTO=user\nHSA_OTHER=1\n");
  std::string system =
      folder.write("system", "NCCL_ALGO=system\nNCCL_PROTO=system\nNCCL_HOSTID=system\n");
  const char* environment[] = {"NCCL_ALGO=env", "PATH=/bin", nullptr};
  Sources sources = read_sources(environment, {user, system, folder.file("absent")});
  EXPECT_EQ(sources.values.at("NCCL_ALGO").value, "env");
  EXPECT_EQ(sources.values.at("NCCL_PROTO").value, "user");
  EXPECT_EQ(sources.values.at("NCCL_PROTO").origin, user);
  EXPECT_EQ(sources.values.at("NCCL_HOSTID").value, "system");
  EXPECT_EQ(sources.values.size(), 3u);
  EXPECT_TRUE(sources.problems.empty());
}

TEST(Sources, PlacesOfConfFiles) {
  const char* named[] = {"NCCL_CONF_FILE=/tmp/mine", nullptr};
  EXPECT_EQ(conf_files(named),
            (std::vector<std::string>{"/tmp/mine", "/etc/rccl.conf", "/etc/nccl.conf"}));
  const char* none[] = {nullptr};
  auto files = conf_files(none);
  ASSERT_GE(files.size(), 2u);
  EXPECT_EQ(files.back(), "/etc/nccl.conf");
  EXPECT_EQ(files[files.size() - 2], "/etc/rccl.conf");
}

TEST(Table, RowsAreCompleteAndNamesUnique) {
  std::set<std::string> names;
  for (const SettingInfo& info : list_settings()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    if (!info.aliases.empty()) {
      EXPECT_TRUE(names.insert(info.aliases).second) << info.aliases;
    }
    EXPECT_FALSE(info.help.empty() || info.range.empty() || info.type.empty() || info.scope.empty())
        << info.name;
  }
  EXPECT_GE(names.size(), 25u);
  for (const std::string& name : names)
    EXPECT_FALSE(is_known_unused(name)) << name << " is both used and unused";
}

TEST(Table, SharedSettingsAreListedWhenTheyDifferFromTheDefault) {
  Config config;
  EXPECT_EQ(settings_all_ranks_share(config), "");
  config.algo = "Ring";
  config.max_channels = 4;
  config.p2p_disable = true;  // may differ between ranks
  EXPECT_EQ(settings_all_ranks_share(config), "NCCL_MAX_NCHANNELS=4\nNCCL_ALGO=Ring\n");
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("abc", "acb"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace weft
