// A call that must fail: its code, and what its text must name.
#pragma once

#include <gtest/gtest.h>
#include <rccl/rccl.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {

inline void expect_text(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
}

// Of the calling thread's last call.
inline void expect_error(ncclResult_t got, ncclResult_t want,
                         const std::vector<std::string>& parts) {
  EXPECT_EQ(got, want) << ncclGetLastError(nullptr);
  expect_text(ncclGetLastError(nullptr), parts);
}

// Polls until the communicator has an asynchronous state other than `until_not`; that state.
inline ncclResult_t poll_async(ncclComm_t comm, ncclResult_t until_not = ncclSuccess) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  ncclResult_t state = until_not;
  while (state == until_not && std::chrono::steady_clock::now() < deadline) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return ncclInternalError;
    std::this_thread::yield();
  }
  return state;
}

// How long body takes, in milliseconds.
inline long milliseconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return long(std::chrono::duration_cast<std::chrono::milliseconds>(
                  std::chrono::steady_clock::now() - start)
                  .count());
}

}  // namespace weft::test
