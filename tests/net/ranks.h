// Ranks for tests, as threads and as processes. Owns: starting them and collecting what went wrong.
// A process is this same executable started again with "--role <name> <args>"; roles are registered
// in process_main.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "config.h"
#include "error.h"

namespace weft::test {

// Defaults of the library with a deadline that suits tests.
std::shared_ptr<Config> test_config(
    std::chrono::milliseconds init_timeout = std::chrono::seconds(20));

// What one rank's function ended with.
struct Outcome {
  bool threw = false;
  ncclResult_t code = ncclSuccess;
  std::string text;
};

// Runs body(rank) on one thread a rank, and waits for all.
std::vector<Outcome> run_threads(int nranks, const std::function<void(int)>& body);
// "" when no rank threw, else every text.
std::string problems(const std::vector<Outcome>& outcomes);

// all_gather, texts, barrier and mail with every rank's values checked; throws Error when one is
// wrong.
void exercise(Bootstrap& bootstrap);

// A child process. Its standard output is a pipe to here.
class Process {
 public:
  explicit Process(const std::vector<std::string>& role_and_args);
  ~Process();  // kills and reaps
  Process(Process&& other) noexcept;
  // The exit status as the shell shows it: 128 + signal when killed. Kills the child at the limit.
  int wait(std::chrono::milliseconds limit);
  // What it printed while wait() waited.
  const std::string& output() const { return output_; }
  void kill(int signal);
  // One line it prints; "" at the end of its output or the limit.
  std::string read_line(std::chrono::milliseconds limit);

 private:
  int pid_ = -1, out_ = -1;
  std::string buffer_, output_;
};

using Role = std::function<int(const std::vector<std::string>& args)>;
// The roles of this executable.
std::map<std::string, Role>& roles();
struct RegisterRole {
  RegisterRole(const std::string& name, Role role) { roles()[name] = std::move(role); }
};

std::string id_text(const ncclUniqueId& id);
ncclUniqueId id_from_text(const std::string& text);

}  // namespace weft::test
