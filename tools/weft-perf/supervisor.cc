// Starting and ending the ranks of --procs. See supervisor.h.
#include "supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "launch_env.h"

namespace weft::perf {
namespace {

constexpr timespec kGrace{2, 0};  // between asking the others to end and killing them
constexpr int kSignalBase = 128;  // how shells report death by a signal

// sockets[r]: the ends that rank r keeps. Rank 0 has one to every other rank.
std::vector<std::vector<int>> make_star(int processes) {
  std::vector<std::vector<int>> sockets(static_cast<size_t>(processes));
  for (size_t rank = 1; rank < sockets.size(); ++rank) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      fail("socketpair for rank {}: {}", rank, std::strerror(errno));
    }
    sockets[0].push_back(pair[0]);
    sockets[rank].push_back(pair[1]);
  }
  return sockets;
}

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

// In the child, between fork and exec. The parent has one thread, so this may allocate.
[[noreturn]] void become_rank(int rank, int processes, const std::vector<int>& sockets,
                              pid_t parent, const std::string& program,
                              std::vector<std::string> arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(kExitFailed);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int socket : sockets) fcntl(socket, F_SETFD, 0);
  setenv(kRankVariable, std::to_string(rank).c_str(), 1);
  setenv(kSizeVariable, std::to_string(processes).c_str(), 1);
  setenv(kSocketsVariable, join(sockets).c_str(), 1);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  die(kExitFailed, fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? kSignalBase + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// The children that still run. Signals SIGCHLD, SIGINT and SIGTERM are blocked and taken one at a
// time.
class Brood {
 public:
  explicit Brood(const sigset_t& signals) : signals_(signals) {}

  void add(int rank, pid_t pid) { alive_.push_back({rank, pid}); }

  int wait_for_all() {
    while (!alive_.empty()) {
      const int signal = next_signal();
      if (signal < 0) {
        tell(SIGKILL);  // the grace is over
      } else if (signal != SIGCHLD) {
        end_all(kSignalBase + signal);
      }
      collect();
    }
    return status_;
  }

  void end_all(int status) {
    if (ending_) return;
    ending_ = true;
    status_ = status;
    tell(SIGTERM);
  }

 private:
  struct Child {
    int rank;
    pid_t pid;
  };

  // -1 when the others were asked to end and the grace went by.
  int next_signal() const {
    int signal = 0;
    do {
      signal =
          ending_ ? sigtimedwait(&signals_, nullptr, &kGrace) : sigwaitinfo(&signals_, nullptr);
    } while (signal < 0 && errno == EINTR);
    return signal;
  }

  void tell(int signal) const {
    for (const Child& child : alive_) kill(child.pid, signal);
  }

  void collect() {
    int wait_status = 0;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
      const auto child = std::find_if(alive_.begin(), alive_.end(),
                                      [pid](const Child& each) { return each.pid == pid; });
      if (child == alive_.end()) continue;
      const int rank = child->rank;
      alive_.erase(child);
      const int status = exit_status(wait_status);
      if (status == 0 || ending_) continue;
      const bool killed = WIFSIGNALED(wait_status);
      fmt::print(stderr, "weft-perf: rank {} {} {}; ending the others\n", rank,
                 killed ? "was killed by signal" : "ended with status",
                 killed ? WTERMSIG(wait_status) : status);
      end_all(status);
    }
  }

  const sigset_t signals_;
  std::vector<Child> alive_;
  bool ending_ = false;
  int status_ = 0;
};

}  // namespace

int supervise(int processes, const std::string& program,
              const std::vector<std::string>& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  auto sockets = make_star(processes);
  Brood brood(signals);
  const pid_t parent = getpid();
  for (int rank = 0; rank < processes; ++rank) {
    const std::vector<int>& own = sockets[static_cast<size_t>(rank)];
    const pid_t pid = fork();
    if (pid == 0) become_rank(rank, processes, own, parent, program, arguments);
    if (pid < 0) {
      fmt::print(stderr, "weft-perf: cannot start rank {}: {}\n", rank, std::strerror(errno));
      brood.end_all(kExitFailed);
      break;
    }
    brood.add(rank, pid);
  }
  // Only the children's ends stay open, so that one's death is seen by its peer.
  for (const auto& ends : sockets) {
    for (int end : ends) close(end);
  }
  return brood.wait_for_all();
}

}  // namespace weft::perf
