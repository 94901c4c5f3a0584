// What programs do with operations, each as a short scene on every rank: groups, graphs, buffers
// that are used again, communicators split off, schedules. A further scene is a row in scenes.cc.
#pragma once

#include "operations.h"
#include "ranks.h"

namespace amd_test {

struct Scene {
  const char* name;
  // `call`: of floats; its buffers, count and root are the scene's.
  void (*run)(const Job& job, const Call& call);
};

extern const Scene kScenes[];
extern const size_t kSceneCount;

}  // namespace amd_test
