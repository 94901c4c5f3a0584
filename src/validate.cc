// Argument checks (validate.h).
#include "validate.h"

#include <cstdint>

#include "error.h"
#include "pointer_info.h"

namespace weft {
namespace {

// What a rank reads or writes of a buffer; none at all where it does not look at it.
struct Range {
  const char* argument;
  const void* pointer;
  size_t bytes;

  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(pointer); }
  bool overlaps(const Range& other) const {
    return begin() < other.begin() + other.bytes && other.begin() < begin() + bytes;
  }
};

size_t segments_bytes(Segments segments, size_t segment, int ranks) {
  if (segments == Segments::kNone) return 0;
  return segments == Segments::kOne ? segment : segment * size_t(ranks);
}

void validate_range(const char* function, const Request& request, const Range& range) {
  if (range.bytes == 0) return;
  require_pointer(function, range.argument, range.pointer);
  const size_t align = type_bytes(request.type);
  if (range.begin() % align != 0)
    fail(ncclInvalidArgument, "{}: {} {} is not aligned to the {} bytes of {}", function,
         range.argument, range.pointer, align, type_name(request.type));
  if (range.bytes > UINTPTR_MAX - range.begin())
    fail(ncclInvalidArgument, "{}: {} {} and count {} pass the end of memory", function,
         range.argument, range.pointer, request.count);
}

// Where the single segment of this rank lies in the buffer of all ranks.
struct InPlace {
  const char* rule;
  size_t input_at, output_at;  // bytes from the start of the other buffer
};
InPlace in_place_of(Collective collective, int rank, size_t segment) {
  const size_t own = size_t(rank) * segment;
  switch (collective) {
    case Collective::kAllGather:
      return {"sendbuff == recvbuff + rank * sendcount", own, 0};
    case Collective::kGather:
      return {"sendbuff == recvbuff + root * count on the root", own, 0};
    case Collective::kReduceScatter:
      return {"recvbuff == sendbuff + rank * recvcount", 0, own};
    case Collective::kScatter:
      return {"recvbuff == sendbuff + root * count on the root", 0, own};
    default:
      return {"sendbuff == recvbuff", 0, 0};
  }
}

void validate_overlap(const char* function, int rank, const Request& request, const Range& in,
                      const Range& out) {
  if (in.bytes == 0 || out.bytes == 0 || !in.overlaps(out)) return;
  const size_t segment = request.count * type_bytes(request.type);
  const InPlace place = in_place_of(request.collective, rank, segment);
  if (in.begin() + place.output_at == out.begin() + place.input_at) return;
  fail(ncclInvalidArgument,
       "{}: sendbuff {} ({} bytes) and recvbuff {} ({} bytes) overlap without being in place ({})",
       function, in.pointer, in.bytes, out.pointer, out.bytes, place.rule);
}

// Read at the moment at which the result is written, element by element, so both may be the same.
void validate_bias(const char* function, const Request& request, const Range& bias,
                   const Range& out) {
  validate_range(function, request, bias);
  if (bias.bytes != 0 && bias.overlaps(out) && bias.begin() != out.begin())
    fail(ncclInvalidArgument, "{}: acc {} and recvbuff {} overlap without being equal ({} bytes)",
         function, bias.pointer, out.pointer, bias.bytes);
}

// With NCCL_CHECK_POINTERS: memory that the communicator's device can use.
void validate_memory(const char* function, const Communicator& comm, const Range& range) {
  if (range.bytes == 0) return;
  const PointerInfo info = pointer_info(range.pointer);
  if (info.kind == MemoryKind::kUnknown)
    fail(ncclInvalidArgument, "{}: {} {} is no memory that the runtime knows", function,
         range.argument, range.pointer);
  if (info.kind == MemoryKind::kDevice && info.device != comm.device())
    fail(ncclInvalidArgument, "{}: {} {} is memory of device {}, the communicator is on device {}",
         function, range.argument, range.pointer, info.device, comm.device());
}

void validate_buffers(const char* function, const Communicator& comm, const Request& request) {
  const size_t segment = request.count * type_bytes(request.type);
  const BufferShape shape = buffer_shape(request.collective, comm.rank() == request.root);
  const Range in{"sendbuff", request.input, segments_bytes(shape.input, segment, comm.size())};
  const Range out{"recvbuff", request.output, segments_bytes(shape.output, segment, comm.size())};
  const Range bias{"acc", request.bias, request.bias ? segment : 0};
  validate_range(function, request, in);
  validate_range(function, request, out);
  validate_overlap(function, comm.rank(), request, in, out);
  validate_bias(function, request, bias, out);
  if (!comm.config().check_pointers) return;
  for (const Range& range : {in, out, bias}) validate_memory(function, comm, range);
}

void resolve_op(const char* function, const Communicator& comm, Request& request) {
  if (!reduces(request.collective) || (request.op >= 0 && request.op < ncclNumOps)) return;
  request.user_op = comm.user_ops.find(request.op);
  if (!request.user_op)
    fail(ncclInvalidArgument,
         "{}: op is {}, which is no operation of this communicator, or was destroyed", function,
         int(request.op));
  if (request.user_op->type != request.type)
    fail(ncclInvalidArgument, "{}: op {} was made for {}, datatype is {}", function,
         int(request.op), type_name(request.user_op->type), type_name(request.type));
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

size_t require_type(const char* function, ncclDataType_t type) {
  const size_t bytes = type_bytes(type);
  if (bytes == 0)
    fail(ncclInvalidArgument, "{}: datatype is {}, which is no type", function, int(type));
  return bytes;
}

void validate(const char* function, const Communicator& comm, Request& request) {
  comm.require_ready(function);
  const size_t element = require_type(function, request.type);
  resolve_op(function, comm, request);
  if (request.root < 0 || request.root >= comm.size())
    fail(ncclInvalidArgument, "{}: {} is {}, the communicator has {} ranks", function,
         is_pairwise(request.collective) ? "peer" : "root", request.root, comm.size());
  if (request.count > SIZE_MAX / element / size_t(comm.size()))
    fail(ncclInvalidArgument, "{}: count is {}, more than memory can be", function, request.count);
  validate_buffers(function, comm, request);
}

}  // namespace weft
