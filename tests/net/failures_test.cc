// What goes wrong around an init and after it: every rank hears what happened, by name, in bounded
// time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <barrier>
#include <thread>

#include "bootstrap/dialler.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wait.h"
#include "ranks.h"

namespace weft::test {
namespace {

using std::chrono::seconds;

void expect_text(const Outcome& outcome, ncclResult_t code,
                 std::initializer_list<const char*> parts) {
  EXPECT_TRUE(outcome.threw);
  EXPECT_EQ(outcome.code, code) << outcome.text;
  for (const char* part : parts)
    EXPECT_NE(outcome.text.find(part), std::string::npos) << part << " in: " << outcome.text;
}

// Connects ranks as (rank, nranks) pairs on threads.
std::vector<Outcome> connect_all(const ncclUniqueId& id,
                                 const std::vector<std::pair<int, int>>& who,
                                 const std::shared_ptr<Config>& config) {
  return run_threads(static_cast<int>(who.size()), [&](int i) {
    const auto [rank, nranks] = who[static_cast<size_t>(i)];
    Bootstrap::connect(id, rank, nranks, config, nullptr)->close(seconds(1));
  });
}

// Runs body(bootstrap) on ranks that have all connected.
std::vector<Outcome> with_ranks(int nranks, const std::function<void(Bootstrap&)>& body) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  return run_threads(nranks, [&](int rank) {
    auto bootstrap = Bootstrap::connect(id, rank, nranks, config, nullptr);
    body(*bootstrap);
  });
}

// Waits for an event about `rank`.
Bootstrap::PeerEvent event_of(Bootstrap& bootstrap, int rank) {
  const auto deadline = Clock::now() + seconds(10);
  while (Clock::now() < deadline) {
    for (const auto& event : bootstrap.poll_events())
      if (event.rank == rank) return event;
    std::this_thread::yield();
  }
  return {-2, ncclInternalError, "no event", false};
}

TEST(Failures, MissingRanksAreNamedOnEveryRank) {
  const auto config = test_config(std::chrono::milliseconds(400));
  const auto started = Clock::now();
  const auto outcomes = connect_all(create_unique_id(*config), {{0, 6}, {1, 6}, {4, 6}}, config);
  for (const auto& outcome : outcomes)
    expect_text(outcome, ncclSystemError, {"3 of 6 ranks", "ranks 2-3, 5"});
  EXPECT_LT(Clock::now() - started, seconds(3));
}

TEST(Failures, TheSameRankTwiceIsToldToAll) {
  const auto config = test_config();
  const auto outcomes = connect_all(create_unique_id(*config), {{0, 4}, {1, 4}, {1, 4}}, config);
  for (const auto& outcome : outcomes)
    expect_text(outcome, ncclInvalidUsage, {"rank 1", "two processes or threads", "pid"});
}

TEST(Failures, DifferentNumbersOfRanksAreToldToAll) {
  const auto config = test_config();
  const auto outcomes = connect_all(create_unique_id(*config), {{0, 4}, {1, 4}, {2, 5}}, config);
  for (const auto& outcome : outcomes) expect_text(outcome, ncclInvalidUsage, {"says 4", "says 5"});
}

TEST(Failures, BadArguments) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  for (auto [rank, nranks] : {std::pair{0, 0}, {-1, 2}, {2, 2}})
    expect_text(connect_all(id, {{rank, nranks}}, config)[0], ncclInvalidArgument, {});
  expect_text(connect_all(ncclUniqueId{}, {{0, 1}}, config)[0], ncclInvalidArgument, {"unique id"});
}

TEST(Failures, AnIdServesOneInit) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  EXPECT_EQ(problems(connect_all(id, {{0, 2}, {1, 2}}, config)), "");
  const auto started = Clock::now();
  for (const auto& outcome : connect_all(id, {{0, 2}, {1, 2}}, config))
    expect_text(outcome, ncclInvalidUsage, {"used"});
  EXPECT_LT(Clock::now() - started, seconds(5));
}

int connect_role(const std::vector<std::string>& args) {
  const auto config = test_config();
  const auto outcomes = connect_all(id_from_text(args.at(0)),
                                    {{std::stoi(args.at(1)), std::stoi(args.at(2))}}, config);
  printf("%s", problems(outcomes).c_str());
  fflush(stdout);
  return outcomes[0].code;
}
const RegisterRole kConnect("connect", connect_role);

