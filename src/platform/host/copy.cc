// Copies and fills. Asynchronous ones are fibers of a worker that pause between pieces, so that a
// long copy does not stop the kernels beside it; synchronous ones wait for the null stream's order
// and then run on the calling thread.
#include "copy.h"

#include <algorithm>
#include <cstring>

#include "capture.h"
#include "faults.h"
#include "memory.h"
#include "runtime.h"
#include "sanitizers.h"
#include "stream.h"
#include "worker.h"

namespace weft::hiphost {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr size_t kMostMirroredBytes = 4096;

void pause_between_pieces() {
  if (Worker* worker = this_worker(); worker != nullptr && worker->on_fiber()) worker->yield();
}

// Does [p, p + bytes) stay inside the allocation it starts in? Memory unknown to the runtime is the
// program's business.
bool fits(const void* p, size_t bytes) {
  const auto a = find_allocation(p);
  return !a || static_cast<const char*>(p) + bytes <= a->base + a->bytes;
}

// hipHostFaultLyingPeer: what one device writes to another never arrives.
bool lost(const CopyRequest& request) {
  if (!fault(hipHostFaultLyingPeer)) return false;
  const auto to = find_allocation(request.to), from = find_allocation(request.from);
  return to && from && to->type == hipMemoryTypeDevice && from->type == hipMemoryTypeDevice &&
         (to->device != from->device || to->imported != from->imported);
}

// A program may mirror a few words of a device in host memory while kernels write them, as a copy
// engine lets it: every word is then whole, its old value or its new one. ThreadSanitizer does not
// see these accesses (this library is not instrumented), but would see those of memcpy.
bool mirrors_words(const CopyRequest& request) {
  const auto is_aligned = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 8 == 0; };
  if (request.bytes > kMostMirroredBytes || request.bytes % 4 != 0 || !is_aligned(request.to) ||
      !is_aligned(request.from))
    return false;
  const auto to = find_allocation(request.to), from = find_allocation(request.from);
  return to && from && to->type == hipMemoryTypeHost && from->type == hipMemoryTypeDevice;
}

