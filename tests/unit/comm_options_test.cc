// ncclConfig_t of callers compiled against any header: each struct ends where memory ends, so that
// a read behind it is a fault.
#include "comm_options.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "../support/expect_error.h"
#include "error.h"

namespace weft {
namespace {

using test::expect_text;

struct Age {
  size_t bytes;
  unsigned version;
};
// Which fields the headers had; the last three are newer than ours.
const Age kAges[] = {
    {24, NCCL_VERSION(2, 14, 3)}, {40, NCCL_VERSION(2, 17, 1)}, {48, NCCL_VERSION(2, 18, 3)},
    {48, NCCL_VERSION(2, 26, 5)}, {72, NCCL_VERSION(2, 27, 3)}, {80, NCCL_VERSION(2, 28, 3)},
    {88, NCCL_VERSION(2, 29, 0)}, {96, NCCL_VERSION(2, 30, 0)}, {4096, NCCL_VERSION(2, 30, 0)}};

// As NCCL_CONFIG_INITIALIZER of a header of that age would make it.
class CallersConfig {
 public:
  explicit CallersConfig(Age age) : page_(size_t(sysconf(_SC_PAGESIZE))) {
    void* pages =
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::runtime_error("mmap");
    pages_ = static_cast<char*>(pages);
    if (mprotect(pages_ + page_, page_, PROT_NONE) != 0) throw std::runtime_error("mprotect");
    ncclConfig_t ours = NCCL_CONFIG_INITIALIZER;
    ours.size = age.bytes;
    ours.version = age.version;
    char* const start = pages_ + page_ - age.bytes;
    std::memset(start, 0x5a, age.bytes);
    std::memcpy(start, &ours, std::min(age.bytes, sizeof ours));
    config_ = reinterpret_cast<ncclConfig_t*>(start);
  }
  ~CallersConfig() { munmap(pages_, 2 * page_); }
  CallersConfig(const CallersConfig&) = delete;
  CallersConfig& operator=(const CallersConfig&) = delete;

  ncclConfig_t* operator->() const { return config_; }
  const ncclConfig_t* get() const { return config_; }

 private:
  size_t page_;
  char* pages_ = nullptr;
  ncclConfig_t* config_ = nullptr;
};

void expect_config_refused(const ncclConfig_t& config, const std::vector<std::string>& parts) {
  try {
    read_options(&config);
    ADD_FAILURE() << "accepted; wanted: " << parts[0];
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidArgument);
    expect_text(error.text(), parts);
  }
}

void expect_defaults(const CommOptions& options) {
  EXPECT_TRUE(options.blocking);
  EXPECT_EQ(options.min_ctas, 0);
  EXPECT_EQ(options.max_ctas, 0);
  EXPECT_EQ(options.name, "");
}

TEST(CommOptions, NullAndInitializersOfAnyAgeAreTheDefaults) {
  expect_defaults(read_options(nullptr));
  for (const Age age : kAges) {
    SCOPED_TRACE(testing::Message() << age.bytes << " bytes, version " << age.version);
    expect_defaults(read_options(CallersConfig(age).get()));
  }
}

TEST(CommOptions, FieldsThatTheCallerHasAreTaken) {
  for (const Age age : kAges) {
    SCOPED_TRACE(testing::Message() << age.bytes << " bytes, version " << age.version);
    const CallersConfig config(age);
    const bool has_ctas = age.bytes >= 32, has_name = age.version >= NCCL_VERSION(2, 27, 0);
    config->blocking = 0;
    if (has_ctas) config->minCTAs = 3, config->maxCTAs = 5;
    if (has_name) config->commName = "tensor parallel";
    const CommOptions options = read_options(config.get());
    EXPECT_FALSE(options.blocking);
    EXPECT_EQ(options.min_ctas, has_ctas ? 3 : 0);
    EXPECT_EQ(options.max_ctas, has_ctas ? 5 : 0);
    EXPECT_EQ(options.name, has_name ? "tensor parallel" : "");
  }
}

// The version says which fields mean something, even where the struct has room for more.
TEST(CommOptions, FieldsNewerThanTheVersionAreIgnored) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 0, config.maxCTAs = -7;
  config.commName = reinterpret_cast<const char*>(0x5a5a5a5a);  // a read of it would be a fault
  config.version = NCCL_VERSION(2, 14, 0);
  expect_defaults(read_options(&config));
  config.minCTAs = config.maxCTAs = 4;
  config.version = NCCL_VERSION(2, 26, 0);
  const CommOptions options = read_options(&config);
  EXPECT_EQ(options.min_ctas, 4);
  EXPECT_EQ(options.max_ctas, 4);
  EXPECT_EQ(options.name, "");
}

// The other way round: a version whose fields the struct is too small for.
TEST(CommOptions, FieldsBehindTheSizeAreIgnored) {
  for (const size_t bytes : {24, 32, 48}) {
    SCOPED_TRACE(bytes);
    expect_defaults(read_options(CallersConfig({bytes, NCCL_VERSION(2, 30, 0)}).get()));
  }
}

TEST(CommOptions, WhatIsNoConfigIsRefused) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  for (const size_t bytes : {size_t(0), size_t(8), size_t(23), size_t(4097), size_t(1) << 40}) {
    config.size = bytes;
    expect_config_refused(config, {"size " + std::to_string(bytes), "NCCL_CONFIG_INITIALIZER"});
  }
  config.size = sizeof config;
  config.magic = 0xdeadbeef;
  expect_config_refused(config, {"magic 0xdeadbeef", "NCCL_CONFIG_INITIALIZER"});
}

TEST(CommOptions, BadFieldsAreNamedWithTheirValue) {
  const auto expect = [](const std::function<void(ncclConfig_t&)>& change,
                         const std::vector<std::string>& parts) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    change(config);
    expect_config_refused(config, parts);
  };
  expect([](ncclConfig_t& c) { c.blocking = 2; }, {"blocking is 2"});
  expect([](ncclConfig_t& c) { c.blocking = -1; }, {"blocking is -1"});
  expect([](ncclConfig_t& c) { c.minCTAs = 0; }, {"minCTAs is 0"});
  expect([](ncclConfig_t& c) { c.minCTAs = -2; }, {"minCTAs is -2"});
  expect([](ncclConfig_t& c) { c.maxCTAs = 0; }, {"maxCTAs is 0"});
  expect([](ncclConfig_t& c) { c.minCTAs = 5, c.maxCTAs = 4; }, {"minCTAs is 5", "maxCTAs 4"});
}

TEST(CommOptions, OneLimitAloneIsFine) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 64;
  EXPECT_EQ(read_options(&config).min_ctas, 64);
  config.minCTAs = NCCL_CONFIG_UNDEF_INT, config.maxCTAs = 1;
  EXPECT_EQ(read_options(&config).max_ctas, 1);
}

}  // namespace
}  // namespace weft
