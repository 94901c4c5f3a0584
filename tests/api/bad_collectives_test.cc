// Calls that move data and are wrong by themselves: the code, the text, and what is not an error.
// A group keeps the good ones from starting: it is discarded. (AllReduce: bad_calls_test.cc.)
#include <array>

#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"

namespace weft::test {
namespace {

constexpr int kBadCallRanks = 3;
constexpr size_t kCount = 4;                         // elements of a segment
constexpr size_t kSegment = kCount * sizeof(float);  // bytes

struct Arguments {
  const void* in;
  void* out;
  size_t count = kCount;
  ncclDataType_t type = ncclFloat32;
  int root = 0;
  ncclRedOp_t op = ncclSum;
};

struct Function {
  const char* name;
  bool reduces, rooted, pairwise;
  bool reads[2], writes[2];  // on a rank that is not the root (for pairwise: not the peer), on it
  ncclResult_t (*call)(const Arguments&, ncclComm_t);
};

const Function kFunctions[] = {
    {"ncclAllReduce",
     true,
     false,
     false,
     {true, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclAllReduce(a.in, a.out, a.count, a.type, a.op, comm, nullptr);
     }},
    {"ncclReduce",
     true,
     true,
     false,
     {true, true},
     {false, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclReduce(a.in, a.out, a.count, a.type, a.op, a.root, comm, nullptr);
     }},
    {"ncclReduceScatter",
     true,
     false,
     false,
     {true, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclReduceScatter(a.in, a.out, a.count, a.type, a.op, comm, nullptr);
     }},
    {"ncclBroadcast",
     false,
     true,
     false,
     {false, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclBroadcast(a.in, a.out, a.count, a.type, a.root, comm, nullptr);
     }},
    {"ncclAllGather",
     false,
     false,
     false,
     {true, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclAllGather(a.in, a.out, a.count, a.type, comm, nullptr);
     }},
    {"ncclAlltoAll",
     false,
     false,
     false,
     {true, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclAlltoAll(a.in, a.out, a.count, a.type, comm, nullptr);
     }},
    {"ncclAllToAll",
     false,
     false,
     false,
     {true, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclAllToAll(a.in, a.out, a.count, a.type, comm, nullptr);
     }},
    {"ncclGather",
     false,
     true,
     false,
     {true, true},
     {false, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclGather(a.in, a.out, a.count, a.type, a.root, comm, nullptr);
     }},
    {"ncclScatter",
     false,
     true,
     false,
     {false, true},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclScatter(a.in, a.out, a.count, a.type, a.root, comm, nullptr);
     }},
    {"ncclSend",
     false,
     false,
     true,
     {true, true},
     {false, false},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclSend(a.in, a.count, a.type, a.root, comm, nullptr);
     }},
    {"ncclRecv",
     false,
     false,
     true,
     {false, false},
     {true, true},
     [](const Arguments& a, ncclComm_t comm) {
       return ncclRecv(a.out, a.count, a.type, a.root, comm, nullptr);
     }},
};

class BadCollectives : public testing::Test {
 protected:
  char* at(size_t offset) { return static_cast<char*>(memory_.data()) + offset; }
  Arguments apart() { return {at(0), at(1024)}; }

  // What a call says inside a group that then does nothing.
  ncclResult_t ask(const Function& function, const Arguments& arguments, int rank = 1) {
    require_ok(ncclGroupStart(), "ncclGroupStart");
    const ncclResult_t code = function.call(arguments, ranks_.comm(rank));
    text_ = code == ncclSuccess ? "" : ncclGetLastError(nullptr);
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_EQ(ncclGroupSimulateEnd(&info), code);
    return code;
  }
  void expect_bad(const Function& function, const Arguments& arguments,
                  const std::vector<std::string>& parts, int rank = 1) {
    EXPECT_EQ(ask(function, arguments, rank), ncclInvalidArgument) << function.name;
    expect_text(text_, parts);
    expect_text(text_, {function.name});
  }
  void expect_good(const Function& function, const Arguments& arguments, int rank = 1) {
    EXPECT_EQ(ask(function, arguments, rank), ncclSuccess) << function.name << ": " << text_;
  }