TEST(Failures, AnIdServesOneInitInOtherProcessesToo) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  EXPECT_EQ(problems(connect_all(id, {{0, 1}}, config)), "");
  Process second({"connect", id_text(id), "0", "1"});
  EXPECT_EQ(second.wait(seconds(5)), ncclInvalidUsage);
  EXPECT_NE(second.output().find("used already"), std::string::npos) << second.output();
}

TEST(Failures, ARankWithABadVariableIsNamedToTheOthers) {
  const auto good = test_config(), bad = test_config();
  bad->socket_ifname = "doesnotexist";
  const auto id = create_unique_id(*good);
  const auto outcomes = run_threads(
      3, [&](int rank) { Bootstrap::connect(id, rank, 3, rank == 1 ? bad : good, nullptr); });
  expect_text(outcomes[0], ncclRemoteError, {"rank 1 on host", "NCCL_SOCKET_IFNAME=doesnotexist"});
  expect_text(outcomes[1], ncclInvalidUsage, {"NCCL_SOCKET_IFNAME=doesnotexist", "lo (127.0.0.1"});
  expect_text(outcomes[2], ncclRemoteError, {"rank 1 on host"});
  EXPECT_THROW(create_unique_id(*bad), Error);
}

TEST(Failures, AnotherWireVersionIsNamedOnBothSides) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  const UniqueId decoded = UniqueId::decode(id);
  DialResult newer{};
  const auto outcomes = run_threads(2, [&](int rank) {
    if (rank == 0) Bootstrap::connect(id, 0, 2, config, nullptr);
    const Hello hello{kWireVersion + 98, Purpose::kCheckIn, 23001, decoded.nonce, 1, 2,
                      kRootTarget};
    const auto target = dial_target("the root", decoded.endpoint, place_hash(), FamilyRule::kAny);
    newer = dial(target, handshake_key(decoded, *config), hello, Wait::within(seconds(5)));
  });
  expect_text(outcomes[0], ncclInvalidUsage,
              {"rank 1 speaks wire version 99 (library 2.30.1)", "wire version 1 (library"});
  EXPECT_EQ(newer.outcome, DialResult::Outcome::kOtherVersion);
  EXPECT_EQ(newer.peer.wire, kWireVersion);
}

TEST(Failures, InterruptEndsEveryWaitSoon) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  std::atomic<bool> interrupted{false};
  Clock::time_point at;
  const auto outcomes = run_threads(3, [&](int i) {
    if (i < 2) Bootstrap::connect(id, i, 3, config, &interrupted);
    if (i == 2) at = Clock::now(), interrupted = true;
  });
  const auto took = Clock::now() - at;
  // Whoever looks second may hear of the first.
  EXPECT_TRUE(outcomes[0].threw && outcomes[1].threw);
  EXPECT_TRUE(outcomes[0].text == "aborted" || outcomes[1].text == "aborted") << problems(outcomes);
  EXPECT_LT(took,
            std::chrono::milliseconds(500));  // 100 ms by design; the rest is for a busy machine
}

TEST(Failures, InterruptEndsAReceiveSoon) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  std::atomic<bool> interrupted{false};
  std::atomic<int64_t> slowest_ms{0};
  const auto outcomes = run_threads(2, [&](int rank) {
    auto bootstrap = Bootstrap::connect(id, rank, 2, config, &interrupted);
    if (rank == 1) {
      bootstrap->send(0, 1, {});
      bootstrap->receive(0, 2);  // rank 0 is about to wait
      const auto at = Clock::now();
      interrupted = true;
      EXPECT_THROW(bootstrap->receive(0, 3), Error);
      slowest_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - at).count();
      return;
    }
    bootstrap->receive(1, 1);
    bootstrap->send(1, 2, {});
    bootstrap->receive(1, 3);
  });
  EXPECT_TRUE(outcomes[0].threw);
  EXPECT_LT(slowest_ms.load(), 300);  // 100 ms by design; the rest is for a busy machine
}

