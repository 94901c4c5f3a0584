// Something that a graph keeps, where the runtime has user objects (host, nvidia). Host code only.
#pragma once

#include <hip/hip_runtime.h>

namespace weft::platform {

inline hipError_t keep_in_graph(hipGraph_t graph, void* object, void (*end)(void*)) {
  hipUserObject_t kept = nullptr;
  const hipError_t made = hipUserObjectCreate(&kept, object, end, 1, hipUserObjectNoDestructorSync);
  if (made != hipSuccess) {
    end(object);
    return made;
  }
  const hipError_t held = hipGraphRetainUserObject(graph, kept, 1, hipGraphUserObjectMove);
  if (held != hipSuccess) (void)hipUserObjectRelease(kept, 1);
  return held;
}

}  // namespace weft::platform
