// Something that a graph keeps: amd platform. Every platform folder has this file with the same
// names (contract: src/platform/README.md). Host code only.
#pragma once

#include <dlfcn.h>
#include <hip/hip_runtime.h>

namespace weft::platform {

// HIP before 5.3 has neither the calls nor their types, so they are looked up in the runtime that
// is loaded. The values of flags are those of newer headers.
class UserObjects {
 public:
  using Object = struct hipUserObject*;
  static constexpr unsigned kNoDestructorSync = 1, kMove = 1;

  hipError_t (*create)(Object*, void*, void (*)(void*), unsigned, unsigned);
  hipError_t (*release)(Object, unsigned);
  hipError_t (*retain)(hipGraph_t, Object, unsigned, unsigned);

  UserObjects() {
    find(create, "hipUserObjectCreate");
    find(release, "hipUserObjectRelease");
    find(retain, "hipGraphRetainUserObject");
  }
  bool all() const { return create != nullptr && release != nullptr && retain != nullptr; }

 private:
  template <class Function>
  static void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

inline hipError_t keep_in_graph(hipGraph_t graph, void* object, void (*end)(void*)) {
  static const UserObjects calls;
  if (!calls.all()) return hipErrorNotSupported;
  UserObjects::Object kept = nullptr;
  const hipError_t made = calls.create(&kept, object, end, 1, UserObjects::kNoDestructorSync);
  if (made != hipSuccess) {
    end(object);
    return made;
  }
  const hipError_t held = calls.retain(graph, kept, 1, UserObjects::kMove);
  if (held != hipSuccess) (void)calls.release(kept, 1);
  return held;
}

}  // namespace weft::platform