TEST(Failures, FailReachesCurrentAndLaterCallsOfAll) {
  const int nranks = 20, culprit = 13;
  const auto outcomes = with_ranks(nranks, [&](Bootstrap& bootstrap) {
    if (bootstrap.rank() == culprit) {
      bootstrap.fail(ncclInternalError, "no more cake");
      return bootstrap.close(seconds(1));
    }
    auto expect_failure = [&](const std::function<void()>& call) {
      try {
        call();
        fail(ncclInternalError, "rank {}: a call went through", bootstrap.rank());
      } catch (const Error& error) {
        if (error.code() != ncclRemoteError ||
            error.text().find("rank 13 on host") == std::string::npos ||
            error.text().find("no more cake") == std::string::npos)
          fail(ncclInternalError, "rank {}: wrong text {}", bootstrap.rank(), error.text());
      }
    };
    if (bootstrap.rank() % 2)
      expect_failure([&] { bootstrap.barrier(); });
    else
      expect_failure([&] { bootstrap.receive(culprit, 1); });
    expect_failure([&] { bootstrap.all_gather_texts("x"); });
    const auto event = event_of(bootstrap, culprit);
    EXPECT_EQ(event.code, ncclRemoteError);
    EXPECT_FALSE(event.gone);
    bootstrap.close(seconds(1));
  });
  EXPECT_EQ(problems(outcomes), "");
}

TEST(Failures, DifferentCallsAreAnErrorOnEveryRank) {
  const auto outcomes = with_ranks(11, [](Bootstrap& bootstrap) {
    uint64_t all[11] = {};
    if (bootstrap.rank() == 7)
      bootstrap.barrier();
    else
      bootstrap.all_gather(all, sizeof all[0]);
  });
  for (const auto& outcome : outcomes) {
    EXPECT_TRUE(outcome.threw);
    EXPECT_NE(outcome.text.find("rank 7 barrier"), std::string::npos) << outcome.text;
  }
}

TEST(Failures, MailSentBeforeAFailureCanStillBeTaken) {
  const auto outcomes = with_ranks(2, [](Bootstrap& bootstrap) {
    std::vector<std::byte> body(3);
    if (bootstrap.rank() == 0) {
      bootstrap.send(1, 4, body);
      bootstrap.fail(ncclInternalError, "gone");
      return bootstrap.close(seconds(1));
    }
    EXPECT_EQ(event_of(bootstrap, 0).code, ncclRemoteError);
    std::vector<std::byte> taken;
    EXPECT_TRUE(bootstrap.try_receive(0, 4, taken));
    EXPECT_EQ(taken.size(), body.size());
    EXPECT_FALSE(bootstrap.try_receive(0, 4, taken));
  });
  EXPECT_EQ(problems(outcomes), "");
}

