// Launching (launch.h).
#include "launch.h"

#include "device_scope.h"
#include "launch_shape.h"
#include "plan.h"

namespace weft {
namespace {

bool is_capturing(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  hip_check(hipStreamIsCapturing(stream, &status), "asking whether a stream is capturing");
  return status != hipStreamCaptureStatusNone;
}

void launch_kernel(Communicator& comm, Launch& launch) {
  launch.args.eager = !is_capturing(launch.stream);
  launch.args.deadline_ns = uint64_t(std::chrono::nanoseconds(comm.config().op_timeout).count());
  if (launch.args.eager) {
    const KernelOrder::Place place = comm.order.place_on(launch.stream);
    launch.args.has_ticket = place.has_ticket;
    launch.args.ticket = place.ticket;
  }
  void* args[] = {&launch.args};
  const size_t shared = platform::shared_bytes(scratch_bytes(comm.size()));
  hip_check(hipLaunchKernel(launch.kernel, dim3(launch.grid), dim3(launch.threads), args, shared,
                            launch.stream),
            "launching a kernel of {} blocks of {} threads", launch.grid, launch.threads);
  if (launch.args.eager) comm.order.note_launch(launch.stream, launch.grid);
}

// With one rank every collective is a copy.
void copy_alone(const Request& request) {
  if (request.count == 0 || request.input == request.output) return;
  const size_t bytes = request.count * type_bytes(request.type);
  hip_check(
      hipMemcpyAsync(request.output, request.input, bytes, hipMemcpyDeviceToDevice, request.stream),
      "copying {} bytes", bytes);
}

}  // namespace

void launch(Communicator& comm, const std::vector<Request>& requests) {
  const DeviceScope scope(comm.device());
  const std::lock_guard lock(comm.launch_mutex);
  comm.require_ready("ncclGroupEnd");  // it may have ended since the call
  if (comm.size() == 1) {
    for (const Request& request : requests) copy_alone(request);
    return;
  }
  std::vector<Launch> launches = plan(comm, requests);
  for (const Request& request : requests) comm.remember(request);
  try {
    for (Launch& each : launches) launch_kernel(comm, each);
  } catch (const Error& error) {
    // Other ranks wait for what this one cannot do.
    comm.give_up(ncclRemoteError, fmt::format("rank {}: {}", comm.rank(), error.what()));
    throw;
  }
}

void load_kernels() {
  for (int protocol = 0; protocol < kProtocolCount; ++protocol)
    for (int type = 0; type < kElementTypeCount; ++type)
      for (int body = 0; body < kOpBodyCount; ++body) {
        const void* kernel = kernel_of(Protocol(protocol), ElementType(type), OpBody(body));
        hipFuncAttributes attributes;
        if (kernel != nullptr)
          hip_check(hipFuncGetAttributes(&attributes, kernel), "loading a kernel");
      }
}

}  // namespace weft
