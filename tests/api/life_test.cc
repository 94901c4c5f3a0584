// How communicators come and go: non-blocking inits, finalize, destroy, abort, leaks, exit, and
// what calls leave alone.
#include <dlfcn.h>

#include <filesystem>

#include "../support/child_processes.h"
#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../unit/scoped_log.h"
#include "communicator.h"
#include "exit_roles.h"

namespace weft::test {
namespace {

ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

// Sums one float of every rank, from one thread; what the ranks then hold.
void expect_sum(const std::vector<ncclComm_t>& comms, int first_device = 0) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  const float one = 1;
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    const LocalRanks::OnDevice scope(first_device + int(rank));
    buffers.push_back(std::make_unique<GuardedBuffer>(4, 0));
    require_hip(hipMemcpy(buffers[rank]->data(), &one, 4, hipMemcpyHostToDevice), "hipMemcpy");
  }
  require_ok(ncclGroupStart(), "ncclGroupStart");
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    void* data = buffers[rank]->data();
    require_ok(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comms[rank], nullptr),
               "ncclAllReduce");
  }
  require_ok(ncclGroupEnd(), "ncclGroupEnd");
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    const LocalRanks::OnDevice scope(first_device + int(rank));
    float sum = 0;
    require_hip(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
    require_hip(hipMemcpy(&sum, buffers[rank]->data(), 4, hipMemcpyDeviceToHost), "hipMemcpy");
    EXPECT_EQ(sum, float(comms.size()));
  }
}

TEST(NonBlocking, InitGoesOnInTheBackground) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = non_blocking();
  std::vector<ncclComm_t> comms(3);
  for (int rank = 0; rank < 3; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    const long took = milliseconds_of([&] {
      EXPECT_EQ(ncclCommInitRankConfig(&comms[size_t(rank)], 3, id, rank, &config), ncclInProgress);
    });
    EXPECT_LT(took, 1000);
    ASSERT_NE(comms[size_t(rank)], nullptr);
    if (rank > 0) continue;
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
    EXPECT_EQ(state, ncclInProgress);
    float x = 0;
    expect_error(ncclAllReduce(&x, &x, 1, ncclFloat32, ncclSum, comms[0], nullptr),
                 ncclInvalidArgument, {"still initialising"});
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(poll_async(comm, ncclInProgress), ncclSuccess);
  expect_sum(comms);
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NonBlocking, ByTheEnvironment) {
  const ScopedEnv env("NCCL_COMM_BLOCKING", "0");
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInProgress);
  EXPECT_EQ(poll_async(comm, ncclInProgress), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NonBlocking, AFailedInitIsAnAsynchronousError) {
  const ScopedEnv limit("WEFT_INIT_TIMEOUT", "0.3");
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(poll_async(comm, ncclInProgress), ncclSystemError);
  expect_text(ncclGetLastError(comm), {"1 of 2 ranks", "rank 1"});
  float x = 0;
  expect_error(ncclAllReduce(&x, &x, 1, ncclFloat32, ncclSum, comm, nullptr), ncclInvalidUsage,
               {"ncclAllReduce"});
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

// L13: the peer never comes.
TEST(NonBlocking, L13AbortOfAnInitThatCannotEnd) {
  for (const bool grouped : {false, true}) {
    ncclUniqueId id;
    require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ncclConfig_t config = non_blocking();
    ncclComm_t comm = nullptr;
    const long init = milliseconds_of([&] {
      if (grouped) require_ok(ncclGroupStart(), "ncclGroupStart");
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config),
                grouped ? ncclSuccess : ncclInProgress);
      if (!grouped) return;
      EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    });
    EXPECT_LT(init, 1000);
    ASSERT_NE(comm, nullptr);
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInProgress);
    EXPECT_LT(milliseconds_of([&] { EXPECT_EQ(ncclCommAbort(comm), ncclSuccess); }), 1000);
  }
}

TEST(NonBlocking, DestroyOfAnInitThatCannotEnd) {
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_LT(milliseconds_of([&] { (void)ncclCommDestroy(comm); }), 1000);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument);
}

