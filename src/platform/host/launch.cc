// The launch calls and the questions about a kernel. Next on the path: scheduler.cc.
#include "launch.h"

#include <climits>
#include <cstring>

#include "event.h"
#include "faults.h"
#include "runtime.h"
#include "scheduler.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

constexpr int kBlocksPerUnit = 2048 / kMaxBlockThreads;
constexpr int kThreadsPerUnit = 2048;
constexpr int kRegisters = 64;
constexpr size_t kMaxBlocks = INT_MAX;

// A descriptor is data, so an address that is none still points to readable bytes of a program (a
// function, say).
const hipHostKernel* kernel_of(const void* function) {
  uint64_t magic = 0;
  if (function == nullptr) return nullptr;
  memcpy(&magic, function, sizeof magic);
  return magic == hipHostKernelMagic ? static_cast<const hipHostKernel*>(function) : nullptr;
}

hipError_t launch(const LaunchRequest& request, hipStream_t stream) {
  Work work;
  if (const hipError_t error = kernel_work(request, work); error != hipSuccess) return error;
  hold_while_asked(hipHostFaultHoldLaunch);
  if (counted_fault(hipHostFaultLaunch)) return hipErrorLaunchFailure;
  StreamUse use(stream);
  if (use.error() != hipSuccess) return use.error();
  return use.add(std::move(work), hipGraphNodeTypeKernel);
}

hipError_t active_blocks(int* blocks, const void* function, int block_size, size_t shared_bytes) {
  if (blocks == nullptr || block_size <= 0) return hipErrorInvalidValue;
  if (kernel_of(function) == nullptr) return hipErrorInvalidDeviceFunction;
  int fit = kThreadsPerUnit / block_size;
  if (shared_bytes > 0) fit = std::min(fit, static_cast<int>(kMaxSharedBytes / shared_bytes));
  *blocks = block_size > static_cast<int>(kMaxBlockThreads) ? 0 : fit;
  return hipSuccess;
}

}  // namespace

hipError_t kernel_work(const LaunchRequest& r, Work& work) {
  const hipHostKernel* kernel = kernel_of(r.function);
  if (kernel == nullptr || kernel->run == nullptr) return hipErrorInvalidDeviceFunction;
  const size_t threads = size_t{r.block.x} * r.block.y * r.block.z;
  const size_t blocks = size_t{r.grid.x} * r.grid.y * r.grid.z;
  if (threads == 0 || threads > kMaxBlockThreads || blocks == 0 || blocks > kMaxBlocks) {
    return hipErrorInvalidConfiguration;
  }
  if (r.shared_bytes > kMaxSharedBytes) return hipErrorInvalidValue;
  if (kernel->arg_bytes > 0 && (r.args == nullptr || r.args[0] == nullptr)) {
    return hipErrorInvalidValue;
  }
  auto launch = std::make_shared<Launch>();
  launch->kernel = kernel;
  if (kernel->arg_bytes > 0) {
    launch->arguments.reset(
        static_cast<char*>(::operator new (kernel->arg_bytes, std::align_val_t{kArgumentAlign})));
    memcpy(launch->arguments.get(), r.args[0], kernel->arg_bytes);
  }
  launch->grid = r.grid;
  launch->block = r.block;
  launch->shared_bytes = r.shared_bytes;
  launch->lanes = kernel->lanes != 0 ? kernel->lanes : static_cast<unsigned>(threads);
  launch->blocks = static_cast<unsigned>(blocks);
  work.kind = Work::Kind::kKernel;
  work.launch = std::move(launch);
  return hipSuccess;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                                      size_t shared_bytes, hipStream_t stream) {
  return enter([&] { return launch({function, grid, block, args, shared_bytes}, stream); });
}

extern "C" hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                 void** args, unsigned int shared_bytes,
                                                 hipStream_t stream) {
  return enter([&] {
    int units = 0;
    if (const hipError_t error =
            hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, current_device());
        error != hipSuccess) {
      return error;
    }
    const size_t blocks = size_t{grid.x} * grid.y * grid.z;
    if (blocks > static_cast<size_t>(units) * kBlocksPerUnit) {
      return hipErrorCooperativeLaunchTooLarge;
    }
    return launch({function, grid, block, args, shared_bytes}, stream);
  });
}

extern "C" hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                                         size_t shared_bytes, hipStream_t stream, hipEvent_t start,
                                         hipEvent_t stop, int) {
  return enter([&] {
    if (start != nullptr) {
      if (const hipError_t error = hipEventRecord(start, stream); error != hipSuccess) return error;
    }
    const hipError_t error = launch({function, grid, block, args, shared_bytes}, stream);
    if (error != hipSuccess || stop == nullptr) return error;
    return hipEventRecord(stop, stream);
  });
}

extern "C" hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return enter([&] {
    if (attributes == nullptr) return hipErrorInvalidValue;
    if (kernel_of(function) == nullptr) return hipErrorInvalidDeviceFunction;
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(kMaxBlockThreads);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(kMaxSharedBytes);
    attributes->numRegs = kRegisters;
    return hipSuccess;
  });
}

extern "C" hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute,
                                          int value) {
  return enter([&] {
    if (kernel_of(function) == nullptr) return hipErrorInvalidDeviceFunction;
    if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize &&
        attribute != hipFuncAttributePreferredSharedMemoryCarveout) {
      return hipErrorInvalidValue;
    }
    const bool size = attribute == hipFuncAttributeMaxDynamicSharedMemorySize;
    if (size && (value < 0 || static_cast<size_t>(value) > kMaxSharedBytes)) {
      return hipErrorInvalidValue;
    }
    return hipSuccess;
  });
}

extern "C" hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t) {
  return enter(
      [&] { return kernel_of(function) == nullptr ? hipErrorInvalidDeviceFunction : hipSuccess; });
}

extern "C" hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                   const void* function,
                                                                   int block_size,
                                                                   size_t shared_bytes) {
  return enter([&] { return active_blocks(blocks, function, block_size, shared_bytes); });
}
extern "C" hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared_bytes, unsigned int) {
  return enter([&] { return active_blocks(blocks, function, block_size, shared_bytes); });
}
