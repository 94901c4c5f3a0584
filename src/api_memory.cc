// The C entry points of memory: allocation, registration, windows.
#include "api_guard.h"
#include "hip_check.h"
#include "window.h"

using namespace weft;

// Plain device memory: ranks reach each other's through the arena of the library, or directly once
// it is registered.
WEFT_API(ncclMemAlloc)
ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return guard([&] {
    require_pointer("ncclMemAlloc", "ptr", ptr);
    void* memory = nullptr;
    if (size > 0) hip_check(hipMalloc(&memory, size), "ncclMemAlloc of {} bytes", size);
    *ptr = memory;
    return ncclSuccess;
  });
}

WEFT_API(ncclMemFree)
ncclResult_t ncclMemFree(void* ptr) {
  return guard([&] {
    hip_check(hipFree(ptr), "ncclMemFree of {}", ptr);
    return ncclSuccess;
  });
}

WEFT_API(ncclCommRegister)
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  constexpr const char* kName = "ncclCommRegister";
  return guard([&] {
    const auto communicator = communicator_of(comm, kName);
    communicator->require_ready(kName);
    require_pointer(kName, "handle", handle);
    if (size > 0) require_pointer(kName, "buff", buff);
    *handle =
        size == 0 ? nullptr : communicator->registrations.add(make_registration(kName, buff, size));
    return ncclSuccess;
  });
}

WEFT_API(ncclCommDeregister)
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guard([&] {
    const auto communicator = communicator_of(comm, "ncclCommDeregister");
    if (handle != nullptr && !communicator->registrations.remove(handle))
      fail(ncclInvalidArgument,
           "ncclCommDeregister: {} is no registration of this communicator, or was taken back",
           handle);
    return ncclSuccess;
  });
}

// A job of the group: ranks wait for each other, and one thread may be several of them.
WEFT_API(ncclCommWindowRegister)
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags) {
  return guard_in_group([&] {
    const auto communicator = communicator_of(comm, "ncclCommWindowRegister");
    communicator->require_ready("ncclCommWindowRegister");
    const WindowCall call{buff, size, win, winFlags};
    return Group::current().add(HostJob{communicator, [call](Communicator& on) {
                                          register_window(on, call);
                                          return std::vector<InitJob>();
                                        }});
  });
}

WEFT_API(ncclCommWindowDeregister)
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return guard([&] {
    const auto communicator = communicator_of(comm, "ncclCommWindowDeregister");
    if (win != nullptr && !communicator->windows.remove(win))
      fail(ncclInvalidArgument,
           "ncclCommWindowDeregister: {} is no window of this communicator, or was taken back",
           fmt::ptr(win));
    return ncclSuccess;
  });
}