TEST(Life, Queries) {
  const int devices[] = {5, 2, 7};
  ncclComm_t comms[3] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 3, devices), ncclSuccess);
  for (int i = 0; i < 3; ++i) {
    int count = 0, rank = -1, device = -1;
    EXPECT_EQ(ncclCommCount(comms[i], &count), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comms[i], &rank), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comms[i], &device), ncclSuccess);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(rank, i);
    EXPECT_EQ(device, devices[i]);
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Life, FinalizeWaitsForOperationsAndRefusesMore) {
  LocalRanks ranks(2);
  expect_sum({ranks.comm(0), ranks.comm(1)});
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ncclCommFinalize(ranks.comm(rank)), ncclSuccess);
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(ranks.comm(0), &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
  float x = 0;
  expect_error(ncclAllReduce(&x, &x, 1, ncclFloat32, ncclSum, ranks.comm(0), nullptr),
               ncclInvalidUsage, {"was finalized"});
  EXPECT_EQ(ncclCommFinalize(ranks.comm(0)), ncclSuccess);
}

// A destroy right after a call: the call still ends, on all ranks.
TEST(Life, DestroyRightAfterACall) {
  constexpr size_t kCount = 200'000;
  for (int round = 0; round < 5; ++round) {
    LocalRanks ranks(3);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers(3);
    const std::vector<char> one = {0, 0, char(0x80), 0x3f}, three = {0, 0, 0x40, 0x40};
    on_threads(3, [&](int rank) {
      auto& buffer = buffers[size_t(rank)];
      buffer = std::make_unique<GuardedBuffer>(4 * kCount, 0);
      std::vector<char> all(4 * kCount);
      for (size_t i = 0; i < all.size(); ++i) all[i] = one[i % 4];
      buffer->write(all);
      require_ok(ncclAllReduce(buffer->data(), buffer->data(), kCount, ncclFloat32, ncclSum,
                               ranks.comm(rank), ranks.stream(rank)),
                 "ncclAllReduce");
      EXPECT_EQ(ncclCommDestroy(ranks.take(rank)), ncclSuccess);
    });
    ranks.synchronize();
    for (const auto& buffer : buffers) EXPECT_EQ(buffer->compare(three, 4), "");
  }
}

// One thread destroys its communicators one after another: no destroy waits for the next.
TEST(Life, DestroyOneAfterAnother) {
  LocalRanks ranks(4);
  expect_sum({ranks.comm(0), ranks.comm(1), ranks.comm(2), ranks.comm(3)});
  EXPECT_LT(milliseconds_of([&] {
              for (int rank = 0; rank < 4; ++rank)
                EXPECT_EQ(ncclCommDestroy(ranks.take(rank)), ncclSuccess);
            }),
            2000);
}

// A24
TEST(Settings, A24ANewCommunicatorSeesNewValues) {
  for (const char* channels : {"3", "5", "2"}) {
    const ScopedEnv least("NCCL_MIN_NCHANNELS", channels);
    const ScopedEnv most("NCCL_MAX_NCHANNELS", channels);
    const LocalRanks ranks(2);
    EXPECT_EQ(ranks.comm(0)->comm->geometry.box.channels, unsigned(std::stoi(channels)));
    expect_sum({ranks.comm(0), ranks.comm(1)});
  }
}

void expect_any_buffer_size(const char* value) {
  SCOPED_TRACE(std::string("NCCL_BUFFSIZE=") + value);
  const ScopedEnv env("NCCL_BUFFSIZE", value);
  const LocalRanks ranks(2);
  constexpr size_t kCount = 300'001;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  for (int rank = 0; rank < 2; ++rank) {
    const LocalRanks::OnDevice scope(rank);
    buffers.push_back(std::make_unique<GuardedBuffer>(4 * kCount, 0));
    std::vector<char> content(4 * kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const int x = int(i) * (rank + 1);
      std::memcpy(&content[4 * i], &x, 4);
    }
    buffers[size_t(rank)]->write(content);
    void* data = buffers[size_t(rank)]->data();
    require_ok(
        ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, ranks.comm(rank), ranks.stream(rank)),
        "ncclAllReduce");
  }
  ranks.synchronize();
  std::vector<char> expected(4 * kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const int x = int(i) * 3;
    std::memcpy(&expected[4 * i], &x, 4);
  }
  for (const auto& buffer : buffers) EXPECT_EQ(buffer->compare(expected, 4), "");
}

// A25: clamped, and right. What is no number is refused (bad_calls_test.cc).
TEST(Settings, A25AnyBufferSizeIsRight) {
  for (const char* value : {"0", "1", "3", "-1", "65536", "1048576", "12345678"})
    expect_any_buffer_size(value);
}
TEST(Settings, CiA25AGigabyte) { expect_any_buffer_size("1G"); }

