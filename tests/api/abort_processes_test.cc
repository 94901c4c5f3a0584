// Aborts with the peer in another process: the test program runs itself again as
// `api_spine_test abort_rank <rank> <what> <id> <fifo>`. Rank 1 does nothing until rank 0, which
// aborts, opens the FIFO.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>

#include "../support/child_processes.h"
#include "../support/expect_error.h"
#include "../support/local_ranks.h"
#include "../support/unique_id_text.h"
#include "../unit/scoped_log.h"
#include "exit_roles.h"
#include "thread_budget.h"

namespace weft::test {
namespace {

constexpr std::chrono::seconds kLimit{60};
constexpr size_t kCount = 1000;

// The output of rank 0.
std::string run_two_ranks(const std::string& what) {
  const TempFolder folder;
  const std::string fifo = folder.file("fifo");
  if (mkfifo(fifo.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
  ncclUniqueId id;
  require_ok(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const ScopedEnv workers("WEFT_HOST_WORKERS", "1");
  ChildProcesses children;
  for (const char* rank : {"0", "1"}) children.start({"abort_rank", rank, what, to_hex(id), fifo});
  const std::vector<ChildResult> results = children.collect(kLimit);
  for (const ChildResult& child : results)
    EXPECT_TRUE(child.ok()) << child.output << " status " << child.status;
  return results[0].output;
}

// L01: the peer has not called, will not, and its host does nothing.
TEST(AbortProcesses, L01WhileThePeerHangs) {
  const std::string output = run_two_ranks("operation");
  const size_t at = output.find("ABORTED ");
  ASSERT_NE(at, std::string::npos) << output;
  EXPECT_LT(std::stol(output.substr(at + 8)), 1000) << output;
}

// The program's own work holds back an operation that then runs after its communicator is gone.
TEST(AbortProcesses, AnOperationThatComesAfterTheAbortFindsItsMemory) {
  expect_text(run_two_ranks("queued"), {"kernels of rank 0 still run", "ENDED"});
}

// The end of the process still hears that the peer is gone, and does not wait its full time.
TEST(AbortProcesses, TheEndOfAProcessWithoutThreadsIsSoon) {
  EXPECT_LT(milliseconds_of([] { expect_text(run_two_ranks("no_threads"), {"ABORTED"}); }), 4000);
}

long threads_of_process() {
  long count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

bool threads_come_down_to(long limit) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit / 2;
  while (threads_of_process() > limit) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// A stream that stands still until open().
class Gate {
 public:
  Gate() {
    require_hip(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "hipStreamCreate");
    const auto wait = [](void* self) {
      static_cast<Gate*>(self)->reached_.set_value();
      static_cast<Gate*>(self)->opened_.get_future().wait();
    };
    require_hip(hipLaunchHostFunc(stream_, wait, this), "hipLaunchHostFunc");
    reached_.get_future().wait();
  }
  hipStream_t stream() const { return stream_; }
  void open() { opened_.set_value(); }

 private:
  hipStream_t stream_ = nullptr;
  std::promise<void> reached_, opened_;
};

ncclComm_t init(int rank, const std::string& id) {
  ncclComm_t comm = nullptr;
  require_hip(hipSetDevice(rank), "hipSetDevice");
  require_ok(ncclCommInitRank(&comm, 2, from_hex(id), rank), "ncclCommInitRank");
  return comm;
}

void sum(const GuardedBuffer& buffer, ncclComm_t comm, hipStream_t stream) {
  require_ok(
      ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclFloat32, ncclSum, comm, stream),
      "ncclAllReduce");
}

int abort_with_operation(const std::string& id, const std::string& fifo, int threads) {
  const ncclComm_t comm = init(0, id);
  const GuardedBuffer buffer(4 * kCount, 0);
  sum(buffer, comm, nullptr);
  const ThreadBudget budget(threads);
  const long took = milliseconds_of([&] { require_ok(ncclCommAbort(comm), "ncclCommAbort"); });
  std::cout << "ABORTED " << took << std::endl;
  const std::ofstream wakes_the_peer(fifo);
  return 0;
}

int abort_with_queued_operation(const std::string& id, const std::string& fifo) {
  const GuardedBuffer buffer(4 * kCount, 0);
  require_hip(hipMemsetAsync(buffer.data(), 0, 4 * kCount, nullptr), "hipMemsetAsync");
  require_hip(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
  Gate gate;
  const long before = threads_of_process();  // those of the runtime all run
  const ncclComm_t comm = init(0, id);
  sum(buffer, comm, gate.stream());
  require_ok(ncclCommAbort(comm), "ncclCommAbort");
  { const std::ofstream wakes_the_peer(fifo); }
  if (!threads_come_down_to(before)) throw std::runtime_error("the communicator is not gone");
  gate.open();
  require_hip(hipStreamSynchronize(gate.stream()), "the operation");
  std::cout << "ENDED" << std::endl;
  return 0;
}

int peer_that_hangs(const std::string& id, const std::string& fifo) {
  const ncclComm_t comm = init(1, id);
  { const std::ifstream wait(fifo); }  // opened when the other end is
  require_ok(ncclCommAbort(comm), "ncclCommAbort");
  _exit(0);  // without the time that the end of a process gives to peers
}

}  // namespace

int abort_rank(const std::vector<std::string>& arguments) {
  const std::string &rank = arguments.at(0), &what = arguments.at(1), &id = arguments.at(2),
                    &fifo = arguments.at(3);
  setenv("NCCL_DEBUG", "WARN", 1);
  if (rank == "1") return peer_that_hangs(id, fifo);
  if (what == "queued") return abort_with_queued_operation(id, fifo);
  return abort_with_operation(id, fifo, what == "no_threads" ? 0 : 100);
}

}  // namespace weft::test
