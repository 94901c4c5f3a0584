// One call of an operation with buffers of its own. Owns: the buffers, and the comparison of what
// came out, bit by bit, with what must. A wrong result ends the program.
#pragma once

#include <string>
#include <vector>

#include "operations.h"
#include "ranks.h"

namespace amd_test {

class Prepared {
 public:
  // `call`: everything but its buffers and its root.
  Prepared(const Job& job, const Operation& operation, Call call);
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Call& call() const { return call_; }
  size_t input_bytes() const { return input_.size(); }
  size_t output_bytes() const { return output_.size(); }

  void issue() const;        // on the call's stream
  void synchronize() const;  // the host waits for that stream
  void check() const;        // and what came out is right
  void reset() const;        // the output is as before the first call

 private:
  std::string text() const;
  // On the call's stream: while another rank captures, HIP refuses what uses the legacy stream.
  void copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) const;

  const Job job_;
  const Operation& operation_;
  Call call_;
  std::vector<char> input_, output_;  // what the buffers hold at first
  void *from_ = nullptr, *to_ = nullptr;
};

}  // namespace amd_test