// D06: no call changes the calling thread's device.
TEST(Device, D06IsUnchangedByEveryCall) {
  static constexpr int kCurrent = 3;
  const LocalRanks::OnDevice scope(kCurrent);
  const auto unchanged = [](const char* what) {
    int device = -1;
    require_hip(hipGetDevice(&device), "hipGetDevice");
    EXPECT_EQ(device, kCurrent) << what;
  };
  ncclUniqueId id;
  ncclComm_t comms[4] = {};
  const int devices[] = {0, 1};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  unchanged("ncclGetUniqueId");
  EXPECT_EQ(ncclCommInitAll(comms, 2, devices), ncclSuccess);
  unchanged("ncclCommInitAll");
  EXPECT_EQ(ncclCommInitRank(&comms[2], 1, id, 0), ncclSuccess);
  unchanged("ncclCommInitRank");
  EXPECT_NE(ncclCommInitRank(&comms[3], 1, id, 0), ncclSuccess);
  unchanged("a failing ncclCommInitRank");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt8, ncclSum, comms[rank], nullptr),
              ncclSuccess);
    unchanged("ncclAllReduce");
  }
  EXPECT_NE(ncclAllReduce(nullptr, nullptr, 9, ncclInt8, ncclSum, comms[0], nullptr), ncclSuccess);
  unchanged("a failing ncclAllReduce");
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt8, ncclSum, comms[rank], nullptr),
              ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  unchanged("ncclGroupEnd");
  void* memory = nullptr;
  EXPECT_EQ(ncclMemAlloc(&memory, 100), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  unchanged("ncclMemAlloc, ncclMemFree");
  ncclResult_t state;
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  unchanged("ncclCommGetAsyncError");
  EXPECT_EQ(ncclCommFinalize(comms[0]), ncclSuccess);
  unchanged("ncclCommFinalize");
  EXPECT_EQ(ncclCommDestroy(comms[0]), ncclSuccess);
  unchanged("ncclCommDestroy");
  EXPECT_EQ(ncclCommAbort(comms[1]), ncclSuccess);
  unchanged("ncclCommAbort");
  EXPECT_EQ(ncclCommDestroy(comms[2]), ncclSuccess);
  unchanged("ncclCommDestroy of one rank");
}

size_t free_bytes(int device) {
  const LocalRanks::OnDevice scope(device);
  size_t free = 0, total = 0;
  require_hip(hipMemGetInfo(&free, &total), "hipMemGetInfo");
  return free;
}

// D07: only the devices of the communicator are touched.
TEST(Device, D07OthersAreLeftAlone) {
  std::vector<size_t> before;
  for (int device = 0; device < 16; ++device) before.push_back(free_bytes(device));
  const int devices[] = {9, 14};
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 2, devices), ncclSuccess);
  for (int device = 0; device < 16; ++device) {
    const bool used = device == 9 || device == 14;
    EXPECT_EQ(free_bytes(device) < before[size_t(device)], used) << device;
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// What L10 counts.
struct Usage {
  long descriptors, threads, mappings, resident_kb;
  size_t device_free;
  std::string text() const {
    return fmt::format("descriptors {} threads {} mappings {} resident {} KiB, free on device {}",
                       descriptors, threads, mappings, resident_kb, device_free);
  }
};

long entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

Usage usage() {
  const std::string status = read_text("/proc/self/status");
  const long resident = std::stol(status.substr(status.find("VmRSS:") + 6));
  return {entries("/proc/self/fd"), entries("/proc/self/task"),
          long(count_of(read_text("/proc/self/maps"), "\n")), resident, free_bytes(0)};
}

// A round may begin before the one before it has been given back, so that it takes more sets of the
// pooled words (state_memory.h) than ever before. A leak of a set a round is more.
constexpr size_t kPooled = 16 << 10;

// What communicators of one process leave is given back in the background: waits until descriptors
// and threads are no more than `limit`, within a deadline.
Usage settled(const Usage& limit) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Usage now = usage();
  while ((now.descriptors > limit.descriptors || now.threads > limit.threads ||
          now.device_free + kPooled < limit.device_free) &&
         std::chrono::steady_clock::now() < deadline)
    now = usage();
  return now;
}

