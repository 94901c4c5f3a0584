// Argument checks (validate.h).
#include "validate.h"

#include <cstdint>

#include "device_scope.h"
#include "error.h"

namespace weft {
namespace {

void validate_buffers(const char* function, const Request& request, size_t bytes) {
  if (bytes == 0) return;
  require_pointer(function, "sendbuff", request.input);
  require_pointer(function, "recvbuff", request.output);
  const auto in = reinterpret_cast<uintptr_t>(request.input),
             out = reinterpret_cast<uintptr_t>(request.output);
  if (in != out && in < out + bytes && out < in + bytes)
    fail(ncclInvalidArgument,
         "{}: sendbuff {} and recvbuff {} overlap without being equal ({} bytes)", function,
         request.input, request.output, bytes);
  const size_t align = type_bytes(request.type);
  if (in % align != 0 || out % align != 0)
    fail(ncclInvalidArgument, "{}: sendbuff {} or recvbuff {} is not aligned to the {} bytes of {}",
         function, request.input, request.output, align, type_name(request.type));
}

// HIP 5 and HIP 6 name the field differently.
template <class Attributes>
auto memory_type(const Attributes& attributes) {
  if constexpr (requires { attributes.type; }) {
    return attributes.type;
  } else {
    return attributes.memoryType;
  }
}

// With NCCL_CHECK_POINTERS: memory that the communicator's device can use.
void validate_memory(const char* function, const char* argument, const Communicator& comm,
                     const void* pointer) {
  hipPointerAttribute_t attributes{};
  const hipError_t known = hipPointerGetAttributes(&attributes, pointer);
  if (known != hipSuccess || attributes.devicePointer == nullptr) {
    (void)hipGetLastError();
    fail(ncclInvalidArgument, "{}: {} {} is no memory that the runtime knows", function, argument,
         pointer);
  }
  if (memory_type(attributes) == hipMemoryTypeDevice && attributes.device != comm.device())
    fail(ncclInvalidArgument, "{}: {} {} is memory of device {}, the communicator is on device {}",
         function, argument, pointer, attributes.device, comm.device());
}

}  // namespace

void require_pointer(const char* function, const char* argument, const void* value) {
  if (value == nullptr) fail(ncclInvalidArgument, "{}: {} is NULL", function, argument);
}

void require_rank(const char* function, int rank, int size) {
  if (size < 1)
    fail(ncclInvalidArgument, "{}: nranks is {}, it must be at least 1", function, size);
  if (rank < 0 || rank >= size)
    fail(ncclInvalidArgument, "{}: rank {} of {}", function, rank, size);
}

void validate(const char* function, const Communicator& comm, const Request& request) {
  comm.require_ready(function);
  const size_t element = type_bytes(request.type);
  if (element == 0)
    fail(ncclInvalidArgument, "{}: datatype is {}, which is no type", function, int(request.type));
  if (request.op < 0 || request.op >= ncclNumOps)
    fail(ncclInvalidArgument, "{}: op is {}, which is no operation of this communicator", function,
         int(request.op));
  if (request.root < 0 || request.root >= comm.size())
    fail(ncclInvalidArgument, "{}: root is {}, the communicator has {} ranks", function,
         request.root, comm.size());
  if (request.count > SIZE_MAX / element / size_t(comm.size()))
    fail(ncclInvalidArgument, "{}: count is {}, more than memory can be", function, request.count);
  const size_t bytes = request.count * element;
  validate_buffers(function, request, bytes);
  if (comm.config().check_pointers && bytes > 0) {
    validate_memory(function, "sendbuff", comm, request.input);
    validate_memory(function, "recvbuff", comm, request.output);
  }
}

}  // namespace weft
