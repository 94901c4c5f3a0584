// The meeting at the root: what it says while ranks are missing, fixed addresses with and without a
// secret, and a root that has no descriptors left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <set>
#include <thread>

#include "../unit/scoped_log.h"
#include "bootstrap/root.h"
#include "bootstrap/socket.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wait.h"
#include "ranks.h"

namespace weft::test {
namespace {

using std::chrono::seconds;

std::vector<Outcome> meet(const ncclUniqueId& id, int nranks,
                          const std::function<std::shared_ptr<Config>(int rank)>& config_of) {
  return run_threads(nranks, [&](int rank) {
    auto bootstrap = Bootstrap::connect(id, rank, nranks, config_of(rank), nullptr);
    exercise(*bootstrap);
    bootstrap->close(seconds(1));
  });
}

std::shared_ptr<Config> fixed_config(milliseconds init_timeout = seconds(20)) {
  auto config = test_config(init_timeout);
  uint16_t port = 0;
  listen_tcp(FamilyRule::kAny, {}, port);  // a port that is free now
  config->comm_id = fmt::format("127.0.0.1:{}", port);
  return config;
}

// The threads that logged a line with this text.
std::set<std::string> threads_that_said(const ScopedLog& log, const std::string& text) {
  std::set<std::string> threads;
  for (const std::string& line : log.lines())
    if (line.find(text) != std::string::npos) threads.insert(line.substr(0, line.find(' ')));
  return threads;
}

// A root of its own, so that the interval need not be waited for.
TEST(Meeting, RanksHearWhoIsMissing) {
  const ScopedLog log("INFO");
  const auto config = test_config();
  UniqueId id = mint_unique_id();
  RootService::Options options;
  options.listeners.push_back(listen_tcp(FamilyRule::kAny, {}, id.endpoint.port));
  options.listeners.push_back(listen_unix(id.endpoint.unix_name));
  options.key = handshake_key(id, *config);
  options.comm = id.nonce;
  options.timeout = seconds(20);
  options.progress_interval = milliseconds(1);
  const RootService root(std::move(options));
  const auto outcomes = run_threads(3, [&](int rank) {
    const auto deadline = Clock::now() + seconds(10);
    // Rank 1 comes when the root and rank 0 and 2 have said that it is missing.
    while (rank == 1 && Clock::now() < deadline &&
           threads_that_said(log, "waiting, 1 of 3 ranks have not checked in: rank 1").size() < 3)
      std::this_thread::yield();
    EXPECT_LT(Clock::now(), deadline) << log.text();
    Bootstrap::connect(id.encode(), rank, 3, config, nullptr)->close(seconds(1));
  });
  EXPECT_EQ(problems(outcomes), "");
}

TEST(Meeting, ASecretFileServesAFixedAddress) {
  const ScopedLog log("WARN");
  const TempFolder folder;
  auto config = fixed_config();
  config->secret_file = folder.write("secret", "sixteen bytes or more");
  EXPECT_EQ(problems(meet(create_unique_id(*config), 3, [&](int) { return config; })), "");
  EXPECT_EQ(log.text(), "");
}

TEST(Meeting, AnotherSecretKeepsARankOut) {
  const TempFolder folder;
  auto config = fixed_config(milliseconds(700));
  config->secret_file = folder.write("secret", "sixteen bytes or more");
  auto other = std::make_shared<Config>(*config);
  other->secret_file = folder.write("other", "sixteen other bytes or more");
  const auto outcomes =
      meet(create_unique_id(*config), 2, [&](int rank) { return rank == 1 ? other : config; });
  EXPECT_EQ(outcomes[0].code, ncclSystemError);
  EXPECT_NE(outcomes[0].text.find("have not checked in: rank 1"), std::string::npos)
      << outcomes[0].text;
  EXPECT_TRUE(outcomes[1].threw);
}

TEST(Meeting, AShortSecretIsRefused) {
  const TempFolder folder;
  auto config = fixed_config();
  config->secret_file = folder.write("secret", "fifteen bytes..");
  const auto outcomes = meet(create_unique_id(*config), 1, [&](int) { return config; });
  EXPECT_EQ(outcomes[0].code, ncclInvalidUsage);
  EXPECT_NE(outcomes[0].text.find("fewer than 16 bytes"), std::string::npos) << outcomes[0].text;
}

int open_role(const std::vector<std::string>&) {
  const auto config = fixed_config();
  for (int init = 0; init < 2; init++) {
    const auto outcomes = meet(create_unique_id(*config), 2, [&](int) { return config; });
    printf("%s", problems(outcomes).c_str());
    if (!problems(outcomes).empty()) return 1;
  }
  return 0;
}
const RegisterRole kOpen("open", open_role);

// Once a process, however many ranks and inits it has.
TEST(Meeting, AFixedAddressWithoutASecretIsWarnedOfOnce) {
  const ScopedEnv level("NCCL_DEBUG", "WARN");
  Process job({"open"});
  EXPECT_EQ(job.wait(seconds(20)), 0) << job.output();
  EXPECT_EQ(count_of(job.output(), "NCCL WARN"), 1u) << job.output();
  EXPECT_EQ(count_of(job.output(), "is not authenticated"), 1u) << job.output();
}

// No more than `free` descriptors from now on, for good.
void limit_descriptors(int free) {
  const int lowest = dup(0);
  close(lowest);
  const rlimit limit{static_cast<rlim_t>(lowest + free), static_cast<rlim_t>(lowest + free)};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail(ncclSystemError, "setrlimit");
}

// Makes an id, whose root then has few descriptors; all of them are taken until SIGUSR1 when told
// so. args: how many, "taken" or "free"
int tight_role(const std::vector<std::string>& args) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto config = test_config();
  config->socket_ifname = "lo";
  const auto id = create_unique_id(*config);
  limit_descriptors(std::stoi(args.at(0)));
  std::vector<Fd> taken;
  while (args.at(1) == "taken" && (taken.empty() || taken.back()))
    taken.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  printf("%s\n", id_text(id).c_str());
  fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  taken.clear();
  if (signal == SIGUSR1) sigwait(&signals, &signal);
  printf("dropped %llu\n", static_cast<unsigned long long>(bootstrap_strangers_dropped()));
  return 0;
}
const RegisterRole kTight("tight", tight_role);

ncclUniqueId id_of(Process& root) {
  std::string text = root.read_line(seconds(10));
  if (text.empty()) fail(ncclSystemError, "the root said nothing");
  text.pop_back();
  return id_from_text(text);
}

// Strangers hold all of the root's descriptors: the oldest make room, and genuine ranks meet.
TEST(Meeting, StrangersMakeRoomWhenDescriptorsRunOut) {
  constexpr int kFree = 8, kStrangers = 60;
  Process root({"tight", std::to_string(kFree), "free"});
  const auto id = id_of(root);
  std::vector<Fd> strangers;
  for (int i = 0; i < kStrangers; i++)
    strangers.push_back(start_connect(tcp_address(Address::parse("127.0.0.1").value(),
                                                  UniqueId::decode(id).endpoint.port))
                            .fd);
  auto config = test_config();
  config->socket_ifname = "lo";
  const auto started = Clock::now();
  EXPECT_EQ(problems(meet(id, 2, [&](int) { return config; })), "");
  EXPECT_LT(Clock::now() - started, seconds(4));
  root.kill(SIGUSR2);
  EXPECT_EQ(root.wait(seconds(10)), 0);
  EXPECT_NE(root.output().find(fmt::format("dropped {}", kStrangers)), std::string::npos)
      << root.output();
}

// The process itself holds all of them: the root says so, and goes on when some are free again.
TEST(Meeting, TheRootWaitsForDescriptors) {
  const ScopedEnv level("NCCL_DEBUG", "WARN");
  Process root({"tight", "8", "taken"});
  const auto id = id_of(root);
  auto config = test_config();
  config->socket_ifname = "lo";
  const auto outcomes = run_threads(3, [&](int i) {
    if (i < 2) return Bootstrap::connect(id, i, 2, config, nullptr)->close(seconds(1));
    std::string said, line;
    do said += line = root.read_line(seconds(10));
    while (!line.empty() && line.find("cannot accept a connection") == std::string::npos);
    EXPECT_FALSE(line.empty()) << said;
    root.kill(SIGUSR1);
  });
  EXPECT_EQ(problems(outcomes), "");
  root.kill(SIGUSR2);
  EXPECT_EQ(root.wait(seconds(10)), 0) << root.output();
  EXPECT_LT(count_of(root.output(), "\n"), 50u);  // it paused in between
}

}  // namespace
}  // namespace weft::test