  LocalRanks ranks_{kBadCallRanks};
  GuardedBuffer memory_{4096, 0};
  std::string text_;
};

TEST_F(BadCollectives, GoodOnesAreNotRefused) {
  for (const Function& function : kFunctions)
    for (int rank = 0; rank < kBadCallRanks; ++rank)
      for (int root = 0; root < kBadCallRanks; ++root) {
        Arguments arguments = apart();
        arguments.root = root;
        expect_good(function, arguments, rank);
      }
}

TEST_F(BadCollectives, Communicators) {
  alignas(8) char zeros[256] = {};
  for (const Function& function : kFunctions)
    for (const ncclComm_t comm : {ncclComm_t(nullptr), reinterpret_cast<ncclComm_t>(zeros)})
      expect_error(function.call(apart(), comm), ncclInvalidArgument, {function.name});
}

TEST_F(BadCollectives, Types) {
  for (const Function& function : kFunctions)
    for (const int type : {-1, int(ncclNumTypes), 99}) {
      Arguments arguments = apart();
      arguments.type = ncclDataType_t(type);
      expect_bad(function, arguments, {"datatype is " + std::to_string(type)});
    }
}

TEST_F(BadCollectives, RootsAndPeers) {
  for (const Function& function : kFunctions)
    for (const int root : {-1, kBadCallRanks, INT32_MAX, INT32_MIN}) {
      if (!function.rooted && !function.pairwise) continue;
      Arguments arguments = apart();
      arguments.root = root;
      expect_bad(function, arguments,
                 {std::string(function.pairwise ? "peer is " : "root is ") + std::to_string(root),
                  "3 ranks"});
      arguments.count = 0;
      expect_bad(function, arguments, {std::to_string(root)});
    }
}

TEST_F(BadCollectives, Ops) {
  for (const Function& function : kFunctions)
    for (const int op : {-1, int(ncclNumOps), INT32_MAX}) {
      Arguments arguments = apart();
      arguments.op = ncclRedOp_t(op);
      if (function.reduces) expect_bad(function, arguments, {"op is " + std::to_string(op)});
    }
}

TEST_F(BadCollectives, CountsThatNoMemoryHolds) {
  for (const Function& function : kFunctions)
    for (const size_t count : {SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 12 + 1}) {
      Arguments arguments = apart();
      arguments.count = count;
      expect_bad(function, arguments, {std::to_string(count)});
    }
}

// Only what a rank reads or writes is looked at.
TEST_F(BadCollectives, NullPointers) {
  for (const Function& function : kFunctions)
    for (const bool is_root : {false, true}) {
      SCOPED_TRACE(testing::Message() << function.name << (is_root ? " root" : ""));
      Arguments no_input = apart(), no_output = apart();
      no_input.in = nullptr;
      no_output.out = nullptr;
      no_input.root = no_output.root = is_root ? 1 : 2;
      if (function.reads[is_root]) {
        expect_bad(function, no_input, {"sendbuff is NULL"});
      } else {
        expect_good(function, no_input);
      }
      if (function.writes[is_root]) {
        expect_bad(function, no_output, {"recvbuff is NULL"});
      } else {
        expect_good(function, no_output);
      }
      Arguments empty{nullptr, nullptr, 0};
      empty.root = no_input.root;
      expect_good(function, empty);
    }
}

TEST_F(BadCollectives, Alignment) {
  for (const Function& function : kFunctions)
    for (const bool is_root : {false, true}) {
      Arguments bad_input = apart(), bad_output = apart();
      bad_input.in = at(2);
      bad_output.out = at(1025);
      bad_input.root = bad_output.root = is_root ? 1 : 2;
      if (function.reads[is_root]) expect_bad(function, bad_input, {"sendbuff", "not aligned"});
      if (function.writes[is_root]) expect_bad(function, bad_output, {"recvbuff", "not aligned"});
    }
}