// Ranks that all gave up can still say goodbye to each other.
TEST(Failures, MailCanBeSentAfterAFailure) {
  std::barrier all_have_it(3);  // rank 0 passes on what goes from 1 to 2
  const auto outcomes = with_ranks(3, [&](Bootstrap& bootstrap) {
    const int next = (bootstrap.rank() + 1) % 3, previous = (bootstrap.rank() + 2) % 3;
    bootstrap.barrier();
    bootstrap.fail(ncclInternalError, "enough");
    EXPECT_THROW(bootstrap.barrier(), Error);
    bootstrap.send(next, 4, std::vector<std::byte>(5));
    std::vector<std::byte> taken;
    const auto deadline = Clock::now() + seconds(10);
    while (!bootstrap.try_receive(previous, 4, taken) && Clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_EQ(taken.size(), 5u);
    all_have_it.arrive_and_wait();
  });
  EXPECT_EQ(problems(outcomes), "");
}

TEST(Failures, AnOrderlyGoodbyeIsNoError) {
  std::barrier others_saw_it(11);
  const auto outcomes = with_ranks(12, [&](Bootstrap& bootstrap) {
    bootstrap.barrier();
    if (bootstrap.rank() == 11) return bootstrap.close(seconds(2));
    const auto event = event_of(bootstrap, 11);
    EXPECT_EQ(event.code, ncclSuccess) << event.text;
    EXPECT_FALSE(event.gone);
    try {
      bootstrap.receive(11, 0);
      ADD_FAILURE() << "received from a rank that has left";
    } catch (const Error& error) {
      EXPECT_NE(error.text().find("rank 11 has left"), std::string::npos) << error.text();
    }
    others_saw_it.arrive_and_wait();
    bootstrap.close(seconds(1));
  });
  EXPECT_EQ(problems(outcomes), "");
}

// Connects and then waits to be killed.
int victim_role(const std::vector<std::string>& args) {
  auto bootstrap = Bootstrap::connect(id_from_text(args.at(0)), std::stoi(args.at(1)),
                                      std::stoi(args.at(2)), test_config(), nullptr);
  printf("connected\n");
  fflush(stdout);
  bootstrap->receive(bootstrap->rank(), 1);
  return 0;
}
const RegisterRole kVictim("victim", victim_role);

// Rank `victim` of 12 is a process that is killed; the others are threads here.
void kill_one(int victim) {
  const int nranks = 12;
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  Process process({"victim", id_text(id), std::to_string(victim), std::to_string(nranks)});
  std::barrier all_connected(nranks);
  Clock::time_point killed;
  const auto outcomes = run_threads(nranks, [&](int rank) {
    if (rank == victim) {
      EXPECT_EQ(process.read_line(seconds(10)), "connected\n");
      all_connected.arrive_and_wait();
      killed = Clock::now();
      return process.kill(SIGKILL);
    }
    auto bootstrap = Bootstrap::connect(id, rank, nranks, config, nullptr);
    all_connected.arrive_and_wait();
    const auto event = event_of(*bootstrap, victim);
    EXPECT_EQ(event.code, ncclRemoteError);
    EXPECT_TRUE(event.gone);
    EXPECT_NE(event.text.find(fmt::format("rank {} on host", victim)), std::string::npos)
        << event.text;
    EXPECT_THROW(bootstrap->barrier(), Error);
    EXPECT_LT(Clock::now() - killed, seconds(3));
    all_connected.arrive_and_drop();
  });
  EXPECT_EQ(problems(outcomes), "");
}

TEST(Failures, AKilledLeafIsReportedByAll) { kill_one(11); }
TEST(Failures, AKilledInnerRankIsReportedByAll) { kill_one(1); }
TEST(Failures, AKilledRootOfTheTreeIsReportedByAll) { kill_one(0); }

TEST(Failures, ARankKilledDuringInitIsNamed) {
  const auto config = test_config();
  const auto id = create_unique_id(*config);
  Process process({"connect", id_text(id), "2", "4"});
  const auto outcomes = run_threads(2, [&](int rank) {
    if (rank == 0) Bootstrap::connect(id, 0, 4, config, nullptr);
    // Rank 2 prints nothing while it waits; by then it has checked in.
    EXPECT_EQ(process.read_line(std::chrono::milliseconds(1000)), "");
    process.kill(SIGKILL);
  });
  expect_text(outcomes[0], ncclRemoteError, {"rank 2 on host", "ended during init"});
}

// A 1 kHz timer whose signal interrupts system calls of the calling thread.
class NoisyTimer {
 public:
  NoisyTimer() {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART
    sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
    created_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    const itimerspec every{{0, 1'000'000}, {0, 1'000'000}};
    if (created_) timer_settime(timer_, 0, &every, nullptr);
  }
  ~NoisyTimer() {
    if (created_) timer_delete(timer_);
  }
  bool created() const { return created_; }

 private:
  timer_t timer_{};
  bool created_ = false;
};

TEST(Failures, InterruptedSystemCallsDoNoHarm) {
  for (int init = 0; init < 50; init++) {
    const auto config = test_config();
    const auto id = create_unique_id(*config);
    const auto outcomes = run_threads(4, [&](int rank) {
      const NoisyTimer timer;
      ASSERT_TRUE(timer.created());
      auto bootstrap = Bootstrap::connect(id, rank, 4, config, nullptr);
      exercise(*bootstrap);
      bootstrap->close(seconds(1));
    });
    ASSERT_EQ(problems(outcomes), "") << "init " << init;
  }
}

TEST(Failures, FixedAddress) {
  auto config = test_config();
  uint16_t port = 0;
  listen_tcp(FamilyRule::kAny, {}, port);  // a port that is free now
  config->comm_id = fmt::format("127.0.0.1:{}", port);
  for (int init = 0; init < 5; init++)  // the same id again and again
    EXPECT_EQ(problems(connect_all(create_unique_id(*config), {{0, 3}, {1, 3}, {2, 3}}, config)),
              "");
  config->secret_file = "/nonexistent/secret";
  expect_text(connect_all(create_unique_id(*config), {{0, 1}}, config)[0], ncclInvalidUsage,
              {"WEFT_SECRET_FILE=/nonexistent/secret"});
}

}  // namespace
}  // namespace weft::test
