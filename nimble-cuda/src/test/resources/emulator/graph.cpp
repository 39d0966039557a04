// The emulated driver: graphs, made by capture or node by node, and their launch.
#include "driver.h"

#include <algorithm>
#include <sstream>

namespace emu {
namespace {
// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelParameters {
  void* function;
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};

// A node's handle is its address. Handles come and go with the graph, uncounted.
const char* NODE = "node";
std::map<GraphNode*, Graph*>& graph_of = *new std::map<GraphNode*, Graph*>();

void name_nodes(Graph* graph) {
  for (GraphNode& node : graph->nodes) {
    if (graph_of.emplace(&node, graph).second) open_handle(&node, NODE, false);
  }
}

GraphNode* node_of(void* handle) {
  return handle && is_live(handle, NODE) ? (GraphNode*)handle : nullptr;
}

// As the driver fills an array: what there is, then nulls up to the capacity.
void fill(void** out, size_t* count, const std::vector<GraphNode*>& all) {
  if (out) {
    for (size_t i = 0; i < *count; i++) out[i] = i < all.size() ? all[i] : nullptr;
  }
  *count = all.size();
}

int add_to(Graph* graph, void** out, void** dependencies, size_t count, GraphNode node) {
  name_nodes(graph);
  for (size_t i = 0; i < count; i++) {
    GraphNode* before = node_of(dependencies[i]);
    if (!before || graph_of[before] != graph) return INVALID_VALUE;
    if (std::find(node.dependencies.begin(), node.dependencies.end(), before->index) !=
        node.dependencies.end()) {
      return INVALID_VALUE;
    }
    node.dependencies.push_back(before->index);
  }
  node.index = graph->nodes.size();
  graph->nodes.push_back(std::move(node));
  name_nodes(graph);
  *out = &graph->nodes.back();
  return SUCCESS;
}

// Nodes so that each comes after those it depends on; empty if there is a cycle.
std::vector<GraphNode> in_order(Graph* graph) {
  size_t n = graph->nodes.size();
  std::vector<size_t> left(n), position(n), ready;
  std::vector<std::vector<size_t>> next(n);
  for (GraphNode& node : graph->nodes) {
    left[node.index] = node.dependencies.size();
    if (node.dependencies.empty()) ready.push_back(node.index);
    for (size_t d : node.dependencies) next[d].push_back(node.index);
  }
  std::vector<GraphNode> ordered;
  for (size_t at = 0; at < ready.size(); at++) {
    GraphNode node = graph->nodes[ready[at]];
    position[node.index] = ordered.size();
    for (size_t& d : node.dependencies) d = position[d];
    for (size_t after : next[node.index]) {
      if (--left[after] == 0) ready.push_back(after);
    }
    ordered.push_back(std::move(node));
  }
  if (ordered.size() < n) ordered.clear();
  return ordered;
}
}  // namespace

// One line a node: index, kind, name, what it depends on.
int graph_text(void* handle, std::string& out) {
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  static const char* KINDS[] = {"kernel", "memcpy", "memset", "host", "graph", "empty"};
  std::ostringstream text;
  for (const GraphNode& node : graph->nodes) {
    text << node.index << ' ' << KINDS[node.kind] << ' ' << node.name;
    for (size_t d : node.dependencies) text << ' ' << d;
    text << '\n';
  }
  out = text.str();
  return SUCCESS;
}
}  // namespace emu

using namespace emu;

