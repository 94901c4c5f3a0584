// Random operations of every kind on random communicators, checked to the bit, by ranks that are
// threads, one thread, or processes. A failure prints what repeats it:
//   WEFT_TEST_SEED        seed of the first episode; the others follow from it
//   WEFT_TEST_OPERATIONS  how many operations
#include <iostream>
#include <random>

#include "../../support/child_processes.h"
#include "../../support/local_ranks.h"
#include "../../support/unique_id_text.h"
#include "../../unit/scoped_log.h"
#include "episode_rank.h"
#include "random_process.h"

namespace weft::test {
namespace {

constexpr size_t kEpisode = 60;  // operations
constexpr std::chrono::seconds kProcessLimit{150};

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? std::stoull(text) : otherwise;
}

// What a failing episode is told by.
class Report {
 public:
  Report(const Episode& episode, const char* test) : text_(episode.text()) {
    repeat_ = "repeat with WEFT_TEST_SEED=" + std::to_string(episode.seed) +
              " WEFT_TEST_OPERATIONS=" + std::to_string(episode.operations()) +
              " every_collective_test --gtest_filter=" + test;
  }
  void add(const std::string& wrong) const {
    if (!wrong.empty()) ADD_FAILURE() << wrong << "\n" << text_ << "\n" << repeat_;
  }

 private:
  std::string text_, repeat_;
};

class Settings {
 public:
  explicit Settings(const Episode& episode) {
    for (const auto& [name, value] : episode.environment)
      if (!value.empty()) set_.push_back(std::make_unique<ScopedEnv>(name, value));
  }

 private:
  std::vector<std::unique_ptr<ScopedEnv>> set_;
};

std::vector<ncclUniqueId> make_ids(const Episode& episode) {
  std::vector<ncclUniqueId> ids(episode.comms.size());
  for (size_t i = 0; i < ids.size(); ++i)
    if (episode.comms[i].making == Making::kId) require_ok(ncclGetUniqueId(&ids[i]), "an id");
  return ids;
}

void make_by_one_call(const Episode& episode, Meeting& meeting) {
  meeting.made.resize(episode.comms.size());
  for (size_t i = 0; i < episode.comms.size(); ++i) {
    const CommPlan& plan = episode.comms[i];
    if (plan.making != Making::kOneCall) continue;
    meeting.made[i].resize(plan.members.size());
    require_ok(
        ncclCommInitAll(meeting.made[i].data(), int(plan.members.size()), plan.members.data()),
        "ncclCommInitAll");
  }
}

// The calls of all ranks by this thread; each batch is one group.
void run_on_one_thread(const Episode& episode, Meeting& meeting) {
  std::vector<std::unique_ptr<EpisodeRank>> ranks(size_t(episode.ranks));
  on_threads(episode.ranks, [&](int rank) {
    ranks[size_t(rank)] = std::make_unique<EpisodeRank>(episode, rank, meeting);
    ranks[size_t(rank)]->make_comms();
  });
  try {
    for (size_t batch = 0; batch < episode.batches.size(); ++batch) {
      const auto each = [&](auto body) {
        for (int rank = 0; rank < episode.ranks; ++rank) {
          const LocalRanks::OnDevice scope(rank);
          body(*ranks[size_t(rank)]);
        }
      };
      require_ok(ncclGroupStart(), "ncclGroupStart");
      each([&](EpisodeRank& rank) { rank.issue(batch); });
      require_ok(ncclGroupEnd(), "ncclGroupEnd");
      each([&](EpisodeRank& rank) { rank.finish(batch); });
    }
  } catch (...) {
    meeting.failed = true;
    throw;
  }
}

void run_in_threads(const Episode& episode) {
  const Report report(episode, "RandomOperations.Threads");
  const Settings settings(episode);
  Meeting meeting;
  try {
    meeting.ids = make_ids(episode);
    make_by_one_call(episode, meeting);
    if (episode.one_thread) return run_on_one_thread(episode, meeting);
  } catch (const std::exception& error) {
    return report.add(error.what());
  }
  on_threads(episode.ranks, [&](int rank) { report.add(run_rank(episode, rank, meeting)); });
}

void run_in_processes(const Episode& episode) {
  const Report report(episode, "RandomOperations.Processes");
  const Settings settings(episode);
  const ScopedEnv workers("WEFT_HOST_WORKERS", "1");  // processes enough for a small machine
  const std::vector<ncclUniqueId> ids = make_ids(episode);
  ChildProcesses children;
  for (int rank = 0; rank < episode.ranks; ++rank) {
    std::vector<std::string> arguments = {"random", std::to_string(episode.seed),
                                          std::to_string(episode.operations()),
                                          std::to_string(rank)};
    for (const ncclUniqueId& id : ids) arguments.push_back(to_hex(id));
    children.start(arguments);
  }
  for (const ChildResult& child : children.collect(kProcessLimit))
    if (!child.ok() || child.output.find("ALL RIGHT") == std::string::npos)
      report.add(child.output + (child.in_time ? "" : "did not end"));
}

void run_episodes(size_t operations, bool threads) {
  const ScopedEnv limit("WEFT_TIMEOUT", "60");  // what hangs ends with a report
  const uint64_t first = number_from("WEFT_TEST_SEED", std::random_device{}());
  operations = number_from("WEFT_TEST_OPERATIONS", operations);
  std::cout << "WEFT_TEST_SEED=" << first << " WEFT_TEST_OPERATIONS=" << operations << std::endl;
  uint64_t seed = first;
  for (size_t done = 0; done < operations && !testing::Test::HasFailure(); seed = mix(seed)) {
    const Episode episode = make_episode(seed, std::min(kEpisode, operations - done), threads);
    threads ? run_in_threads(episode) : run_in_processes(episode);
    done += episode.operations();
  }
}

TEST(RandomOperations, Threads) { run_episodes(400, true); }
TEST(RandomOperations, Processes) { run_episodes(100, false); }
TEST(RandomOperations, CiThreads) { run_episodes(9'000, true); }
TEST(RandomOperations, CiProcesses) { run_episodes(1'000, false); }
TEST(RandomOperations, SoakThreads) {
  alarm(0);  // as long as it takes
  run_episodes(900'000, true);
}
TEST(RandomOperations, SoakProcesses) {
  alarm(0);
  run_episodes(100'000, false);
}

}  // namespace

int run_random_process(const std::vector<std::string>& arguments) {
  const Episode episode =
      make_episode(std::stoull(arguments.at(0)), std::stoull(arguments.at(1)), false);
  Meeting meeting;
  for (size_t i = 3; i < arguments.size(); ++i) meeting.ids.push_back(from_hex(arguments[i]));
  const std::string wrong = run_rank(episode, std::stoi(arguments.at(2)), meeting);
  std::cout << (wrong.empty() ? "ALL RIGHT" : wrong) << std::endl;
  return wrong.empty() ? 0 : 1;
}

}  // namespace weft::test
