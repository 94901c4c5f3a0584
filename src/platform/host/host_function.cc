// Host functions in stream order, and waiting for or writing a word in memory from a stream.
#include <hip/hip_host.h>

#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

template <class T>
bool value_matches(T seen, T value, unsigned flags) {
  switch (flags) {
    case hipStreamWaitValueGte:
      return static_cast<std::make_signed_t<T>>(seen - value) >= 0;
    case hipStreamWaitValueEq:
      return seen == value;
    case hipStreamWaitValueAnd:
      return (seen & value) != 0;
    default:
      return static_cast<T>(~(seen | value)) != 0;
  }
}

// Acquire pairs with whatever release store another stream, kernel or process makes.
template <class T>
hipError_t wait_value(hipStream_t stream, void* pointer, T value, unsigned flags, T mask) {
  return enter([&] {
    if (pointer == nullptr || flags > hipStreamWaitValueNor) return hipErrorInvalidValue;
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return hipErrorStreamCaptureUnsupported;
    Work work;
    work.kind = Work::Kind::kFiber;
    work.body = [word = static_cast<const T*>(pointer), value, flags, mask] {
      while (!value_matches<T>(__atomic_load_n(word, __ATOMIC_ACQUIRE) & mask, value, flags)) {
        hipHostPollMiss(word);
      }
      hipHostPollHit();
      sanitize::acquire(const_cast<T*>(word));
    };
    return use.add(std::move(work), hipGraphNodeTypeEmpty);
  });
}

template <class T>
hipError_t write_value(hipStream_t stream, void* pointer, T value) {
  return enter([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return hipErrorStreamCaptureUnsupported;
    Work work;
    work.kind = Work::Kind::kQuick;
    work.body = [word = static_cast<T*>(pointer), value] {
      sanitize::release(word);
      __atomic_store_n(word, value, __ATOMIC_RELEASE);
      hipHostNotify(word);
    };
    return use.add(std::move(work), hipGraphNodeTypeEmpty);
  });
}

}  // namespace
}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void* data) {
  return enter([&] {
    if (fn == nullptr) return hipErrorInvalidValue;
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    Work work;
    work.kind = Work::Kind::kHost;
    work.body = [fn, data] { fn(data); };
    return use.add(std::move(work), hipGraphNodeTypeHost);
  });
}

extern "C" hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback,
                                           void* data, unsigned int flags) {
  return enter([&] {
    if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return hipErrorStreamCaptureUnsupported;
    Work work;
    work.kind = Work::Kind::kHost;
    work.body = [stream, callback, data] { callback(stream, hipSuccess, data); };
    return use.add(std::move(work), hipGraphNodeTypeHost);
  });
}

extern "C" hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value,
                                           unsigned int flags, uint32_t mask) {
  return wait_value<uint32_t>(stream, pointer, value, flags, mask);
}
extern "C" hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value,
                                           unsigned int flags, uint64_t mask) {
  return wait_value<uint64_t>(stream, pointer, value, flags, mask);
}
extern "C" hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value,
                                            unsigned int) {
  return write_value<uint32_t>(stream, pointer, value);
}
extern "C" hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value,
                                            unsigned int) {
  return write_value<uint64_t>(stream, pointer, value);
}
