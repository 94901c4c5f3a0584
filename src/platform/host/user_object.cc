// Counted objects that graphs keep alive: their destructor runs when the last reference goes,
// whoever holds it.
#include <climits>
#include <mutex>
#include <unordered_map>

#include "graph.h"
#include "runtime.h"
#include "stream.h"

struct hipUserObject {
  void* pointer;
  hipHostFn_t destroy;
};

namespace weft::hiphost {
namespace {

struct Objects {
  Lock lock;
  std::unordered_map<hipUserObject_t, unsigned long> references;
};
Objects& objects() {
  static Objects* o = new Objects;
  return *o;
}

bool good_count(unsigned count) { return count > 0 && count <= INT_MAX; }

}  // namespace

bool object_is_live(hipUserObject_t object) {
  const std::lock_guard guard(objects().lock);
  return objects().references.count(object) != 0;
}

void retain_object(hipUserObject_t object, unsigned count) {
  const std::lock_guard guard(objects().lock);
  objects().references[object] += count;
}

void release_object(hipUserObject_t object, unsigned count) {
  {
    const std::lock_guard guard(objects().lock);
    const auto it = objects().references.find(object);
    if (it == objects().references.end()) return;
    it->second -= std::min<unsigned long>(it->second, count);
    if (it->second > 0) return;
    objects().references.erase(it);
  }
  object->destroy(object->pointer);
  delete object;
}

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer,
                                          hipHostFn_t destroy, unsigned int references,
                                          unsigned int flags) {
  return enter([&] {
    if (object == nullptr || destroy == nullptr || !good_count(references) ||
        flags != hipUserObjectNoDestructorSync) {
      return hipErrorInvalidValue;
    }
    *object = new hipUserObject{pointer, destroy};
    retain_object(*object, references);
    return hipSuccess;
  });
}

extern "C" hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned int count) {
  return enter([&] {
    if (!good_count(count) || !object_is_live(object)) return hipErrorInvalidValue;
    retain_object(object, count);
    return hipSuccess;
  });
}

extern "C" hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned int count) {
  return enter([&] {
    if (!good_count(count) || !object_is_live(object)) return hipErrorInvalidValue;
    release_object(object, count);
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object,
                                               unsigned int count, unsigned int flags) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (!graph_is_live(graph) || !object_is_live(object) || !good_count(count) ||
        (flags != 0 && flags != hipGraphUserObjectMove)) {
      return hipErrorInvalidValue;
    }
    if (flags != hipGraphUserObjectMove) retain_object(object, count);
    graph->objects[object] += count;
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object,
                                                unsigned int count) {
  return enter([&] {
    {
      const std::lock_guard guard(streams_lock());
      if (!graph_is_live(graph) || !good_count(count)) return hipErrorInvalidValue;
      const auto it = graph->objects.find(object);
      if (it == graph->objects.end() || it->second < count) return hipErrorInvalidValue;
      it->second -= count;
      if (it->second == 0) graph->objects.erase(it);
    }
    release_object(object, count);
    return hipSuccess;
  });
}
