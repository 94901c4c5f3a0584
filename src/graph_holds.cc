// References of graphs (graph_holds.h).
#include "graph_holds.h"

#include <mutex>
#include <utility>

#include "graph_reference.h"
#include "hip_check.h"

namespace weft {

struct GraphHolds::State {
  std::mutex mutex;
  size_t live = 0;
  std::vector<CaptureId> ended;  // has room for all that live: to end needs no memory
};

struct GraphHolds::Reference {
  std::shared_ptr<State> state;
  CaptureId capture;

  static void end(void* pointer) {
    const std::unique_ptr<Reference> reference(static_cast<Reference*>(pointer));
    const std::lock_guard lock(reference->state->mutex);
    --reference->state->live;
    reference->state->ended.push_back(reference->capture);
  }
};

GraphHolds::GraphHolds() : state_(std::make_shared<State>()) {}

void GraphHolds::hold(hipGraph_t graph, CaptureId capture) {
  auto reference = std::make_unique<Reference>(Reference{state_, capture});
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended.reserve(state_->ended.size() + state_->live + 1);
    ++state_->live;
  }
  const hipError_t held = platform::keep_in_graph(graph, reference.release(), &Reference::end);
  if (held == hipErrorNotSupported) return;  // never known to end
  hip_check(held, "giving a graph a reference on its communicator");
}

bool GraphHolds::any() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live > 0;
}

std::vector<CaptureId> GraphHolds::take_ended() {
  const std::lock_guard lock(state_->mutex);
  std::vector<CaptureId> ended;
  std::swap(ended, state_->ended);
  state_->ended.reserve(state_->live);
  return ended;
}

}  // namespace weft
