// Building graphs by hand, and asking what a graph consists of.
#include <algorithm>
#include <mutex>

#include "copy.h"
#include "event.h"
#include "graph.h"
#include "launch.h"
#include "runtime.h"
#include "stream.h"

namespace weft::hiphost {
namespace {

using Nodes = std::vector<hipGraphNode_t>;

bool owns(const ihipGraph& graph, hipGraphNode_t node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [node](const auto& owned) { return owned.get() == node; });
}

// Where a new node goes: the graph's lock is held and its dependencies are known to be its own.
struct Place {
  hipGraphNode_t* out;
  hipGraph_t graph;
  const hipGraphNode_t* dependencies;
  size_t count;

  hipError_t check() const {
    if (out == nullptr || !graph_is_live(graph)) return hipErrorInvalidValue;
    if (count > 0 && dependencies == nullptr) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!owns(*graph, dependencies[i])) return hipErrorInvalidValue;
    }
    return hipSuccess;
  }
  hipGraphNode_t add(Work work, hipGraphNodeType type) const {
    work.device = current_device();
    *out = add_node(*graph, std::move(work), type, Nodes(dependencies, dependencies + count));
    return *out;
  }
};

// Runs make(work) and adds the node; `after_add` may complete it.
template <class Make, class After>
hipError_t add(const Place& place, hipGraphNodeType type, Make&& make, After&& after_add) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (const hipError_t error = place.check(); error != hipSuccess) return error;
    Work work;
    if (const hipError_t error = make(work); error != hipSuccess) return error;
    after_add(place.add(std::move(work), type));
    return hipSuccess;
  });
}
template <class Make>
hipError_t add(const Place& place, hipGraphNodeType type, Make&& make) {
  return add(place, type, make, [](hipGraphNode_t) {});
}

hipError_t add_event(const Place& place, hipGraphNodeType type, hipEvent_t event) {
  return add(
      place, type,
      [event](Work&) { return event_is_live(event) ? hipSuccess : hipErrorInvalidValue; },
      [event](hipGraphNode_t node) { set_node_event(node, event); });
}

// HIP's convention: without a list only the count is told.
hipError_t give(const Nodes& found, hipGraphNode_t* nodes, size_t* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
  return hipSuccess;
}

Nodes nodes_of(const ihipGraph& graph, bool roots_only) {
  Nodes found;
  for (const auto& node : graph.nodes) {
    if (!roots_only || node->after.empty()) found.push_back(node.get());
  }
  return found;
}

bool follows(hipGraphNode_t node, hipGraphNode_t earlier) {
  return std::find(node->after.begin(), node->after.end(), earlier) != node->after.end();
}

// A node must stand behind all it follows: one that nothing follows can be moved there.
hipError_t add_dependency(ihipGraph& graph, hipGraphNode_t from, hipGraphNode_t to) {
  const auto place = [&](hipGraphNode_t node) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                        [node](const auto& owned) { return owned.get() == node; });
  };
  const auto a = place(from), b = place(to);
  if (a == graph.nodes.end() || b == graph.nodes.end() || a == b || follows(to, from)) {
    return hipErrorInvalidValue;
  }
  if (a > b) {
    const auto depends = [to](const auto& node) { return follows(node.get(), to); };
    if (std::any_of(b, graph.nodes.end(), depends)) return hipErrorNotSupported;
    std::rotate(b, b + 1, graph.nodes.end());
  }
  to->after.push_back(from);
  return hipSuccess;
}

hipError_t remove_dependency(const ihipGraph& graph, hipGraphNode_t from, hipGraphNode_t to) {
  if (!owns(graph, from) || !owns(graph, to) || !follows(to, from)) return hipErrorInvalidValue;
  std::erase(to->after, from);
  return hipSuccess;
}

// Does change(graph, from[i], to[i]) for each edge of a list.
template <class Change>
hipError_t change_edges(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                        size_t count, Change change) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (!graph_is_live(graph)) return hipErrorInvalidValue;
    if (count > 0 && (from == nullptr || to == nullptr)) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      const hipError_t error = change(*graph, from[i], to[i]);
      if (error != hipSuccess) return error;
    }
    return hipSuccess;
  });
}

}  // namespace
}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" {

hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 const hipKernelNodeParams* p) {
  return add({node, graph, dependencies, count}, hipGraphNodeTypeKernel, [&](Work& work) {
    if (p == nullptr || p->extra != nullptr) return hipErrorInvalidValue;
    return kernel_work({p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes},
                       work);
  });
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* dependencies, size_t count, void* to,
                                   const void* from, size_t bytes, hipMemcpyKind) {
  return add({node, graph, dependencies, count}, hipGraphNodeTypeMemcpy, [&](Work& work) {
    return copy_work({to, from, bytes}, work);
  });
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 const hipMemsetParams* p) {
  return add({node, graph, dependencies, count}, hipGraphNodeTypeMemset, [&](Work& work) {
    if (p == nullptr || p->height != 1) return hipErrorInvalidValue;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) {
      return hipErrorInvalidValue;
    }
    return fill_work({p->dst, p->value, p->elementSize, p->width}, work);
  });
}

hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph,
                               const hipGraphNode_t* dependencies, size_t count,
                               const hipHostNodeParams* p) {
  return add({node, graph, dependencies, count}, hipGraphNodeTypeHost, [&](Work& work) {
    if (p == nullptr || p->fn == nullptr) return hipErrorInvalidValue;
    work.kind = Work::Kind::kHost;
    work.body = [fn = p->fn, data = p->userData] { fn(data); };
    return hipSuccess;
  });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph,
                                const hipGraphNode_t* dependencies, size_t count) {
  return add({node, graph, dependencies, count}, hipGraphNodeTypeEmpty,
             [](Work&) { return hipSuccess; });
}

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph,
                                      const hipGraphNode_t* dependencies, size_t count,
                                      hipEvent_t event) {
  return add_event({node, graph, dependencies, count}, hipGraphNodeTypeEventRecord, event);
}

hipError_t hipGraphAddEventWaitNode(hipGraphNode_t* node, hipGraph_t graph,
                                    const hipGraphNode_t* dependencies, size_t count,
                                    hipEvent_t event) {
  return add_event({node, graph, dependencies, count}, hipGraphNodeTypeWaitEvent, event);
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* dependencies, size_t count,
                                     hipGraph_t child) {
  return add(
      {node, graph, dependencies, count}, hipGraphNodeTypeGraph,
      [child](Work&) { return graph_is_live(child) ? hipSuccess : hipErrorInvalidValue; },
      [child](hipGraphNode_t added) { added->child = copy_graph(*child); });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, size_t count) {
  return change_edges(graph, from, to, count, add_dependency);
}

hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                      const hipGraphNode_t* to, size_t count) {
  return change_edges(graph, from, to, count, remove_dependency);
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (!graph_is_live(graph)) return hipErrorInvalidValue;
    return give(nodes_of(*graph, false), nodes, count);
  });
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (!graph_is_live(graph)) return hipErrorInvalidValue;
    return give(nodes_of(*graph, true), nodes, count);
  });
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to,
                            size_t* count) {
  return enter([&] {
    const std::lock_guard guard(streams_lock());
    if (!graph_is_live(graph) || count == nullptr || (from == nullptr) != (to == nullptr)) {
      return hipErrorInvalidValue;
    }
    Nodes tails, heads;
    for (const auto& node : graph->nodes) {
      tails.insert(tails.end(), node->after.begin(), node->after.end());
      heads.insert(heads.end(), node->after.size(), node.get());
    }
    size_t again = *count;
    const hipError_t error = give(tails, from, count);
    return error != hipSuccess ? error : give(heads, to, &again);
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return enter([&] {
    if (node == nullptr || type == nullptr) return hipErrorInvalidValue;
    *type = node->type;
    return hipSuccess;
  });
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* dependencies,
                                       size_t* count) {
  return enter([&] {
    if (node == nullptr) return hipErrorInvalidValue;
    const std::lock_guard guard(streams_lock());
    return give(node->after, dependencies, count);
  });
}

}  // extern "C"
