// How weft-perf finds its place in a job and meets the other processes; the threads of one process;
// the command line.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "crew.h"
#include "exchange.h"
#include "failure.h"
#include "launch_env.h"
#include "options.h"
#include "statistics.h"

namespace weft::perf {
namespace {

Environment fake(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(PerfPlace, AloneWithoutALauncher) {
  const Place place = find_place(fake({}), {});
  EXPECT_EQ(place.size, 1);
  EXPECT_EQ(place.meeting, Meeting::kAlone);
}

TEST(PerfPlace, Torchrun) {
  const Place place = find_place(fake({{"RANK", "3"},
                                       {"WORLD_SIZE", "8"},
                                       {"LOCAL_RANK", "1"},
                                       {"MASTER_ADDR", "node1"},
                                       {"MASTER_PORT", "29500"}}),
                                 {});
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.meeting, Meeting::kTcp);
  EXPECT_EQ(place.address, "node1");
  EXPECT_EQ(place.port, 29501);
}

TEST(PerfPlace, OpenMpiUsesPmixUnlessTold) {
  std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_RANK", "1"},
                                               {"OMPI_COMM_WORLD_SIZE", "2"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                               {"PMIX_RANK", "1"},
                                               {"PMIX_NAMESPACE", "job"}};
  EXPECT_EQ(find_place(fake(variables), {}).meeting, Meeting::kPmix);
  variables["MASTER_ADDR"] = "10.0.0.1";
  variables["MASTER_PORT"] = "4000";
  EXPECT_EQ(find_place(fake(variables), {}).meeting, Meeting::kTcp);
  EXPECT_EQ(find_place(fake(variables), {"pmix", 1}).meeting, Meeting::kPmix);
}

TEST(PerfPlace, SlurmWithoutPmixMeetsOnTheFirstNode) {
  std::map<std::string, std::string> variables{
      {"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "16"},     {"SLURM_LOCALID", "1"},
      {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "123456"}, {"SLURM_STEP_NODELIST", "gpu[07-10,12]"}};
  const Place place = find_place(fake(variables), {});
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.address, "gpu07");
  EXPECT_EQ(place.port, 20000 + 3456 + 1);
  // A batch script's own environment is no task.
  variables["SLURM_STEP_ID"] = "batch";
  EXPECT_EQ(find_place(fake(variables), {}).meeting, Meeting::kAlone);
}

TEST(PerfPlace, FirstSlurmHost) {
  EXPECT_EQ(first_slurm_host("one"), "one");
  EXPECT_EQ(first_slurm_host("one,two"), "one");
  EXPECT_EQ(first_slurm_host("n[003-009]"), "n003");
  EXPECT_EQ(first_slurm_host("n[5,7],m1"), "n5");
  EXPECT_EQ(first_slurm_host("n[1-2]-ib,m1"), "n1-ib");
}

TEST(PerfPlace, SaysWhatIsMissing) {
  const auto place_of = [](std::map<std::string, std::string> v) {
    return find_place(fake(v), {});
  };
  EXPECT_THROW(place_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), Failure);
  EXPECT_THROW(place_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), Failure);
  EXPECT_THROW(place_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), Failure);
  EXPECT_THROW(
      place_of(
          {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65535"}}),
      Failure);
}

TEST(PerfExchange, StarOfInheritedSockets) {
  int pairs[2][2];
  for (auto& pair : pairs) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  std::vector<std::vector<std::string>> got(3);
  const auto work = [&](int rank, std::vector<int> sockets) {
    const auto exchange = star_of_sockets(rank, 3, sockets);
    exchange->barrier();
    got[static_cast<size_t>(rank)] =
        exchange->all_gather(std::string(static_cast<size_t>(rank), 'x'));
    EXPECT_EQ(exchange->all_gather_number(rank * 1.5), (std::vector<double>{0, 1.5, 3}));
  };
  std::thread one(work, 1, std::vector{pairs[0][1]});
  std::thread two(work, 2, std::vector{pairs[1][1]});
  work(0, {pairs[0][0], pairs[1][0]});
  one.join();
  two.join();
  for (const auto& all : got) EXPECT_EQ(all, (std::vector<std::string>{"", "x", "xx"}));
}

TEST(PerfExchange, ADeadProcessIsAFailure) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const auto exchange = star_of_sockets(0, 2, {pair[0]});
  close(pair[1]);
  EXPECT_THROW(exchange->barrier(), Failure);
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

// Connects again and again until rank 0 listens, then says something else.
void be_a_stranger(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  while (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    std::this_thread::yield();
    fd = socket(AF_INET, SOCK_STREAM, 0);
  }
  EXPECT_GT(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  char byte;
  EXPECT_LE(recv(fd, &byte, 1, 0), 0);  // dropped
  close(fd);
}

TEST(PerfExchange, TcpDropsStrangers) {
  Place place;
  place.size = 2;
  place.address = "127.0.0.1";
  place.port = free_port();
  std::vector<std::string> seen;
  std::thread first([&] { seen = star_over_tcp(place)->all_gather("zero"); });
  be_a_stranger(place.port);
  Place second = place;
  second.rank = 1;
  EXPECT_EQ(star_over_tcp(second)->all_gather("one"), (std::vector<std::string>{"zero", "one"}));
  first.join();
  EXPECT_EQ(seen, (std::vector<std::string>{"zero", "one"}));
}

TEST(PerfCrew, EveryThreadRunsEveryJobAndBarriersHold) {
  Crew crew(3);
  std::atomic<int> before{0}, wrong{0};
  for (int round = 1; round <= 50; ++round) {
    crew.run([&](int) {
      ++before;
      crew.barrier();
      if (before.load() != 3 * round) ++wrong;
      crew.barrier();
    });
  }
  EXPECT_EQ(before.load(), 150);
  EXPECT_EQ(wrong.load(), 0);
}

Options parse(std::vector<const char*> arguments) {
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(PerfOptions, NcclTestsCommandLine) {
  const Options o = parse({"weft-perf", "all_reduce", "-b", "8",  "-e", "128M", "-f", "2",
                           "-g",        "8",          "-n", "10", "-w", "5",    "-d", "bfloat16",
                           "-o",        "max",        "-c", "0",  "-G", "4"});
  EXPECT_EQ(o.sweep.min_bytes, 8u);
  EXPECT_EQ(o.sweep.max_bytes, uint64_t{128} << 20);
  EXPECT_EQ(o.sweep.step_factor, 2u);
  EXPECT_EQ(o.gpus, 8);
  EXPECT_EQ(o.types, std::vector{ncclBfloat16});
  EXPECT_EQ(o.ops, std::vector{Operation::kMax});
  EXPECT_EQ(o.checks, 0);
  EXPECT_EQ(o.graph_launches, 4);
  EXPECT_EQ(o.blocks, 1);
}

TEST(PerfOptions, Defaults) {
  const Options o = parse({"weft-perf", "broadcast", "-r", "all"});
  EXPECT_EQ(o.sweep.min_bytes, uint64_t{32} << 20);
  EXPECT_EQ(o.sweep.max_bytes, uint64_t{32} << 20);
  EXPECT_EQ(o.iterations, 20);
  EXPECT_EQ(o.root, -1);
  EXPECT_EQ(parse({"weft-perf", "all_reduce", "-b", "64M"}).sweep.max_bytes, uint64_t{64} << 20);
  EXPECT_EQ(parse({"weft-perf", "all_reduce", "-e", "1M"}).sweep.min_bytes, uint64_t{1} << 20);
}

TEST(PerfOptions, ALinkNamedAfterNcclTestsNeedsNoCollective) {
  EXPECT_EQ(parse({"/opt/bin/all_gather_perf", "-b", "8"}).collective, "all_gather");
}

TEST(PerfOptions, SideBySideHasEnoughBlocks) {
  EXPECT_GE(parse({"weft-perf", "all_reduce", "--vs", "x.so"}).blocks, kFewestForInterval);
  EXPECT_THROW(parse({"weft-perf", "all_reduce", "--vs", "x.so", "--blocks", "5"}), Failure);
}

TEST(PerfOptions, Refusals) {
  using Line = std::vector<const char*>;
  for (const Line& line :
       {Line{"weft-perf"}, Line{"weft-perf", "all_reduces"},
        Line{"weft-perf", "all_reduce", "-b", "8Q"}, Line{"weft-perf", "all_reduce", "-n", "0"},
        Line{"weft-perf", "all_reduce", "-d", "quad"}, Line{"weft-perf", "all_reduce", "-o", "xor"},
        Line{"weft-perf", "all_reduce", "-r", "-2"}, Line{"weft-perf", "all_reduce", "-R", "3"},
        Line{"weft-perf", "all_reduce", "-G", "1", "-y", "1"},
        Line{"weft-perf", "all_reduce", "--nonsense"}}) {
    EXPECT_THROW(parse(line), Failure) << line.back();
  }
}

}  // namespace
}  // namespace weft::perf
