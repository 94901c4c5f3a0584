// Communicators, streams and buffers of one library. See side.h.
#include "side.h"

#include <fmt/format.h>

#include <cstring>

#include "failure.h"
#include "gpu.h"

namespace weft::perf {
namespace {

constexpr size_t kLargestType = 8;  // bytes
// Symmetric windows want whole pages.
constexpr size_t kPage = NCCL_WIN_REQUIRED_ALIGNMENT;

// Opens a group of the library and closes it in any case.
class Group {
 public:
  explicit Group(const Side& side) : side_(side) {
    side_.check(side_.api().group_start(), [] { return "ncclGroupStart"; });
  }
  ~Group() {
    if (open_) side_.api().group_end();
  }
  void end(const std::string& what) {
    open_ = false;
    side_.check(side_.api().group_end(), [&] { return what; });
  }

 private:
  const Side& side_;
  bool open_ = true;
};

// 1 or 2 as an element of the type, for ncclRedOpCreatePreMulSum.
uint64_t scalar_bits(const TypeInfo& type, int scalar) {
  return type.is_float() ? encode(type, scalar) : static_cast<uint64_t>(scalar);
}

ncclRedOp_t built_in(Operation op) {
  switch (op) {
    case Operation::kProd:
      return ncclProd;
    case Operation::kMax:
      return ncclMax;
    case Operation::kMin:
      return ncclMin;
    case Operation::kAvg:
      return ncclAvg;
    default:
      return ncclSum;
  }
}

}  // namespace

Side::Side(std::string label, Api api, const World& world, const Options& options, size_t capacity)
    : label_(std::move(label)),
      api_(std::move(api)),
      world_(world),
      options_(options),
      capacity_(capacity),
      locals_(static_cast<size_t>(world.local_ranks())) {
  for (size_t i = 0; i < locals_.size(); ++i) {
    locals_[i].rank = world.first_rank + static_cast<int>(i);
    locals_[i].device = world.device_of(static_cast<int>(i));
  }
}

size_t Side::buffer_bytes() const {
  const size_t bytes =
      capacity_ + kGuardBytes + static_cast<size_t>(options_.misalign) * kLargestType;
  return (bytes + kPage - 1) / kPage * kPage;
}

void Side::open(Exchange& exchange, Crew& crew) {
  ncclUniqueId id{};
  if (exchange.rank() == 0) {
    check(api_.get_unique_id(&id), [] { return "ncclGetUniqueId"; });
  }
  const std::string text = exchange.from_first({id.internal, sizeof(id.internal)});
  if (text.size() != sizeof(id.internal)) fail("rank 0 sent no unique id");
  std::memcpy(id.internal, text.data(), sizeof(id.internal));
  for (LocalRank& local : locals_) allocate(local);
  if (options_.parallel_init) {
    crew.run([&](int thread) { init_ranks(id, thread * world_.gpus, world_.gpus); });
  } else {
    init_ranks(id, 0, world_.local_ranks());
  }
  register_buffers();
}

void Side::init_ranks(const ncclUniqueId& id, int first, int count) {
  Group group(*this);
  for (int i = first; i < first + count; ++i) {
    LocalRank& local = locals_[static_cast<size_t>(i)];
    check_hip(hipSetDevice(local.device), fmt::format("hipSetDevice({})", local.device));
    ncclResult_t result = ncclSuccess;
    if (options_.cta_policy >= 0) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.CTAPolicy = options_.cta_policy;
      result = required(api_, api_.comm_init_rank_config, "ncclCommInitRankConfig")(
          &local.comm, world_.ranks, id, local.rank, &config);
    } else {
      result = api_.comm_init_rank(&local.comm, world_.ranks, id, local.rank);
    }
    check(result, [&] { return fmt::format("ncclCommInitRank of rank {}", local.rank); });
  }
  group.end(fmt::format("initialising ranks {} to {} of {}",
                        locals_[static_cast<size_t>(first)].rank,
                        locals_[static_cast<size_t>(first + count - 1)].rank, world_.ranks));
}

