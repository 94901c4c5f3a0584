// Runs this test's own program again as several processes at once and collects what they print.
// Ends them all at a deadline.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace weft::test {

struct ChildResult {
  int status = -1;  // of waitpid
  bool in_time = false;
  std::string output;  // standard output and error
  bool ok() const { return in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

class ChildProcesses {
 public:
  ChildProcesses() = default;
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;
  ~ChildProcesses() {
    for (const Child& child : children_) {
      if (child.pid > 0) {
        kill(child.pid, SIGKILL);
        waitpid(child.pid, nullptr, 0);
      }
      if (child.output >= 0) close(child.output);
    }
  }

  // Starts /proc/self/exe with these arguments and the environment of this moment.
  void start(const std::vector<std::string>& arguments) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    std::string program = "/proc/self/exe";
    std::vector<char*> argv = {program.data()};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    Child child;
    const int error =
        posix_spawn(&child.pid, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    child.output = pipe_ends[0];
    if (error != 0) child.pid = -1;
    children_.push_back(child);
    if (error != 0) throw std::runtime_error("posix_spawn failed");
  }

  // Waits for all; those still running at the end of `limit` are killed and not in_time.
  std::vector<ChildResult> collect(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::vector<ChildResult> results(children_.size());
    for (size_t i = 0; i < children_.size(); ++i)
      results[i].in_time = read_all(children_[i], deadline, results[i].output);
    for (size_t i = 0; i < children_.size(); ++i) {
      if (!results[i].in_time) kill(children_[i].pid, SIGKILL);
      waitpid(children_[i].pid, &results[i].status, 0);
      close(children_[i].output);
    }
    children_.clear();
    return results;
  }

 private:
  struct Child {
    pid_t pid = -1;
    int output = -1;
  };

  // Until the child closes its end, which it does when it exits. A pipe holds 64 KiB, so children
  // may wait for their turn here.
  static bool read_all(const Child& child, std::chrono::steady_clock::time_point deadline,
                       std::string& output) {
    char buffer[4096];
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                            deadline - std::chrono::steady_clock::now())
                            .count();
      pollfd wait = {child.output, POLLIN, 0};
      if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) return false;
      const ssize_t n = read(child.output, buffer, sizeof buffer);
      if (n <= 0) return n == 0;
      output.append(buffer, static_cast<size_t>(n));
    }
  }

  std::vector<Child> children_;
};

}  // namespace weft::test