void expect_flat(int rounds) {
  [[maybe_unused]] constexpr long kMappings = 20;
  [[maybe_unused]] constexpr long kResidentKb = 8 * 1024;
  const auto round = [](int index) {
    LocalRanks ranks(2, LocalRanks::kThreads);
    expect_sum({ranks.comm(0), ranks.comm(1)});
    if (index % 2 == 0) return;
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ncclCommAbort(ranks.take(rank)), ncclSuccess);
  };
  Usage settle = usage();
  for (int i = 0; i < 10; ++i) round(i);
  // The first rounds load what stays: take the level to which the process comes down.
  settle.descriptors += 16, settle.threads += 16, settle.device_free = 0;
  const Usage before = settled(settle);
  for (int i = 0; i < rounds; ++i) round(i);
  const Usage after = settled(before);
  SCOPED_TRACE("before: " + before.text() + "; after: " + after.text());
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_LE(after.threads, before.threads);
  EXPECT_GE(after.device_free + kPooled, before.device_free);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  EXPECT_LE(after.mappings, before.mappings + kMappings);
  EXPECT_LE(after.resident_kb, before.resident_kb + kResidentKb);
#endif
}

TEST(Leaks, L10NothingGrows) { expect_flat(40); }
TEST(Leaks, CiL10NothingGrowsIn200Rounds) { expect_flat(200); }

// L09: the process ends cleanly and soon, whatever it still has.
TEST(Exit, L09IsCleanAndSoon) {
  for (const char* how : {"never_destroyed", "static_destructor", "atexit", "init_in_background",
                          "operation_waits", "after_destroy", "after_abort"}) {
    SCOPED_TRACE(how);
    ChildProcesses children;
    const auto start = std::chrono::steady_clock::now();
    children.start({"exit", how});
    const ChildResult child = children.collect(std::chrono::seconds(20))[0];
    EXPECT_TRUE(child.ok()) << child.output << " status " << child.status;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

struct Holder {
  ncclComm_t comms[2] = {};
  void (*end)(ncclComm_t) = nullptr;
  ~Holder() {
    for (const ncclComm_t comm : comms)
      if (end != nullptr && comm != nullptr) end(comm);
  }
};

void destroy_or_die(ncclComm_t comm) {
  if (ncclCommDestroy(comm) == ncclSuccess) return;
  fprintf(stderr, "%s\n", ncclGetLastError(nullptr));
  _exit(9);
}

Holder& global_holder() {
  static Holder holder;
  return holder;
}

int call_without_peer(ncclComm_t comm) {
  void* memory = nullptr;
  if (hipMalloc(&memory, 4096) != hipSuccess) return 5;
  return ncclAllReduce(memory, memory, 1024, ncclFloat32, ncclSum, comm, nullptr) == ncclSuccess
             ? 0
             : 6;
}

}  // namespace

int exit_with(const std::vector<std::string>& arguments) {
  const std::string& how = arguments.at(0);
  static Holder before_library;  // its destructor runs after those of the library
  Holder& late = global_holder();
  if (how == "init_in_background") {
    ncclUniqueId id;
    ncclConfig_t config = non_blocking();
    if (ncclGetUniqueId(&id) != ncclSuccess) return 2;
    return ncclCommInitRankConfig(&late.comms[0], 2, id, 0, &config) == ncclInProgress ? 0 : 3;
  }
  ncclComm_t* comms = how == "static_destructor" ? before_library.comms : late.comms;
  if (ncclCommInitAll(comms, 2, nullptr) != ncclSuccess) return 4;
  expect_sum({comms[0], comms[1]});
  // The HIP runtime has ended before: an error is fine, a crash is not.
  if (how == "static_destructor")
    before_library.end = [](ncclComm_t comm) { (void)ncclCommDestroy(comm); };
  if (how == "atexit")
    atexit([] {
      for (ncclComm_t& comm : global_holder().comms) destroy_or_die(std::exchange(comm, nullptr));
    });
  if (how == "operation_waits") return call_without_peer(comms[0]);
  if (how == "after_destroy" || how == "after_abort")
    for (int i = 0; i < 2; ++i)
      if ((how == "after_abort" ? ncclCommAbort(comms[i]) : ncclCommDestroy(comms[i])) !=
          ncclSuccess)
        return 7;
  return 0;
}

}  // namespace weft::test
