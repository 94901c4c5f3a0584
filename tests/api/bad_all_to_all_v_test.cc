// ncclAlltoAllv with arrays and buffers that cannot be.
#include "../support/expect_error.h"
#include "../support/local_ranks.h"

namespace weft::test {
namespace {

using Sizes = std::vector<size_t>;

class BadAllToAllV : public testing::Test {
 protected:
  char* at(size_t offset) { return static_cast<char*>(memory_.data()) + offset; }

  struct Call {
    const void* in;
    void* out;
    Sizes send_counts{1, 2, 3}, send_at{0, 1, 3}, receive_counts{2, 2, 2}, receive_at{0, 2, 4};
    ncclDataType_t type = ncclFloat32;
  };
  Call good() { return {at(0), at(1024)}; }

  // Inside a group that then does nothing.
  ncclResult_t ask(const Call& call) {
    require_ok(ncclGroupStart(), "ncclGroupStart");
    const auto data = [](const Sizes& sizes) { return sizes.empty() ? nullptr : sizes.data(); };
    const ncclResult_t code = ncclAlltoAllv(
        call.in, data(call.send_counts), data(call.send_at), call.out, data(call.receive_counts),
        data(call.receive_at), call.type, ranks_.comm(1), nullptr);
    text_ = code == ncclSuccess ? "" : ncclGetLastError(nullptr);
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_EQ(ncclGroupSimulateEnd(&info), code);
    return code;
  }
  void expect_bad(const Call& call, const std::vector<std::string>& parts) {
    EXPECT_EQ(ask(call), ncclInvalidArgument);
    expect_text(text_, parts);
    expect_text(text_, {"ncclAlltoAllv"});
  }
  void expect_good(const Call& call) { EXPECT_EQ(ask(call), ncclSuccess) << text_; }

  LocalRanks ranks_{3};
  GuardedBuffer memory_{4096, 0};
  std::string text_;
};

TEST_F(BadAllToAllV, Arrays) {
  expect_good(good());
  for (auto [member, name] : {std::pair{&Call::send_counts, "sendcounts"},
                              {&Call::send_at, "sdispls"},
                              {&Call::receive_counts, "recvcounts"},
                              {&Call::receive_at, "rdispls"}}) {
    Call call = good();
    (call.*member).clear();
    expect_bad(call, {std::string(name) + " is NULL"});
  }
}

TEST_F(BadAllToAllV, TypesAndSizes) {
  Call call = good();
  call.type = ncclNumTypes;
  expect_bad(call, {"datatype is 12"});
  call = good();
  call.send_counts[2] = SIZE_MAX / 2;
  expect_bad(call, {"count is"});
  call = good();
  call.send_at[2] = SIZE_MAX / 2;
  expect_bad(call, {"sdispls[2]"});
  call = good();
  call.receive_at[1] = SIZE_MAX / 2;
  expect_bad(call, {"rdispls[1]"});
}

TEST_F(BadAllToAllV, Buffers) {
  Call call = good();
  call.in = nullptr;
  expect_bad(call, {"sendbuff is NULL"});
  call.send_counts = {0, 0, 0};
  expect_good(call);
  call.out = nullptr;
  expect_bad(call, {"recvbuff is NULL"});
  call.receive_counts = {0, 0, 0};
  expect_good(call);
  call = good();
  call.in = at(2);
  expect_bad(call, {"not aligned"});
}

TEST_F(BadAllToAllV, Overlap) {
  Call call = good();
  call.out = at(0);
  expect_bad(call, {"overlap", "never in place"});
  call.out = at(20);  // the last element that is sent
  expect_bad(call, {"overlap"});
  call.out = at(24);  // behind it
  expect_good(call);
  call = good();
  call.receive_at = {0, 1, 4};
  expect_bad(call, {"parts of recvbuff overlap"});
  call = good();
  call.send_at = {0, 0, 0};  // what is sent is only read
  expect_good(call);
  // Parts of the one between parts of the other.
  call.out = at(0);
  call.send_counts = {1, 1, 1}, call.send_at = {0, 2, 4};
  call.receive_counts = {1, 1, 1}, call.receive_at = {1, 3, 5};
  expect_good(call);
  call.send_counts = {6, 1, 1};
  expect_bad(call, {"overlap"});
  call.receive_counts = {1, 0, 0}, call.receive_at = {5, 0, 0};  // in the first, behind the others
  expect_bad(call, {"overlap"});
}

TEST_F(BadAllToAllV, OldSpellingNamesItself) {
  const Sizes sizes{1, 1, 1};
  expect_error(ncclAllToAllv(at(0), nullptr, sizes.data(), at(1024), sizes.data(), sizes.data(),
                             ncclFloat32, ranks_.comm(0), nullptr),
               ncclInvalidArgument, {"ncclAllToAllv", "sendcounts is NULL"});
  expect_error(ncclAllToAllv(at(0), sizes.data(), sizes.data(), at(1024), sizes.data(),
                             sizes.data(), ncclFloat32, nullptr, nullptr),
               ncclInvalidArgument, {"ncclAllToAllv", "NULL"});
}

}  // namespace
}  // namespace weft::test
