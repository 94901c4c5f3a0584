// Enqueues calls of one library and times them: eagerly or as a replayed graph.
// Owns: where a call's pointers lie, groups, capture, waiting for streams, the clock. Does not own:
// barriers between processes (session.cc), what the figures mean (report.cc).
//
// A timed block is -n calls (or -G replays of a graph of -n calls) and one wait for the streams;
// its time is wall time divided by the calls. Pointers move on from call to call through the
// buffer, so that small sizes are not always in the same cache lines. When ranks are spread over
// threads or processes, one untimed call (or replay) and a wait come first: it lets all ranks start
// within a few microseconds of each other, which a barrier over sockets would not.
#pragma once

#include <vector>

#include "collectives.h"
#include "crew.h"
#include "options.h"
#include "side.h"
#include "types.h"

namespace weft::perf {

// One row of the table, for one placement of the buffers.
struct Trial {
  const Collective* collective;
  const TypeInfo* type;
  Operation op;  // kCopy when the collective takes none
  int root;      // 0 where there is none
  size_t count;
  bool in_place;
};

struct Pointers {
  char *send, *recv;
};

struct BlockTime {
  double seconds, enqueue_seconds;  // per call, mean over this process's threads
};

class Runner {
 public:
  Runner(Side& side, Crew& crew, const Options& options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Makes `trial` the one that the calls below run; captures its graph with -G.
  void prepare(const Trial& trial);
  // Enqueues -w calls and waits.
  void warm_up();
  BlockTime time_block();
  // -n single calls, each timed to its end on this process's first thread. Seconds.
  std::vector<double> time_singles();
  // One call (through a graph of its own with -G) at the start of the buffers, to its end.
  void run_once();

  Pointers pointers(const LocalRank& local, size_t offset) const;
  Shape shape(const LocalRank& local) const;
  const Trial& trial() const { return trial_; }

 private:
  struct Graphs {
    std::vector<hipGraphExec_t> by_local;  // empty: none
  };
  Graphs capture(int calls, int aggregate);
  void launch(const Graphs& graphs, int thread);
  void drop(Graphs& graphs);
  void lead_in(int thread);
  void call(int thread, int iteration, int aggregate);
  void call_local(const LocalRank& local, size_t offset);
  void wait(int thread);
  bool stream_is_done(const LocalRank& local);
  void check_async(const LocalRank& local);
  size_t offset_of(int iteration) const;

  Side& side_;
  Crew& crew_;
  const Options& options_;
  Trial trial_{};
  Graphs graphs_;
};

}  // namespace weft::perf