EXPORT int cuGraphCreate(void** out, unsigned int flags) {
  ENTER("cuGraphCreate");
  if (flags) return INVALID_VALUE;
  *out = opened(new Graph());
  return SUCCESS;
}
EXPORT int cuGraphDestroy(void* handle) {
  ENTER("cuGraphDestroy");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  for (GraphNode& node : graph->nodes) {
    close_handle(&node, NODE);
    graph_of.erase(&node);
  }
  closed(graph);
  return SUCCESS;
}
EXPORT int cuGraphAddEmptyNode(void** out, void* handle, void** dependencies, size_t count) {
  ENTER("cuGraphAddEmptyNode");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  GraphNode node{};
  node.kind = EMPTY;
  node.name = "empty";
  return add_to(graph, out, dependencies, count, std::move(node));
}
EXPORT int cuGraphAddKernelNode_v2(void** out, void* handle, void** dependencies, size_t count,
                                   const KernelParameters* p) {
  ENTER("cuGraphAddKernelNode");
  CONTEXT;
  Graph* graph = as<Graph>(handle);
  Function* function = as<Function>(p->function);
  if (!graph || !function) return INVALID_HANDLE;
  GraphNode node{};
  node.kind = KERNEL;
  node.name = function->name;
  std::function<void()> body;
  int status = make_launch(function, p->grid, p->block, p->shared, p->parameters, p->extra,
                           node.launch, body);
  if (status) return status;
  node.run = in_context(function->context, KERNEL, std::move(body));
  return add_to(graph, out, dependencies, count, std::move(node));
}
EXPORT int cuGraphAddDependencies(void* handle, void** from, void** to, size_t count) {
  ENTER("cuGraphAddDependencies");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  for (size_t i = 0; i < count; i++) {
    GraphNode* before = node_of(from[i]);
    GraphNode* after = node_of(to[i]);
    if (!before || !after || before == after || graph_of[before] != graph ||
        graph_of[after] != graph) {
      return INVALID_VALUE;
    }
    std::vector<size_t>& held = after->dependencies;
    if (std::find(held.begin(), held.end(), before->index) != held.end()) return INVALID_VALUE;
    held.push_back(before->index);
  }
  return SUCCESS;
}

// What a graph is made of.
EXPORT int cuGraphGetNodes(void* handle, void** nodes, size_t* count) {
  ENTER("cuGraphGetNodes");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  name_nodes(graph);
  std::vector<GraphNode*> all;
  for (GraphNode& node : graph->nodes) all.push_back(&node);
  fill(nodes, count, all);
  return SUCCESS;
}
EXPORT int cuGraphGetRootNodes(void* handle, void** nodes, size_t* count) {
  ENTER("cuGraphGetRootNodes");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  name_nodes(graph);
  std::vector<GraphNode*> all;
  for (GraphNode& node : graph->nodes) {
    if (node.dependencies.empty()) all.push_back(&node);
  }
  fill(nodes, count, all);
  return SUCCESS;
}
EXPORT int cuGraphGetEdges(void* handle, void** from, void** to, size_t* count) {
  ENTER("cuGraphGetEdges");
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  if (!from != !to) return INVALID_VALUE;
  name_nodes(graph);
  std::vector<GraphNode*> heads, tails;
  for (GraphNode& node : graph->nodes) {
    for (size_t d : node.dependencies) {
      heads.push_back(&graph->nodes[d]);
      tails.push_back(&node);
    }
  }
  size_t capacity = *count;
  fill(from, count, heads);
  *count = capacity;
  fill(to, count, tails);
  return SUCCESS;
}
EXPORT int cuGraphNodeGetType(void* handle, int* type) {
  ENTER("cuGraphNodeGetType");
  GraphNode* node = node_of(handle);
  if (!node) return INVALID_HANDLE;
  *type = node->kind;
  return SUCCESS;
}
EXPORT int cuGraphNodeGetDependencies(void* handle, void** nodes, size_t* count) {
  ENTER("cuGraphNodeGetDependencies");
  GraphNode* node = node_of(handle);
  if (!node) return INVALID_HANDLE;
  std::vector<GraphNode*> all;
  for (size_t d : node->dependencies) all.push_back(&graph_of[node]->nodes[d]);
  fill(nodes, count, all);
  return SUCCESS;
}
EXPORT int cuGraphNodeGetDependentNodes(void* handle, void** nodes, size_t* count) {
  ENTER("cuGraphNodeGetDependentNodes");
  GraphNode* node = node_of(handle);
  if (!node) return INVALID_HANDLE;
  std::vector<GraphNode*> all;
  for (GraphNode& other : graph_of[node]->nodes) {
    for (size_t d : other.dependencies) {
      if (d == node->index) all.push_back(&other);
    }
  }
  fill(nodes, count, all);
  return SUCCESS;
}
EXPORT int cuGraphKernelNodeGetParams_v2(void* handle, KernelParameters* out) {
  ENTER("cuGraphKernelNodeGetParams");
  GraphNode* node = node_of(handle);
  if (!node) return INVALID_HANDLE;
  if (node->kind != KERNEL || !node->launch) return INVALID_VALUE;
  Launch& launch = *node->launch;
  out->function = launch.function;
  std::copy(launch.grid, launch.grid + 3, out->grid);
  std::copy(launch.block, launch.block + 3, out->block);
  out->shared = launch.shared;
  out->parameters = launch.pointers.data();
  out->extra = nullptr;
  out->kernel = nullptr;
  out->context = nullptr;
  return SUCCESS;
}