// Every shift of one buffer against the other, of a rank that is neither first nor last: which are
// apart, which are in place.
TEST_F(BadCollectives, Overlap) {
  struct Shape {
    const char* name;
    size_t in, out;  // segments
    long in_place;   // recvbuff - sendbuff, in segments
  };
  const Shape shapes[] = {{"ncclAllReduce", 1, 1, 0},  {"ncclReduce", 1, 1, 0},
                          {"ncclBroadcast", 1, 1, 0},  {"ncclReduceScatter", 3, 1, 1},
                          {"ncclAllGather", 1, 3, -1}, {"ncclAlltoAll", 3, 3, 0},
                          {"ncclGather", 1, 3, -1},    {"ncclScatter", 3, 1, 1}};
  for (const Shape& shape : shapes)
    for (const Function& function : kFunctions) {
      if (std::string(function.name) != shape.name) continue;
      for (long shift = -64; shift <= 64; shift += 4) {
        SCOPED_TRACE(testing::Message() << shape.name << " shifted by " << shift);
        Arguments arguments{at(1024), at(size_t(1024 + shift))};
        arguments.root = 1;
        const bool overlap =
            shift < long(shape.in * kSegment) && -shift < long(shape.out * kSegment);
        if (!overlap || shift == shape.in_place * long(kSegment)) {
          expect_good(function, arguments);
        } else {
          expect_bad(function, arguments, {"overlap", "in place"});
        }
      }
    }
}

// The same base on every rank is in place on rank 0 only.
TEST_F(BadCollectives, InPlaceIsByRank) {
  for (const Function& function : kFunctions)
    for (int rank = 0; rank < kBadCallRanks; ++rank) {
      if (std::string(function.name) != "ncclAllGather") continue;
      const Arguments right{at(size_t(rank) * kSegment), at(0)}, wrong{at(0), at(0)};
      expect_good(function, right, rank);
      if (rank != 0) expect_bad(function, wrong, {"recvbuff + rank * sendcount"}, rank);
    }
}

// Buffers that a rank does not use may be anything, also the same.
TEST_F(BadCollectives, WhatIsNotUsedMayOverlap) {
  for (const Function& function : kFunctions) {
    if (!function.rooted) continue;
    Arguments arguments{at(0), at(4)};
    arguments.root = 2;
    expect_good(function, arguments, 1);
  }
}

TEST_F(BadCollectives, MemoryOfTheHostIsFoundWhenAsked) {
  const ScopedEnv check("NCCL_CHECK_POINTERS", "1");
  const LocalRanks checked(2);
  std::array<float, 64> on_stack{};
  Arguments arguments{at(0), on_stack.data()};
  for (const Function& function : kFunctions)
    if (function.writes[1])
      expect_error(function.call(arguments, checked.comm(0)), ncclInvalidArgument,
                   {function.name, "recvbuff"});
}

TEST_F(BadCollectives, Bias) {
  const auto call = [&](void* out, const void* bias, size_t count = kCount) {
    return ncclAllReduceWithBias(at(0), out, count, ncclFloat32, ncclSum, ranks_.comm(0), nullptr,
                                 bias);
  };
  expect_error(call(at(1024), nullptr), ncclInvalidArgument,
               {"ncclAllReduceWithBias", "acc is NULL"});
  expect_error(call(at(1024), nullptr, 0), ncclInvalidArgument, {"acc is NULL"});
  expect_error(call(at(1024), at(2049)), ncclInvalidArgument, {"acc", "not aligned"});
  expect_error(call(at(1024), at(1028)), ncclInvalidArgument, {"acc", "recvbuff", "overlap"});
  expect_error(call(at(1024), at(1020)), ncclInvalidArgument, {"acc", "recvbuff", "overlap"});
}

TEST_F(BadCollectives, BcastNamesItself) {
  expect_error(ncclBcast(nullptr, 4, ncclFloat32, 0, ranks_.comm(0), nullptr), ncclInvalidArgument,
               {"ncclBcast", "NULL"});
  expect_error(ncclBcast(at(0), 4, ncclFloat32, 3, ranks_.comm(0), nullptr), ncclInvalidArgument,
               {"ncclBcast", "root is 3"});
}

}  // namespace
}  // namespace weft::test
