// Graphs and their execution. Instantiation copies the graph; a launch turns its nodes into Ops
// between the stream's last Op and a joining one, after the previous launch of the same executable
// graph. Node calls are in graph_node.cc.
#include "graph.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "capture.h"
#include "event.h"
#include "helpers.h"
#include "runtime.h"
#include "scheduler.h"
#include "stream.h"

struct hipGraphExec {
  std::shared_ptr<ihipGraph> graph;
  weft::hiphost::OpRef last;  // under streams_lock(): executions of one graph do not overlap
};

ihipGraph::~ihipGraph() {
  for (const auto& [object, count] : objects) weft::hiphost::release_object(object, count);
}

namespace weft::hiphost {
namespace {

struct Graphs {
  std::unordered_map<hipGraph_t, std::shared_ptr<ihipGraph>> live;
  std::unordered_set<hipGraphExec_t> execs;
};
Graphs& graphs() {
  static Graphs* g = new Graphs;
  return *g;
}

// Keeps a graph alive until the Op that holds it is done, then lets it go on a helper: its user
// objects' destructors may do anything.
struct Keep {
  std::shared_ptr<ihipGraph> graph;
  explicit Keep(std::shared_ptr<ihipGraph> g) : graph(std::move(g)) {}
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  ~Keep() {
    struct Last {
      std::shared_ptr<ihipGraph> graph;
      char edge = 0;
    };
    auto last = std::make_shared<Last>();
    last->graph = std::move(graph);
    sanitize::release(&last->edge);
    run_on_helper([last] {
      sanitize::acquire(&last->edge);
      last->graph.reset();
    });
  }
};

// The entries of a graph being launched. Records take effect in node order: a later wait sees an
// earlier record of this graph.
struct Launcher {
  std::vector<Entry> entries;
  std::vector<std::pair<size_t, hipEvent_t>> records;

  void add_all(const ihipGraph& graph, const std::vector<size_t>& heads,
               std::vector<size_t>& ends) {
    std::unordered_map<hipGraphNode_t, std::vector<size_t>> places;
    std::unordered_set<hipGraphNode_t> followed;
    for (const auto& node : graph.nodes) {
      std::vector<size_t> edges = node->after.empty() ? heads : std::vector<size_t>{};
      for (hipGraphNode_t before : node->after) {
        const std::vector<size_t>& at = places[before];
        edges.insert(edges.end(), at.begin(), at.end());
        followed.insert(before);
      }
      places[node.get()] = add_one(*node, std::move(edges));
    }
    for (const auto& node : graph.nodes) {
      if (followed.count(node.get()) != 0) continue;
      const std::vector<size_t>& at = places[node.get()];
      ends.insert(ends.end(), at.begin(), at.end());
    }
  }

  std::vector<size_t> add_one(const hipGraphNode& node, std::vector<size_t> edges) {
    if (node.child != nullptr && !node.child->nodes.empty()) {
      std::vector<size_t> ends;
      add_all(*node.child, edges, ends);
      return ends;
    }
    Entry entry;
    entry.work = node.work;
    entry.edges = std::move(edges);
    const bool event = node.event != nullptr && event_is_live(node.event);
    if (event && node.type == hipGraphNodeTypeEventRecord) {
      entry.work = record_work(*node.event);
      records.emplace_back(entries.size(), node.event);
    } else if (event && node.type == hipGraphNodeTypeWaitEvent) {
      add_wait(node.event, entry);
    }
    entries.push_back(std::move(entry));
    return {entries.size() - 1};
  }

  void add_wait(hipEvent_t event, Entry& entry) {
    const auto recorded = std::find_if(records.rbegin(), records.rend(),
                                       [event](const auto& r) { return r.second == event; });
    if (recorded != records.rend()) {
      entry.edges.push_back(recorded->first);
      return;
    }
    EventWait wait = wait_on(*event);
    if (wait.foreign) entry.work = std::move(wait.work);
    if (wait.op != nullptr) entry.after.push_back(wait.op);
  }
};

hipError_t launch_in_stream(hipGraphExec& exec, StreamUse& use) {
  std::vector<OpRef> heads = use.order();
  heads.push_back(exec.last);
  Launcher launcher;
  launcher.entries.emplace_back();  // the head, so that wait nodes follow the stream too
  Entry join;
  launcher.add_all(*exec.graph, {0}, join.edges);
  if (join.edges.empty()) join.edges = {0};
  join.work.kind = Work::Kind::kQuick;
  join.work.body = [keep = std::make_shared<Keep>(exec.graph)] {};
  launcher.entries.push_back(std::move(join));
  const auto records = launcher.records;
  const std::vector<OpRef> ops = submit_together(std::move(launcher.entries), heads);
  for (const auto& [place, event] : records) set_event_op(*event, ops[place]);
  exec.last = ops.back();
  use.set_tail(ops.back());
  return hipSuccess;
}

// Launching while capturing: the graph becomes a child node.
hipError_t capture_child(const hipGraphExec& exec, ihipStream_t& stream) {
  if (stream.capture->invalid) return hipErrorStreamCaptureInvalidated;
  hipGraphNode_t node = add_captured_node(stream, Work{}, hipGraphNodeTypeGraph);
  node->child = copy_graph(*exec.graph);
  return hipSuccess;
}

hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  if (exec == nullptr) return hipErrorInvalidValue;
  const std::lock_guard guard(streams_lock());
  if (!graph_is_live(graph)) return hipErrorInvalidValue;
  *exec = new hipGraphExec{copy_graph(*graph), nullptr};
  graphs().execs.insert(*exec);
  return hipSuccess;
}

}  // namespace

