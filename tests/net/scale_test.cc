// Hundreds to a thousand live endpoints of one communicator in this process, over loopback TCP.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bootstrap/wait.h"
#include "ranks.h"

namespace weft::test {
namespace {

// args: ranks
int many_role(const std::vector<std::string>& args) {
  const int nranks = std::stoi(args.at(0));
  auto config = test_config(std::chrono::seconds(50));
  config->socket_ifname = "lo";
  const auto id = create_unique_id(*config);
  const auto started = Clock::now();
  const auto outcomes = run_threads(nranks, [&](int rank) {
    auto bootstrap = Bootstrap::connect(id, rank, nranks, config, nullptr);
    exercise(*bootstrap);
    bootstrap->close(std::chrono::seconds(10));
  });
  printf("%d ranks: %ld ms\n%s", nranks,
         static_cast<long>(
             std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started).count()),
         problems(outcomes).c_str());
  return problems(outcomes).empty() ? 0 : 1;
}
const RegisterRole kMany("many", many_role);

TEST(Scale, TwoHundred) {
  Process job({"many", "200"});
  EXPECT_EQ(job.wait(std::chrono::seconds(30)), 0) << job.output();
}

// Run by `--gtest_also_run_disabled_tests` under the label soak.
TEST(Scale, DISABLED_AThousand) {
  for (const char* nranks : {"257", "1000"}) {
    Process job({"many", nranks});
    EXPECT_EQ(job.wait(std::chrono::seconds(60)), 0) << job.output();
    printf("%s", job.output().c_str());
  }
}

}  // namespace
}  // namespace weft::test