// Executable graphs.
EXPORT int cuGraphInstantiateWithFlags(void** out, void* handle, unsigned long long flags) {
  ENTER("cuGraphInstantiate");
  CONTEXT;
  if (int status = unsafe()) return status;
  Graph* graph = as<Graph>(handle);
  if (!graph) return INVALID_HANDLE;
  if (flags & ~(unsigned long long)8) {                  // 8: priorities of nodes
    return not_emulated("cuGraphInstantiate with flags " + std::to_string(flags), NOT_SUPPORTED);
  }
  std::vector<GraphNode> nodes = in_order(graph);
  if (nodes.size() < graph->nodes.size()) return INVALID_VALUE;
  Exec* exec = new Exec();
  exec->context = context;
  exec->nodes = std::move(nodes);
  *out = opened(exec);
  return SUCCESS;
}
EXPORT int cuGraphUpload(void* handle, void* stream_handle) {
  ENTER("cuGraphUpload");
  STREAM(stream_handle);
  if (!as<Exec>(handle)) return INVALID_HANDLE;
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  return implicit(stream);
}
EXPORT int cuGraphLaunch(void* handle, void* stream_handle) {
  ENTER("cuGraphLaunch");
  CONTEXT;
  STREAM(stream_handle);
  if (stream->context != context) return INVALID_CONTEXT;
  Exec* exec = as<Exec>(handle);
  if (!exec) return INVALID_HANDLE;
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  if (int status = implicit(stream)) return status;
  std::vector<WorkRef> after = before(stream);
  add(after, exec->last);
  WorkRef last = std::make_shared<Work>();
  last->pending = 1;
  WorkRef expand = submit(after, nullptr);
  expand->run = [exec, last] { run_graph(exec, last); };
  expand->dependents.push_back(last);
  stream->tail = {last};
  exec->last = {last};
  return SUCCESS;
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(void* handle, void* node_handle,
                                             const KernelParameters* p) {
  ENTER("cuGraphExecKernelNodeSetParams");
  CONTEXT;
  Exec* exec = as<Exec>(handle);
  GraphNode* node = node_of(node_handle);
  Function* function = as<Function>(p->function);
  if (!exec || !node || !function) return INVALID_HANDLE;
  for (GraphNode& held : exec->nodes) {
    if (held.index != node->index) continue;
    if (held.kind != KERNEL || held.name != node->name) return INVALID_VALUE;
    std::function<void()> body;
    std::shared_ptr<Launch> launch;
    int status = make_launch(function, p->grid, p->block, p->shared, p->parameters, p->extra,
                             launch, body);
    if (status) return status;
    wait_for(guard, std::vector<WorkRef>(exec->last), nullptr);  // later launches see it
    held.run = in_context(function->context, KERNEL, std::move(body));
    held.launch = launch;
    return SUCCESS;
  }
  return INVALID_VALUE;
}
EXPORT int cuGraphExecDestroy(void* handle) {
  ENTER("cuGraphExecDestroy");
  Exec* exec = as<Exec>(handle);
  if (!exec) return INVALID_HANDLE;
  Context* context = exec->context;
  wait_for(guard, std::vector<WorkRef>(exec->last), nullptr);
  closed(exec);
  return context->error;
}
