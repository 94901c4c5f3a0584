// What one rank captured, ready to be launched on any of its streams.
#pragma once

#include "../../support/local_ranks.h"

namespace weft::test {

class RankGraph {
 public:
  // Captures what `body` enqueues on `stream`, or on streams that it forks and joins.
  template <class Body>
  RankGraph(hipStream_t stream, hipStreamCaptureMode mode, Body body) {
    hipGraph_t graph = nullptr;
    require_hip(hipStreamBeginCapture(stream, mode), "hipStreamBeginCapture");
    body();
    require_hip(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    const hipError_t made = hipGraphInstantiate(&executable_, graph, nullptr, nullptr, 0);
    require_hip(hipGraphDestroy(graph), "hipGraphDestroy");
    require_hip(made, "hipGraphInstantiate");
  }
  ~RankGraph() { (void)hipGraphExecDestroy(executable_); }
  RankGraph(RankGraph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  RankGraph& operator=(RankGraph&&) = delete;

  void launch(hipStream_t stream) const {
    require_hip(hipGraphLaunch(executable_, stream), "hipGraphLaunch");
  }

 private:
  hipGraphExec_t executable_ = nullptr;
};

// Non-blocking streams of the current device.
class Streams {
 public:
  explicit Streams(size_t count) : streams_(count) {
    for (hipStream_t& stream : streams_)
      require_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
  }
  ~Streams() {
    for (hipStream_t stream : streams_) (void)hipStreamDestroy(stream);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  hipStream_t operator[](size_t i) const { return streams_[i]; }
  void synchronize() const {
    for (hipStream_t stream : streams_)
      require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  }

 private:
  std::vector<hipStream_t> streams_;
};

// `later` goes on when what `earlier` has now is done.
inline void order(hipStream_t earlier, hipStream_t later) {
  hipEvent_t event = nullptr;
  require_hip(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreate");
  require_hip(hipEventRecord(event, earlier), "hipEventRecord");
  require_hip(hipStreamWaitEvent(later, event, 0), "hipStreamWaitEvent");
  require_hip(hipEventDestroy(event), "hipEventDestroy");
}

}  // namespace weft::test
