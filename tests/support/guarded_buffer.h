// Device memory with guard bytes on both sides, at any offset from 16-byte alignment, on the
// current device.
#pragma once

#include <hip/hip_runtime.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::test {

inline void require_hip(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

class GuardedBuffer {
 public:
  static constexpr size_t kGuard = 256;
  static constexpr char kFill = char(0xa5);

  GuardedBuffer(size_t bytes, size_t offset) : bytes_(bytes), before_(kGuard + offset) {
    const std::vector<char> fill(before_ + bytes_ + kGuard, kFill);
    require_hip(hipMalloc(reinterpret_cast<void**>(&memory_), fill.size()), "hipMalloc");
    require_hip(hipMemcpy(memory_, fill.data(), fill.size(), hipMemcpyHostToDevice), "hipMemcpy");
  }
  ~GuardedBuffer() { (void)hipFree(memory_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* data() const { return memory_ + before_; }
  size_t bytes() const { return bytes_; }

  void write(const std::vector<char>& content) const {
    if (!content.empty())
      require_hip(hipMemcpy(data(), content.data(), content.size(), hipMemcpyHostToDevice),
                  "hipMemcpy");
  }
  std::vector<char> read() const {
    std::vector<char> all(before_ + bytes_ + kGuard);
    require_hip(hipMemcpy(all.data(), memory_, all.size(), hipMemcpyDeviceToHost), "hipMemcpy");
    return all;
  }

  // "" when the content is `pattern` over and over and the guards are as they were.
  std::string compare(const std::vector<char>& pattern, size_t element) const {
    const std::vector<char> all = read();
    for (size_t i = 0; i < before_; ++i)
      if (all[i] != kFill) return "byte " + std::to_string(before_ - i) + " before it was written";
    for (size_t i = before_ + bytes_; i < all.size(); ++i)
      if (all[i] != kFill)
        return "byte " + std::to_string(i - before_ - bytes_) + " after it was written";
    for (size_t at = 0; at < bytes_; at += pattern.size()) {
      const size_t n = std::min(pattern.size(), bytes_ - at);
      if (std::memcmp(&all[before_ + at], pattern.data(), n) == 0) continue;
      for (size_t i = 0; i < n; ++i)
        if (all[before_ + at + i] != pattern[i])
          return "element " + std::to_string((at + i) / element) + " of " +
                 std::to_string(bytes_ / element) + " is wrong";
    }
    return "";
  }

 private:
  size_t bytes_, before_;
  char* memory_ = nullptr;
};

}  // namespace weft::test
