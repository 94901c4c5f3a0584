// Launching (launch.h).
#include "launch.h"

#include "device/kernels.h"
#include "device_scope.h"
#include "launch_shape.h"
#include "messages.h"
#include "plan.h"
#include "stream_identity.h"

namespace weft {
namespace {

bool is_capturing(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  hip_check(hipStreamIsCapturing(stream, &status), "asking whether a stream is capturing");
  return status != hipStreamCaptureStatusNone;
}

uint64_t deadline_ns(const Communicator& comm) {
  return uint64_t(std::chrono::nanoseconds(comm.config().op_timeout).count());
}

// Work of one stream that comes after work of another. The event may go at once: the runtime keeps
// what it needs.
void follow(hipStream_t stream, hipStream_t earlier) {
  hipEvent_t event = nullptr;
  hip_check(hipEventCreateWithFlags(&event, hipEventDisableTiming), "making an event");
  hipError_t state = hipEventRecord(event, earlier);
  if (state == hipSuccess) state = hipStreamWaitEvent(stream, event, 0);
  (void)hipEventDestroy(event);
  hip_check(state, "ordering two streams of a group");
}

void start_kernel(Launch& launch) {
  void* arguments[] = {launch.argument()};
  hip_check(hipLaunchKernel(launch.kernel, dim3(launch.grid), dim3(launch.threads), arguments,
                            platform::shared_bytes(launch.scratch_bytes), launch.stream),
            "launching a kernel of {} blocks of {} threads", launch.grid, launch.threads);
}

void launch_eager(Communicator& comm, Launch& launch) {
  LaunchArgs& args = launch.common();
  const KernelOrder::StreamId stream = platform::stream_id(launch.stream);
  const KernelOrder::Place place = comm.order.place_on(stream);
  args.eager = true;
  args.has_ticket = place.has_ticket;
  args.ticket = place.ticket;
  comm.graphs->before_eager(launch.stream);
  start_kernel(launch);
  comm.order.note_launch(stream, launch.grid);
  comm.graphs->after_eager(launch.stream);
}

// A kernel without operations: it waits for the one before it.
void launch_nothing(Communicator& comm, hipStream_t stream) {
  std::vector<Launch> launches;
  Launch& launch = add_launch<PairwiseArgs>(
      launches, {pairwise_kernel(), 1, comm.geometry.threads, pairwise_scratch(comm.size())},
      stream);
  launch.common().comm = comm.device_state->device_comm();
  launch.common().deadline_ns = deadline_ns(comm);
  launch_eager(comm, launch);
}

void launch_captured(Communicator& comm, Launch& launch) {
  if (!comm.graphs->any_live() && comm.order.blocks_launched() > 0)
    comm.graphs->order_earlier([&](hipStream_t side) { launch_nothing(comm, side); });
  comm.graphs->before_captured(launch.stream);
  start_kernel(launch);
  comm.graphs->after_captured(launch.stream);
}

void launch_kernel(Communicator& comm, Launch& launch) {
  launch.common().deadline_ns = deadline_ns(comm);
  for (const hipStream_t stream : launch.joined) follow(launch.stream, stream);
  (is_capturing(launch.stream) ? launch_captured : launch_eager)(comm, launch);
  for (const hipStream_t stream : launch.joined) follow(stream, launch.stream);
}

void launch_all(Communicator& comm, std::span<const Request> requests) {
  std::vector<Launch>& launches = comm.planner->plan(comm, requests);
  for (const Request& request : requests)
    if (!is_pairwise(request.collective)) comm.remember(request);
  try {
    for (Launch& each : launches) launch_kernel(comm, each);
  } catch (const Error& error) {
    // Other ranks wait for what this one cannot do.
    comm.give_up(ncclRemoteError, fmt::format("rank {}: {}", comm.rank(), error.what()));
    throw;
  }
}

// ---- One rank: a collective is a copy, unless it scales or adds something ----

void copy(const Request& request) {
  if (request.count == 0 || request.input == request.output) return;
  const size_t bytes = request.count * type_bytes(request.type);
  hip_check(
      hipMemcpyAsync(request.output, request.input, bytes, hipMemcpyDeviceToDevice, request.stream),
      "copying {} bytes", bytes);
}

void copy_messages(std::span<const Request> requests) {
  const auto message = std::ranges::find_if(
      requests, [](const Request& request) { return is_pairwise(request.collective); });
  if (message == requests.end()) return;
  MessageDealer dealer;
  for (const TaskBatch& batch : dealer.deal({0, 1, 1, 0}, requests))
    for (const Task& task : batch.tasks)
      hip_check(
          hipMemcpyAsync(task.to, task.from, task.bytes, hipMemcpyDeviceToDevice, message->stream),
          "copying {} bytes", task.bytes);
}

// The memory that kernels need is made with the first one.
void reduce_alone(Communicator& comm, Request request) {
  if (!comm.device_state)
    comm.device_state =
        std::make_unique<DeviceState>(0, std::vector<DevicePeer>(1), comm.geometry.box, 0, 0);
  request.collective = Collective::kAllReduce;
  launch_all(comm, std::span(&request, 1));
}

void launch_alone(Communicator& comm, std::span<const Request> requests) {
  for (const Request& request : requests) {
    if (is_pairwise(request.collective)) continue;
    if (request.user_op || request.bias != nullptr) {
      reduce_alone(comm, request);
    } else {
      copy(request);
    }
  }
  copy_messages(requests);
}

}  // namespace

void launch(Communicator& comm, std::span<const Request> requests) {
  const DeviceScope scope(comm.device());
  const std::lock_guard lock(comm.launch_mutex);
  comm.require_ready("ncclGroupEnd");  // it may have ended since the call
  comm.size() == 1 ? launch_alone(comm, requests) : launch_all(comm, requests);
}

void load_kernels() {
  const auto load = [](const void* kernel) {
    hipFuncAttributes attributes;
    if (kernel != nullptr) hip_check(hipFuncGetAttributes(&attributes, kernel), "loading a kernel");
  };
  for (int type = 0; type < kElementTypeCount; ++type) {
    for (int protocol = 0; protocol < kProtocolCount; ++protocol) {
      load(one_hop_sum_of(Protocol(protocol), ElementType(type)));
      load(kernel_of(Protocol(protocol), ElementType(type)));
    }
  }
  for (int protocol = 0; protocol < kProtocolCount; ++protocol)
    load(one_hop_copy_of(Protocol(protocol)));
  load(pairwise_kernel());
  load(short_messages_kernel());
}

}  // namespace weft
