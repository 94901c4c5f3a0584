// State and errors of a communicator (communicator.h).
#include "communicator.h"

#include <fmt/format.h>

#include <deque>

#include "device/flag.h"
#include "error.h"
#include "fault_text.h"
#include "log.h"
#include "plan.h"

namespace weft {

KernelOrder::Place KernelOrder::place_on(StreamId stream) const {
  return {any_ && (!stream || stream != last_), blocks_};
}

void KernelOrder::note_launch(StreamId stream, uint32_t blocks) {
  any_ = true;
  last_ = stream;
  blocks_ += blocks;
}

Communicator::Communicator(int rank, int size, int device, std::shared_ptr<const Config> config,
                           CommOptions options)
    : graphs(std::make_unique<GraphOrder>(config->graph_mixing)),
      planner(std::make_unique<Planner>()),
      random_state(config->random_grid),
      rank_(rank),
      size_(size),
      device_(device),
      config_(std::move(config)),
      options_(std::move(options)),
      rules_(config_->algo, config_->proto, config_->unsafe) {}

Communicator::~Communicator() = default;

size_t Communicator::zero_copy_bytes() const {
  const auto least = size_t(config().zero_copy_bytes.value_or(int64_t(costs.zero_copy_bytes)));
  return peer_access ? least : 0;
}

void Communicator::require_ready(const char* function) const {
  switch (state()) {
    case CommState::kReady:
      break;
    case CommState::kInitializing:
      fail(ncclInvalidArgument,
           "{}: the communicator is still initialising, ask ncclCommGetAsyncError first", function);
    case CommState::kFailed:
      fail(ncclInvalidUsage, "{}: the communicator failed: {}", function, error_text());
    case CommState::kFinalized:
      fail(ncclInvalidUsage, "{}: the communicator was finalized", function);
    case CommState::kAborted:
      fail(ncclInvalidUsage, "{}: the communicator was aborted", function);
    case CommState::kClosed:
      fail(ncclInvalidArgument, "{}: the communicator was destroyed", function);
  }
  if (device_state && device_state->fault().kind != Fault::kNone)
    fail(ncclInvalidUsage, "{}: an earlier operation failed: {}", function,
         fault_text(device_state->fault()));
}

ncclResult_t Communicator::async_error() {
  if (state() == CommState::kReady || state() == CommState::kFinalized) {
    take_fault();
    take_events();
  }
  const std::lock_guard lock(error_mutex_);
  if (error_ == ncclSuccess && (state() == CommState::kInitializing || host_jobs.load() > 0))
    return ncclInProgress;
  return error_;
}

void Communicator::set_async_error(ncclResult_t code, std::string text) {
  const std::lock_guard lock(error_mutex_);
  if (error_ != ncclSuccess) return;
  error_ = code;
  error_text_ = std::move(text);
}

void Communicator::add_async_error(Finder finder, ncclResult_t code, const std::string& text) {
  const std::lock_guard lock(error_mutex_);
  if (!told_.insert(finder).second) return;
  if (error_ == ncclSuccess) error_ = code;
  error_text_ += error_text_.empty() ? text : "; " + text;
}

std::string Communicator::error_text() const {
  const std::lock_guard lock(error_mutex_);
  return error_text_;
}

void Communicator::abort(const std::string& reason) noexcept {
  interrupted_.store(true);
  if (state() == CommState::kInitializing)
    return;  // the init sees interrupted() and tells the others itself
  if (device_state) device_state->abort();
  if (bootstrap) bootstrap->fail(ncclRemoteError, reason);
  set_state(CommState::kAborted);
}

void Communicator::give_up(ncclResult_t code, const std::string& reason) noexcept {
  try {
    set_async_error(code, reason);
  } catch (const std::exception&) {  // no memory for the text: the others are told all the same
  }
  if (device_state) device_state->abort();
  if (bootstrap) bootstrap->fail(code, reason);
}

std::set<int> Communicator::gone_ranks() const {
  const std::lock_guard lock(error_mutex_);
  return gone_;
}

void Communicator::remember(const Request& request) {
  const std::lock_guard lock(error_mutex_);
  recent_[sequence_++ % kRemembered] = request;
}

void Communicator::take_fault() {
  if (!device_state) return;
  const Fault fault = device_state->fault();
  if (fault.kind == Fault::kNone || fault.kind == Fault::kAborted) return;
  const ncclResult_t code = is_disagreement(fault) ? ncclInvalidUsage : ncclRemoteError;
  {
    const std::lock_guard lock(error_mutex_);
    if (told_.contains(Finder::kKernel)) return;
  }
  const std::string text = fault_text(fault);
  log_warn("{}", text);
  add_async_error(Finder::kKernel, code, text);
  give_up(code, text);
}

void Communicator::take_events() {
  if (!bootstrap) return;
  for (const Bootstrap::PeerEvent& event : bootstrap->poll_events()) {
    if (event.gone) {
      const std::lock_guard lock(error_mutex_);
      gone_.insert(event.rank);
    }
    if (event.code == ncclSuccess) continue;
    log_warn("comm {} rank {}: {}", fmt::ptr(this), rank_, event.text);
    add_async_error(Finder::kOtherRank, event.code, with_own_call(event));
  }
}

// What another rank found, and what this one does: where they disagree, the other half of the
// story.
std::string Communicator::with_own_call(const Bootstrap::PeerEvent& event) const {
  const std::lock_guard lock(error_mutex_);
  if (sequence_ == 0) return event.text;
  const uint64_t last = sequence_ - 1;
  return fmt::format("{}; the last call of rank {} is operation {} ({})", event.text, rank_, last,
                     describe(recent_[last % kRemembered]));
}

std::string Communicator::fault_text(const Fault& fault) const {
  const std::lock_guard lock(error_mutex_);
  return describe_fault(rank_, fault, recent_[fault.sequence % kRemembered]);
}

namespace {

constexpr size_t kUnusedHandles = 64;  // kept before the oldest is used again

struct HandlePool {
  std::mutex mutex;
  std::deque<std::unique_ptr<ncclComm>> all;
  std::deque<ncclComm*> unused;
};
HandlePool& handle_pool() {
  static auto* pool =
      new HandlePool;  // never destroyed: handles may be used while the process ends
  return *pool;
}

}  // namespace

ncclComm* open_handle(std::unique_ptr<Communicator> comm) {
  const std::lock_guard lock(handle_pool().mutex);
  ncclComm* handle = nullptr;
  if (handle_pool().unused.size() >= kUnusedHandles) {
    handle = handle_pool().unused.front();
    handle_pool().unused.pop_front();
  } else {
    handle = handle_pool().all.emplace_back(std::make_unique<ncclComm>()).get();
  }
  const std::lock_guard handle_lock(handle->mutex);
  handle->comm = std::move(comm);
  handle->magic.store(ncclComm::kLive, std::memory_order_release);
  return handle;
}

std::shared_ptr<Communicator> communicator_of(ncclComm_t handle, const char* function) {
  if (handle == nullptr) fail(ncclInvalidArgument, "{}: the communicator is NULL", function);
  if (handle->magic.load(std::memory_order_acquire) == ncclComm::kLive) {
    const std::lock_guard lock(handle->mutex);
    if (handle->comm) return handle->comm;
  }
  fail(ncclInvalidArgument, "{}: {} is not a communicator, or was destroyed", function,
       fmt::ptr(handle));
}

std::shared_ptr<Communicator> close_handle(ncclComm_t handle, const char* function) {
  std::shared_ptr<Communicator> comm = communicator_of(handle, function);
  {
    const std::lock_guard lock(handle->mutex);
    if (!handle->comm)
      fail(ncclInvalidArgument, "{}: {} was destroyed by another thread", function,
           fmt::ptr(handle));
    handle->magic.store(0, std::memory_order_release);
    handle->comm.reset();
  }
  const std::lock_guard lock(handle_pool().mutex);
  handle_pool().unused.push_back(handle);
  return comm;
}

}  // namespace weft