std::shared_ptr<ihipGraph> copy_graph(const ihipGraph& graph) {
  auto copy = std::make_shared<ihipGraph>();
  std::unordered_map<hipGraphNode_t, hipGraphNode_t> twin;
  for (const auto& node : graph.nodes) {
    auto mine = std::make_unique<hipGraphNode>(*node);
    for (hipGraphNode_t& before : mine->after) before = twin.at(before);
    twin[node.get()] = mine.get();
    copy->nodes.push_back(std::move(mine));
  }
  for (const auto& [object, count] : graph.objects) {
    retain_object(object, count);
    copy->objects.emplace(object, count);
  }
  return copy;
}

hipGraphNode_t add_node(ihipGraph& graph, Work work, hipGraphNodeType type,
                        const std::vector<hipGraphNode_t>& after) {
  auto node = std::make_unique<hipGraphNode>();
  node->type = type;
  node->work = std::move(work);
  node->after = after;
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

void set_node_event(hipGraphNode_t node, hipEvent_t event) { node->event = event; }

hipGraph_t new_graph() {
  auto graph = std::make_shared<ihipGraph>();
  const hipGraph_t handle = graph.get();
  graphs().live.emplace(handle, std::move(graph));
  return handle;
}

// Takes the handle away under the lock that the caller may or may not hold; user code runs on a
// helper.
void delete_graph(hipGraph_t graph) {
  const auto it = graphs().live.find(graph);
  if (it == graphs().live.end()) return;
  const Keep keep(std::move(it->second));
  graphs().live.erase(it);
}

bool graph_is_live(hipGraph_t graph) { return graphs().live.count(graph) != 0; }

}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) {
  return enter([&] {
    if (graph == nullptr || flags != 0) return hipErrorInvalidValue;
    const std::lock_guard guard(streams_lock());
    *graph = new_graph();
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphDestroy(hipGraph_t graph) {
  return enter([&] {
    std::shared_ptr<ihipGraph> gone;  // destroyed after the lock, on this thread
    const std::lock_guard guard(streams_lock());
    const auto it = graphs().live.find(graph);
    if (it == graphs().live.end()) return hipErrorInvalidValue;
    gone = std::move(it->second);
    graphs().live.erase(it);
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t original) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (clone == nullptr || !graph_is_live(original)) return hipErrorInvalidValue;
    std::shared_ptr<ihipGraph> copy = copy_graph(*original);
    *clone = copy.get();
    graphs().live.emplace(*clone, std::move(copy));
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph,
                                          hipGraphNode_t* error_node, char* log, size_t log_bytes) {
  return enter([&] {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes > 0) *log = 0;
    return instantiate(exec, graph);
  });
}
extern "C" hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                                   unsigned long long) {
  return enter([&] { return instantiate(exec, graph); });
}

extern "C" hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return enter([&] {
    StreamUse use(stream);
    if (use.error() != hipSuccess) return use.error();
    return graphs().execs.count(exec) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

extern "C" hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return enter([&] {
    StreamUse use(stream);
    if (graphs().execs.count(exec) == 0) return hipErrorInvalidValue;
    if (use.error() != hipSuccess) return use.error();
    if (use.capturing()) return capture_child(*exec, use.stream());
    return launch_in_stream(*exec, use);
  });
}

extern "C" hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return enter([&] {
    std::unique_ptr<hipGraphExec> gone;
    const std::lock_guard guard(streams_lock());
    if (graphs().execs.erase(exec) == 0) return hipErrorInvalidValue;
    gone.reset(exec);
    return hipSuccess;
  });
}

extern "C" hipError_t hipGraphExecUpdate(hipGraphExec_t, hipGraph_t, hipGraphNode_t* error_node,
                                         hipGraphExecUpdateResult* result) {
  return enter([&] {
    if (error_node != nullptr) *error_node = nullptr;
    if (result != nullptr) *result = hipGraphExecUpdateErrorNotSupported;
    return hipErrorGraphExecUpdateFailure;
  });
}
