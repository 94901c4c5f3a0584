// What the tests of the host platform's HIP runtime share: checking calls, waiting with a deadline,
// and starting this executable again in another role (another process of the same host).
#pragma once

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#define HIP_OK(call) ASSERT_EQ(hipSuccess, call) << hipGetErrorString(hipPeekAtLastError())

namespace host_runtime {

// Polls until the condition holds; false after a generous deadline.
template <class Condition>
bool eventually(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Kernels that most tests use. Words are 64-bit and start at 0.
inline void wait_until(const uint64_t* word, uint64_t value) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) hipHostPollMiss(word);
  hipHostPollHit();
}
inline void set(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  hipHostNotify(word);
}
struct WaitArgs {
  const uint64_t* wait;  // null: does not wait
  uint64_t value;
  uint64_t* done;  // null: tells nobody
  uint64_t done_value;
};
extern const hipHostKernel kWaitThenSet;
hipError_t launch_wait(hipStream_t stream, const WaitArgs& args, unsigned blocks = 1);

// A word that kernels and host threads poll, on the given device.
uint64_t* new_word(int device = 0);

// Starts this executable with `arguments` after --role; gives the process id.
pid_t start_role(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {}, int output = -1);
// Exit status, or 128 + signal.
int wait_role(pid_t process);
// Runs to the end and gives what was written to stdout and stderr.
std::string run_role(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment, int* status);
int role_main(int argc, char** argv);  // host_runtime_roles.cc

std::string to_hex(const void* data, size_t bytes);
void from_hex(const std::string& text, void* data, size_t bytes);

}  // namespace host_runtime
