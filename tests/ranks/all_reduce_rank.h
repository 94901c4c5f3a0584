// One rank's part of an AllReduce under test: its buffers, the call, the check. Serves ranks that
// are threads, ranks of one thread in a group, and ranks that are processes.
#pragma once

#include <fmt/format.h>
#include <rccl/rccl.h>

#include <memory>
#include <string>

#include "../support/guarded_buffer.h"
#include "../support/reduction_model.h"

namespace weft::test {

struct Case {
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  size_t count = 1000;
  bool in_place = false;
  size_t offset = 0;  // of the buffers from 16-byte alignment, in elements
  uint64_t seed = 1;

  std::string text() const {
    return fmt::format("type {} op {} count {} in place {} offset {} seed {}", int(type), int(op),
                       count, in_place, offset, seed);
  }
};

// Whether the simulated device reads fp8 as FNUZ: CDNA3 does, nothing else.
inline bool device_is_fnuz() {
  static const bool fnuz = [] {
    hipDeviceProp_t properties{};
    require_hip(hipGetDeviceProperties(&properties, 0), "hipGetDeviceProperties");
    const std::string name = properties.gcnArchName;
    return name.starts_with("gfx940") || name.starts_with("gfx941") || name.starts_with("gfx942");
  }();
  return fnuz;
}

// Buffers of one rank; made, filled and freed with the rank's device current.
class RankBuffers {
 public:
  RankBuffers(const Case& what, int rank, int ranks)
      : case_(what), kind_(kind_of(what.type, device_is_fnuz())), rank_(rank), ranks_(ranks) {
    const size_t bytes = what.count * kind_.bytes, offset = what.offset * kind_.bytes;
    output_ = std::make_unique<GuardedBuffer>(bytes, offset);
    if (!what.in_place) input_ = std::make_unique<GuardedBuffer>(bytes, offset);
    pattern_ = input_pattern(kind_, what.op, rank, what.seed);
    refill();
  }

  void refill() const {
    const GuardedBuffer& from = input_ ? *input_ : *output_;
    from.write(repeated(pattern_, from.bytes()));
  }
  ncclResult_t all_reduce(ncclComm_t comm, hipStream_t stream) const {
    return ncclAllReduce(input(), output(), case_.count, case_.type, case_.op, comm, stream);
  }
  const void* input() const { return input_ ? input_->data() : output_->data(); }
  void* output() const { return output_->data(); }

  // "" when the result is right and nothing else was written. `expected` saves computing it again.
  std::string check(const std::vector<char>& expected) const {
    std::string wrong = output_->compare(expected, kind_.bytes);
    if (wrong.empty() && input_) {
      wrong = input_->compare(pattern_, kind_.bytes);
      if (!wrong.empty()) wrong = "the input: " + wrong;
    }
    if (wrong.empty()) return "";
    return fmt::format("rank {} of {}, {} ({}): {}", rank_, ranks_, case_.text(), kind_.name,
                       wrong);
  }
  std::string check() const { return check(expected()); }
  std::vector<char> expected() const {
    return expected_pattern(kind_, case_.op, ranks_, case_.seed);
  }

 private:
  const Case case_;
  const Kind& kind_;
  const int rank_, ranks_;
  std::vector<char> pattern_;
  std::unique_ptr<GuardedBuffer> input_, output_;
};

}  // namespace weft::test
