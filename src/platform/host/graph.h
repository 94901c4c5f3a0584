// Graphs: nodes with dependencies, made by capture or by hand, and what is instantiated from them.
// A node holds the same Work that a stream would have run.
#pragma once

#include <hip/hip_runtime_api.h>

#include <map>
#include <memory>
#include <vector>

#include "op.h"

struct hipGraphNode {
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  weft::hiphost::Work work;
  hipEvent_t event = nullptr;        // record and wait nodes
  std::shared_ptr<ihipGraph> child;  // child graph nodes: a copy
  std::vector<hipGraphNode_t> after;
};

struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;  // a node follows only earlier ones
  std::map<hipUserObject_t, unsigned> objects;       // references held
  ihipGraph() = default;
  ihipGraph(const ihipGraph&) = delete;
  ihipGraph& operator=(const ihipGraph&) = delete;
  ~ihipGraph();
};

namespace weft::hiphost {

// Under streams_lock().
hipGraphNode_t add_node(ihipGraph& graph, Work work, hipGraphNodeType type,
                        const std::vector<hipGraphNode_t>& after);
void set_node_event(hipGraphNode_t node, hipEvent_t event);
hipGraph_t new_graph();
std::shared_ptr<ihipGraph> copy_graph(
    const ihipGraph& graph);  // with references on its user objects
void delete_graph(hipGraph_t graph);
bool graph_is_live(hipGraph_t graph);

// user_object.cc. Calls the destructor of an object whose last reference goes: never under a lock.
void retain_object(hipUserObject_t object, unsigned count);
void release_object(hipUserObject_t object, unsigned count);
bool object_is_live(hipUserObject_t object);

}  // namespace weft::hiphost
