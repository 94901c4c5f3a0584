#include "ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "bootstrap/wait.h"

namespace weft::test {

std::shared_ptr<Config> test_config(std::chrono::milliseconds init_timeout) {
  auto config = std::make_shared<Config>();
  config->init_timeout = init_timeout;
  return config;
}

std::vector<Outcome> run_threads(int nranks, const std::function<void(int)>& body) {
  std::vector<Outcome> outcomes(static_cast<size_t>(nranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nranks; rank++)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const Error& error) {
        outcomes[static_cast<size_t>(rank)] = {true, error.code(), error.text()};
      }
    });
  for (auto& thread : threads) thread.join();
  return outcomes;
}

std::string problems(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (size_t rank = 0; rank < outcomes.size(); rank++)
    if (outcomes[rank].threw)
      text +=
          fmt::format("rank {}: code {} {}\n", rank, int(outcomes[rank].code), outcomes[rank].text);
  return text;
}

namespace {
uint64_t value_of(int rank, int round) {
  return 0x9e3779b97f4a7c15ull * static_cast<uint64_t>(rank * 31 + round + 1);
}
std::string text_of(int rank) {
  return std::string(static_cast<size_t>(rank) * 7 % 301, static_cast<char>('a' + rank % 26));
}
void expect(bool right, const char* what, int rank) {
  if (!right) fail(ncclInternalError, "rank {}: wrong {}", rank, what);
}
}  // namespace

void exercise(Bootstrap& bootstrap) {
  const int rank = bootstrap.rank(), size = bootstrap.size();
  for (int round = 0; round < 3; round++) {
    std::vector<uint64_t> all(static_cast<size_t>(size));
    all[static_cast<size_t>(rank)] = value_of(rank, round);
    bootstrap.all_gather(all.data(), sizeof(uint64_t));
    for (int peer = 0; peer < size; peer++)
      expect(all[static_cast<size_t>(peer)] == value_of(peer, round), "all_gather", rank);
  }
  const auto texts = bootstrap.all_gather_texts(text_of(rank));
  for (int peer = 0; peer < size; peer++)
    expect(texts[static_cast<size_t>(peer)] == text_of(peer), "text", rank);
  const int to = (rank + size / 2 + 1) % size, from = (rank + 2 * size - size / 2 - 1) % size;
  for (uint32_t tag : {7u, 8u, 7u})
    bootstrap.send(to, tag, std::as_bytes(std::span(texts[static_cast<size_t>(rank)])));
  for (uint32_t tag : {8u, 7u, 7u}) {
    const auto mail = bootstrap.receive(from, tag);
    const auto& sent = texts[static_cast<size_t>(from)];
    expect(mail.size() == sent.size() && std::memcmp(mail.data(), sent.data(), mail.size()) == 0,
           "mail", rank);
  }
  bootstrap.barrier();
}

Process::Process(const std::vector<std::string>& role_and_args) {
  std::vector<std::string> args{"/proc/self/exe", "--role"};
  args.insert(args.end(), role_and_args.begin(), role_and_args.end());
  std::vector<char*> argv;
  for (auto& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ncclSystemError, "pipe: {}", strerror(errno));
  pid_ = fork();
  if (pid_ < 0) fail(ncclSystemError, "fork: {}", strerror(errno));
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ::close(ends[1]);
  out_ = ends[0];
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      buffer_(std::move(other.buffer_)) {}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
}

void Process::kill(int signal) { ::kill(pid_, signal); }

int Process::wait(std::chrono::milliseconds limit) {
  // The pipe ends with the process, so its end is the event to wait for.
  const auto deadline = Clock::now() + limit;
  for (;;) {
    const std::string line =
        read_line(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
    if (line.empty()) break;
    output_ += line;
  }
  if (Clock::now() >= deadline) ::kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Process::read_line(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end + 1);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd set{out_, POLLIN, 0};
    if (poll(&set, 1, poll_timeout_ms(deadline)) == 0) return "";
    char bytes[512];
    const ssize_t got = ::read(out_, bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EINTR)) return "";
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
  }
}

std::map<std::string, Role>& roles() {
  static std::map<std::string, Role> all;
  return all;
}

std::string id_text(const ncclUniqueId& id) {
  std::string text;
  for (unsigned char byte : id.internal) text += fmt::format("{:02x}", byte);
  return text;
}

ncclUniqueId id_from_text(const std::string& text) {
  ncclUniqueId id{};
  for (size_t i = 0; i < sizeof id.internal; i++)
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

}  // namespace weft::test