template <class Word>
void copy_word(void* to, const void* from, size_t at) {
  const auto* source = reinterpret_cast<const Word*>(static_cast<const char*>(from) + at);
  auto* target = reinterpret_cast<Word*>(static_cast<char*>(to) + at);
  __atomic_store_n(target, __atomic_load_n(source, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void mirror_words(const CopyRequest& request) {
  size_t at = 0;
  for (; at + 8 <= request.bytes; at += 8) copy_word<uint64_t>(request.to, request.from, at);
  if (at < request.bytes) copy_word<uint32_t>(request.to, request.from, at);
}

// One word to memory that a kernel may poll: whole, and behind all copies before it.
bool is_word(const CopyRequest& request) {
  return request.bytes == sizeof(uint64_t) &&
         (reinterpret_cast<uintptr_t>(request.to) | reinterpret_cast<uintptr_t>(request.from)) %
                 sizeof(uint64_t) ==
             0;
}
void publish_word(const CopyRequest& request) {
  const auto* from = static_cast<const uint64_t*>(request.from);
  auto* to = static_cast<uint64_t*>(request.to);
  sanitize::release(to);  // partner: the load of a kernel that polls it
  __atomic_store_n(to, __atomic_load_n(from, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  hipHostNotify(to);
}

void copy_now(const CopyRequest& request) {
  if (lost(request)) return;
  if (mirrors_words(request)) return mirror_words(request);
  if (is_word(request)) return publish_word(request);
  auto* to = static_cast<char*>(request.to);
  const auto* from = static_cast<const char*>(request.from);
  if (to < from + request.bytes && from < to + request.bytes) {
    memmove(to, from, request.bytes);  // overlapping: pieces would be wrong
  } else {
    for (size_t done = 0; done < request.bytes; done += kPieceBytes) {
      if (done > 0) pause_between_pieces();
      memcpy(to + done, from + done, std::min(kPieceBytes, request.bytes - done));
    }
  }
  if (request.bytes > 0) hipHostNotify(to);  // a kernel may poll the first word
}

template <class T>
void fill_words(void* to, T value, size_t count) {
  constexpr size_t kPiece = kPieceBytes / sizeof(T);
  auto* out = static_cast<T*>(to);
  for (size_t done = 0; done < count; done += kPiece) {
    if (done > 0) pause_between_pieces();
    std::fill_n(out + done, std::min(kPiece, count - done), value);
  }
}

void fill_now(const FillRequest& r) {
  if (r.element_bytes == 1) {
    auto* out = static_cast<char*>(r.to);
    for (size_t done = 0; done < r.count; done += kPieceBytes) {
      if (done > 0) pause_between_pieces();
      memset(out + done, static_cast<int>(r.value), std::min(kPieceBytes, r.count - done));
    }
  } else if (r.element_bytes == 2) {
    fill_words(r.to, static_cast<uint16_t>(r.value), r.count);
  } else {
    fill_words(r.to, r.value, r.count);
  }
  if (r.count > 0) hipHostNotify(r.to);
}

hipError_t enqueue_copy(const CopyRequest& request, hipStream_t stream) {
  Work work;
  if (const hipError_t error = copy_work(request, work); error != hipSuccess) return error;
  StreamUse use(stream);
  if (use.error() != hipSuccess) return use.error();
  return use.add(std::move(work), hipGraphNodeTypeMemcpy);
}

hipError_t enqueue_fill(const FillRequest& request, hipStream_t stream) {
  Work work;
  if (const hipError_t error = fill_work(request, work); error != hipSuccess) return error;
  StreamUse use(stream);
  if (use.error() != hipSuccess) return use.error();
  return use.add(std::move(work), hipGraphNodeTypeMemset);
}

hipError_t before_synchronous() {
  if (const hipError_t error = check_not_capturing(); error != hipSuccess) return error;
  return wait_for_null_stream();
}

hipError_t copy_synchronously(const CopyRequest& request) {
  Work work;
  if (const hipError_t error = copy_work(request, work); error != hipSuccess) return error;
  if (const hipError_t error = before_synchronous(); error != hipSuccess) return error;
  copy_now(request);
  return hipSuccess;
}

hipError_t fill_synchronously(const FillRequest& request) {
  Work work;
  if (const hipError_t error = fill_work(request, work); error != hipSuccess) return error;
  if (const hipError_t error = before_synchronous(); error != hipSuccess) return error;
  fill_now(request);
  return hipSuccess;
}

bool known_kind(hipMemcpyKind kind) {
  return (kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault) ||
         kind == hipMemcpyDeviceToDeviceNoCU;
}

}  // namespace

hipError_t copy_work(const CopyRequest& request, Work& work) {
  if (request.bytes > 0 && (request.to == nullptr || request.from == nullptr)) {
    return hipErrorInvalidValue;
  }
  if (request.bytes > 0 &&
      (!fits(request.to, request.bytes) || !fits(request.from, request.bytes))) {
    return hipErrorInvalidValue;
  }
  work.kind = Work::Kind::kFiber;
  work.body = [request] { copy_now(request); };
  return hipSuccess;
}

hipError_t fill_work(const FillRequest& request, Work& work) {
  const size_t bytes = request.count * request.element_bytes;
  if (bytes > 0 && (request.to == nullptr || !fits(request.to, bytes))) return hipErrorInvalidValue;
  work.kind = Work::Kind::kFiber;
  work.body = [request] { fill_now(request); };
  return hipSuccess;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return enter([&] {
    if (!known_kind(kind)) return hipErrorInvalidMemcpyDirection;
    return copy_synchronously({to, from, bytes});
  });
}
extern "C" hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream) {
  return enter([&] {
    if (!known_kind(kind)) return hipErrorInvalidMemcpyDirection;
    return enqueue_copy({to, from, bytes}, stream);
  });
}
extern "C" hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes,
                                          hipMemcpyKind kind, hipStream_t stream) {
  const hipError_t error = hipMemcpyAsync(to, from, bytes, kind, stream);
  return error != hipSuccess ? error : hipStreamSynchronize(stream);
}
extern "C" hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
extern "C" hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}
extern "C" hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
extern "C" hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}
extern "C" hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
extern "C" hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
extern "C" hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                    size_t bytes) {
  return enter([&] {
    if (check_device(to_device) != hipSuccess || check_device(from_device) != hipSuccess) {
      return hipErrorInvalidDevice;
    }
    return copy_synchronously({to, from, bytes});
  });
}
extern "C" hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                         size_t bytes, hipStream_t stream) {
  return enter([&] {
    if (check_device(to_device) != hipSuccess || check_device(from_device) != hipSuccess) {
      return hipErrorInvalidDevice;
    }
    return enqueue_copy({to, from, bytes}, stream);
  });
}

extern "C" hipError_t hipMemset(void* to, int value, size_t bytes) {
  return enter([&] { return fill_synchronously({to, static_cast<uint32_t>(value), 1, bytes}); });
}
extern "C" hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return enter([&] { return enqueue_fill({to, static_cast<uint32_t>(value), 1, bytes}, stream); });
}
extern "C" hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return enter([&] { return fill_synchronously({to, value, 1, count}); });
}
extern "C" hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                       hipStream_t stream) {
  return enter([&] { return enqueue_fill({to, value, 1, count}, stream); });
}
extern "C" hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return enter([&] { return fill_synchronously({to, value, 2, count}); });
}
extern "C" hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                        hipStream_t stream) {
  return enter([&] { return enqueue_fill({to, value, 2, count}, stream); });
}
extern "C" hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return enter([&] { return fill_synchronously({to, static_cast<uint32_t>(value), 4, count}); });
}
extern "C" hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count,
                                        hipStream_t stream) {
  return enter([&] { return enqueue_fill({to, static_cast<uint32_t>(value), 4, count}, stream); });
}
