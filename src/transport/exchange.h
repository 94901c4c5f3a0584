// How the ranks of an init step tell each other what they did, and fail together.
// Owns: packing of small records into texts, and the rule that one rank's failure is everybody's,
// with that rank's reason. Does not own: how texts travel (bootstrap/bootstrap.h).
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "error.h"

namespace weft {

// Writes plain values and texts one after the other; Unpacker reads them in the same order.
class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> Packer& value(const T& v) {
    bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  Packer& text(std::string_view t) {
    value(static_cast<uint32_t>(t.size()));
    bytes_.append(t);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws Error(ncclInternalError) when the bytes end too early: both ends run the same version, so
// it is our bug.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> T value() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  std::string text() { return std::string(take(value<uint32_t>())); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view take(size_t n) {
    if (n > rest_.size())
      fail(ncclInternalError, "a record of a peer ends {} bytes early", n - rest_.size());
    const std::string_view part = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return part;
  }
  std::string_view rest_;
};

// What ended this rank's part of a step; ncclSuccess: nothing.
struct Failure {
  ncclResult_t code = ncclSuccess;
  std::string text;
};

// Runs `step` and keeps what it throws, so that this rank still comes to the exchange that its
// peers wait in.
template <class Step>
Failure attempt(Step&& step) {
  try {
    step();
  } catch (const Error& error) {
    return {error.code(), error.text()};
  } catch (const std::exception& error) {
    return {ncclSystemError, error.what()};
  }
  return {};
}

// All ranks get the payloads of all, indexed by rank. When any rank failed, all throw: that rank
// its own failure, the others Error(ncclRemoteError) with the reason of the lowest rank that
// failed.
std::vector<std::string> exchange(Bootstrap& bootstrap, const Failure& own,
                                  const std::string& payload);

}  // namespace weft
