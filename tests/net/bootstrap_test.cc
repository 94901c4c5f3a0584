// Ranks that meet and talk, through the contract alone: as threads, as processes, mixed; over Unix
// sockets and TCP.
#include <gtest/gtest.h>

#include "ranks.h"

namespace weft::test {
namespace {

using std::chrono::seconds;

// args: id, first rank, last rank, nranks, interface
int rank_role(const std::vector<std::string>& args) {
  const auto id = id_from_text(args.at(0));
  const int first = std::stoi(args.at(1)), last = std::stoi(args.at(2)),
            nranks = std::stoi(args.at(3));
  auto config = test_config();
  config->socket_ifname = args.at(4);
  const auto outcomes = run_threads(last - first, [&](int i) {
    auto bootstrap = Bootstrap::connect(id, first + i, nranks, config, nullptr);
    exercise(*bootstrap);
    bootstrap->close(seconds(2));
  });
  printf("%s", problems(outcomes).c_str());
  fflush(stdout);
  return problems(outcomes).empty() ? 0 : 1;
}
const RegisterRole kRank("rank", rank_role);

void meet_as_threads(int nranks, const std::shared_ptr<Config>& config) {
  const auto id = create_unique_id(*config);
  const auto outcomes = run_threads(nranks, [&](int rank) {
    auto bootstrap = Bootstrap::connect(id, rank, nranks, config, nullptr);
    EXPECT_EQ(bootstrap->rank(), rank);
    EXPECT_EQ(bootstrap->size(), nranks);
    exercise(*bootstrap);
    bootstrap->close(seconds(2));
  });
  EXPECT_EQ(problems(outcomes), "") << nranks << " ranks";
}

TEST(Bootstrap, ThreadsOverUnixSockets) {
  for (int nranks = 1; nranks <= 24; nranks++) meet_as_threads(nranks, test_config());
}

TEST(Bootstrap, ThreadsOverLoopback) {
  auto config = test_config();
  config->socket_ifname = "=lo";
  for (int nranks : {1, 2, 3, 9, 10, 17, 33, 64}) meet_as_threads(nranks, config);
}

// `per_process` ranks in each process; with `own` the first process is this one.
void meet_as_processes(int nranks, int per_process, bool own, const std::string& ifname) {
  auto config = test_config();
  config->socket_ifname = ifname;
  const auto id = id_text(create_unique_id(*config));
  std::vector<Process> processes;
  for (int first = own ? per_process : 0; first < nranks; first += per_process)
    processes.emplace_back(std::vector<std::string>{
        "rank", id, std::to_string(first), std::to_string(std::min(first + per_process, nranks)),
        std::to_string(nranks), ifname});
  if (own) {
    EXPECT_EQ(rank_role({id, "0", std::to_string(per_process), std::to_string(nranks), ifname}), 0);
  }
  for (auto& process : processes) EXPECT_EQ(process.wait(seconds(20)), 0) << process.output();
}

TEST(Bootstrap, Processes) {
  for (int nranks : {1, 2, 5, 9, 12}) meet_as_processes(nranks, 1, false, "");
  meet_as_processes(10, 1, false, "lo");
}

TEST(Bootstrap, ProcessesAndThreadsMixed) {
  meet_as_processes(9, 4, true, "");
  meet_as_processes(24, 5, true, "lo");
}

}  // namespace
}  // namespace weft::test