void Side::allocate(LocalRank& local) {
  check_hip(hipSetDevice(local.device), fmt::format("hipSetDevice({})", local.device));
  if (!options_.null_stream) {
    check_hip(hipStreamCreateWithFlags(&local.stream, hipStreamNonBlocking), "hipStreamCreate");
  }
  const size_t bytes = buffer_bytes();
  for (void*& buffer : local.buffers) {
    if (options_.buffers == BufferSource::kLibrary) {
      check(required(api_, api_.mem_alloc, "ncclMemAlloc")(&buffer, bytes),
            [&] { return fmt::format("ncclMemAlloc of {} bytes", bytes); });
    } else {
      check_hip(hipMalloc(&buffer, bytes),
                fmt::format("hipMalloc of {} bytes on device {}", bytes, local.device));
    }
  }
}

void Side::register_buffers() {
  if (options_.registration == Registration::kNone) return;
  const bool windows = options_.registration == Registration::kWindow;
  Group group(*this);
  for (LocalRank& local : locals_) {
    check_hip(hipSetDevice(local.device), "hipSetDevice");
    for (int i = 0; i < 2; ++i) {
      const ncclResult_t result =
          windows ? required(api_, api_.comm_window_register, "ncclCommWindowRegister")(
                        local.comm, local.buffers[i], buffer_bytes(), &local.windows[i],
                        NCCL_WIN_COLL_SYMMETRIC)
                  : required(api_, api_.comm_register, "ncclCommRegister")(
                        local.comm, local.buffers[i], buffer_bytes(), &local.handles[i]);
      check(result, [&] {
        return fmt::format("{} on rank {}", windows ? "ncclCommWindowRegister" : "ncclCommRegister",
                           local.rank);
      });
    }
  }
  group.end("registering buffers");
}

void Side::deregister(LocalRank& local) {
  for (int i = 0; i < 2; ++i) {
    if (local.windows[i] != nullptr) {
      check(required(api_, api_.comm_window_deregister, "ncclCommWindowDeregister")(
                local.comm, local.windows[i]),
            [] { return "ncclCommWindowDeregister"; });
    }
    if (local.handles[i] != nullptr) {
      check(
          required(api_, api_.comm_deregister, "ncclCommDeregister")(local.comm, local.handles[i]),
          [] { return "ncclCommDeregister"; });
    }
  }
}

void Side::set_operation(const TypeInfo& type, Operation op) {
  if (op == Operation::kCopy) return;
  for (LocalRank& local : locals_) {
    drop_operation(local);
    local.op = built_in(op);
    if (op != Operation::kMulSum) continue;
    uint64_t scalar = scalar_bits(type, premul_scalar(local.rank));
    check(required(api_, api_.red_op_create_pre_mul_sum, "ncclRedOpCreatePreMulSum")(
              &local.op, &scalar, type.type, ncclScalarHostImmediate, local.comm),
          [&] { return fmt::format("ncclRedOpCreatePreMulSum on rank {}", local.rank); });
  }
}

void Side::drop_operation(LocalRank& local) {
  if (local.op < ncclNumOps) return;
  check(required(api_, api_.red_op_destroy, "ncclRedOpDestroy")(local.op, local.comm),
        [] { return "ncclRedOpDestroy"; });
  local.op = ncclSum;
}

void Side::close() {
  for (LocalRank& local : locals_) {
    check_hip(hipSetDevice(local.device), "hipSetDevice");
    drop_operation(local);
    deregister(local);
    for (void* buffer : local.buffers) {
      if (options_.buffers == BufferSource::kLibrary) {
        check(required(api_, api_.mem_free, "ncclMemFree")(buffer), [] { return "ncclMemFree"; });
      } else {
        check_hip(hipFree(buffer), "hipFree");
      }
    }
    if (local.stream != nullptr) check_hip(hipStreamDestroy(local.stream), "hipStreamDestroy");
  }
  for (LocalRank& local : locals_) {
    check(api_.comm_destroy(local.comm),
          [&] { return fmt::format("ncclCommDestroy of rank {}", local.rank); });
    local.comm = nullptr;
  }
}

void Side::abort_all() {
  if (api_.comm_abort == nullptr) return;
  for (const LocalRank& local : locals_) {
    if (local.comm != nullptr) api_.comm_abort(local.comm);
  }
}

}  // namespace weft::perf
