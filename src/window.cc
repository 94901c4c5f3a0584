// Registering windows (window.h).
#include "window.h"

#include <cstdint>
#include <utility>

#include "device_scope.h"
#include "pointer_info.h"

namespace weft {
namespace {

constexpr const char* kName = "ncclCommWindowRegister";

// What a rank says about its buffer; plain bytes.
struct Announcement {
  uint64_t bytes, offset;
  int32_t flags;
  int32_t code;  // ncclResult_t
};

uint64_t offset_in_allocation(const WindowCall& call) {
  hipDeviceptr_t base{};
  size_t bytes = 0;
  hip_check(hipMemGetAddressRange(&base, &bytes, hipDeviceptr_t(call.base)),
            "{}: asking for the allocation of {}", kName, call.base);
  const uint64_t offset = uint64_t(uintptr_t(call.base) - uintptr_t(base));
  if (call.bytes > bytes - offset)
    fail(ncclInvalidArgument, "{}: size is {}, the allocation of buff {} ends after {} bytes",
         kName, call.bytes, call.base, bytes - offset);
  return offset;
}

Announcement announce(const Communicator& comm, const WindowCall& call) {
  if (call.out == nullptr) fail(ncclInvalidArgument, "{}: win is NULL", kName);
  if ((call.flags & ~NCCL_WIN_COLL_SYMMETRIC) != 0)
    fail(ncclInvalidArgument, "{}: winFlags is {:#x}, which has unknown bits", kName, call.flags);
  if (call.bytes == 0) return {0, 0, call.flags, ncclSuccess};
  if (call.base == nullptr) fail(ncclInvalidArgument, "{}: buff is NULL", kName);
  if (uintptr_t(call.base) % NCCL_WIN_REQUIRED_ALIGNMENT != 0)
    fail(ncclInvalidArgument, "{}: buff {} is not aligned to {} bytes", kName, call.base,
         NCCL_WIN_REQUIRED_ALIGNMENT);
  const PointerInfo info = pointer_info(call.base);
  if (info.kind != MemoryKind::kDevice || info.device != comm.device())
    fail(ncclInvalidArgument, "{}: buff {} is no memory of device {}", kName, call.base,
         comm.device());
  return {call.bytes, offset_in_allocation(call), call.flags, ncclSuccess};
}

template <class Member>
void require_equal(const std::vector<Announcement>& all, Member member, const char* what) {
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].*member != all[0].*member)
      fail(ncclInvalidUsage, "{}: {} differ: rank 0 has {}, rank {} has {}", kName, what,
           all[0].*member, rank, all[rank].*member);
}

}  // namespace

void register_window(Communicator& comm, const WindowCall& call) {
  const DeviceScope scope(comm.device());
  Announcement own{};
  const Refusal refusal = refusal_of([&] { own = announce(comm, call); });
  const std::vector<Announcement> all = gather(kName, comm, own, refusal);
  require_equal(all, &Announcement::flags, "flags");
  const bool symmetric = (own.flags & NCCL_WIN_COLL_SYMMETRIC) != 0;
  if (symmetric) {
    require_equal(all, &Announcement::bytes, "sizes of a symmetric window");
    require_equal(all, &Announcement::offset, "offsets of a symmetric window");
  }
  Window window{call.base, symmetric, {}};
  bool any = false;
  for (const Announcement& rank : all) {
    window.parts.push_back({rank.bytes, rank.offset});
    any |= rank.bytes > 0;
  }
  *call.out = any ? comm.windows.add(std::move(window)) : nullptr;
}

}  // namespace weft
