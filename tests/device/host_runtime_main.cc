// main of the host runtime's tests: runs them, or plays a role of another process when started with
// --role.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "host_runtime.h"

namespace host_runtime {
namespace {

void wait_then_set(const void* p) {
  const WaitArgs& a = *static_cast<const WaitArgs*>(p);
  if (a.wait != nullptr) wait_until(a.wait, a.value);
  if (a.done != nullptr) set(a.done, a.done_value);
}

}  // namespace

const hipHostKernel kWaitThenSet = {hipHostKernelMagic, "wait_then_set", &wait_then_set,
                                    sizeof(WaitArgs), 1};

hipError_t launch_wait(hipStream_t stream, const WaitArgs& args, unsigned blocks) {
  WaitArgs copy = args;
  void* list[] = {&copy};
  return hipLaunchKernel(&kWaitThenSet, dim3(blocks), dim3(64), list, 0, stream);
}

uint64_t* new_word(int device) {
  int before = 0;
  uint64_t* word = nullptr;
  EXPECT_EQ(hipSuccess, hipGetDevice(&before));
  EXPECT_EQ(hipSuccess, hipSetDevice(device));
  EXPECT_EQ(hipSuccess, hipExtMallocWithFlags(&word, 64, hipDeviceMallocUncached));
  EXPECT_EQ(hipSuccess, hipSetDevice(before));
  memset(word, 0, 64);
  return word;
}

pid_t start_role(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, int output) {
  std::vector<std::string> all = {"/proc/self/exe", "--role"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv, envp;
  for (std::string& a : all) argv.push_back(a.data());
  argv.push_back(nullptr);
  std::vector<std::string> added = environment;
  for (std::string& e : added) envp.push_back(e.data());
  for (char** e = environ; *e != nullptr; ++e) envp.push_back(*e);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  pid_t process = -1;
  EXPECT_EQ(0,
            posix_spawn(&process, "/proc/self/exe", &actions, nullptr, argv.data(), envp.data()));
  posix_spawn_file_actions_destroy(&actions);
  return process;
}

int wait_role(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string run_role(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment, int* status) {
  int ends[2];
  EXPECT_EQ(0, pipe2(ends, O_CLOEXEC));
  const pid_t process = start_role(arguments, environment, ends[1]);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  *status = wait_role(process);
  return text;
}

std::string to_hex(const void* data, size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned char c = static_cast<const unsigned char*>(data)[i];
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

void from_hex(const std::string& text, void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    static_cast<unsigned char*>(data)[i] =
        static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
}

}  // namespace host_runtime

int main(int argc, char** argv) {
  if (argc > 2 && strcmp(argv[1], "--role") == 0) {
    return host_runtime::role_main(argc - 2, argv + 2);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
