// SPDX-License-Identifier: MIT
#include "phase_timer.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <optional>

#include "base/cuda_driver.hpp"
#include "device_bench.cuh"

namespace bench {
namespace {

void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": CUresult " + std::to_string(result));
}

/// A function of the driver. @throws std::runtime_error there is none of that version
template <class Function>
[[nodiscard]] Function driver(const char* name, unsigned version) {
  const auto function = kizami::base::driver_function<Function>(name, version);
  if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return function;
}

/// The nodes of a graph one after another, and the edges between them.
struct Chain {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;  ///< edges[i] goes from nodes[i] to nodes[i + 1]
};

[[nodiscard]] Chain chain_of(CUgraph graph) {
  const auto get_nodes = driver<PFN_cuGraphGetNodes_v10000>("cuGraphGetNodes", 10000);
  const auto get_edges = driver<PFN_cuGraphGetEdges_v12030>("cuGraphGetEdges", 12030);
  std::size_t num_nodes = 0;
  check_driver(get_nodes(graph, nullptr, &num_nodes), "nodes");
  std::vector<CUgraphNode> nodes(num_nodes);
  check_driver(get_nodes(graph, nodes.data(), &num_nodes), "nodes");
  std::size_t num_edges = 0;
  check_driver(get_edges(graph, nullptr, nullptr, nullptr, &num_edges), "edges");
  std::vector<CUgraphNode> from(num_edges);
  std::vector<CUgraphNode> to(num_edges);
  std::vector<CUgraphEdgeData> data(num_edges);
  check_driver(get_edges(graph, from.data(), to.data(), data.data(), &num_edges), "edges");
  Chain chain;
  for (CUgraphNode node : nodes) {
    if (std::find(to.begin(), to.end(), node) == to.end()) chain.nodes.push_back(node);
  }
  if (num_nodes == 0 || chain.nodes.size() != 1 || num_edges != num_nodes - 1)
    throw std::runtime_error("the launches of the call are no chain");
  while (chain.edges.size() < num_edges) {
    const auto at = std::find(from.begin(), from.end(), chain.nodes.back());
    if (at == from.end()) throw std::runtime_error("the launches of the call are no chain");
    const auto edge = static_cast<std::size_t>(at - from.begin());
    chain.nodes.push_back(to[edge]);
    chain.edges.push_back(data[edge]);
  }
  return chain;
}

/// The mangled name of a kernel; nothing of a node that is none.
[[nodiscard]] std::optional<std::string> kernel_name(CUgraphNode node) {
  CUgraphNodeType type{};
  check_driver(driver<PFN_cuGraphNodeGetType_v10000>("cuGraphNodeGetType", 10000)(node, &type), "node");
  if (type != CU_GRAPH_NODE_TYPE_KERNEL) return std::nullopt;
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  check_driver(driver<PFN_cuGraphKernelNodeGetParams_v12000>("cuGraphKernelNodeGetParams", 12000)(node, &parameters),
               "kernel");
  const char* name = nullptr;
  if (parameters.func != nullptr) {
    check_driver(driver<PFN_cuFuncGetName_v12030>("cuFuncGetName", 12030)(&name, parameters.func), "name");
  } else {
    check_driver(driver<PFN_cuKernelGetName_v12030>("cuKernelGetName", 12030)(&name, parameters.kern), "name");
  }
  return name;
}

}  // namespace

PhaseTimer::PhaseTimer(const std::function<void(cudaStream_t)>& call, int num_phases, const PhasesOf& phases_of)
    : num_phases_(num_phases) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capture");
  call(stream_);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_, &graph), "capture");
  insert_events(graph, phases_of);
  check(cudaGraphInstantiate(&replay_, graph, 0), "graph");
  check(cudaGraphDestroy(graph), "graph");
}

PhaseTimer::~PhaseTimer() {
  static_cast<void>(cudaGraphExecDestroy(replay_));
  static_cast<void>(cudaEventDestroy(begin_));
  for (const Stretch& stretch : stretches_) static_cast<void>(cudaEventDestroy(stretch.end));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void PhaseTimer::insert_events(cudaGraph_t graph, const PhasesOf& phases_of) {
  const Chain chain = chain_of(graph);
  const std::size_t count = chain.nodes.size();
  std::vector<std::string> kernels;
  std::vector<std::size_t> kernel_of(count);  // or the next one
  for (std::size_t i = 0; i < count; ++i) {
    kernel_of[i] = kernels.size();
    if (const std::optional<std::string> name = kernel_name(chain.nodes[i])) kernels.push_back(*name);
  }
  num_kernels_ = static_cast<int>(kernels.size());
  const std::vector<int> phase_of_kernel = phases_of(kernels);
  if (kernels.empty() || phase_of_kernel.size() != kernels.size()) throw std::logic_error("a phase for each kernel");
  std::vector<int> phases(count);
  for (std::size_t i = 0; i < count; ++i) phases[i] = phase_of_kernel[std::min(kernel_of[i], kernels.size() - 1)];
  const auto remove = driver<PFN_cuGraphRemoveDependencies_v12030>("cuGraphRemoveDependencies", 12030);
  const auto add = driver<PFN_cuGraphAddDependencies_v12030>("cuGraphAddDependencies", 12030);
  const auto add_event = [graph](cudaEvent_t& event, const CUgraphNode* after) {
    check(cudaEventCreate(&event), "event");
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddEventRecordNode(&node, graph, after, after == nullptr ? 0 : 1, event), "event in a graph");
    return node;
  };
  const auto go_on = [&](cudaGraphNode_t event, std::size_t i) {
    check_driver(add(graph, &event, &chain.nodes[i], nullptr, 1), "dependency");
  };
  go_on(add_event(begin_, nullptr), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    if (!is_last && phases[i] == phases[i + 1]) continue;
    Stretch& stretch = stretches_.emplace_back(Stretch{phases[i], nullptr});
    if (!is_last) check_driver(remove(graph, &chain.nodes[i], &chain.nodes[i + 1], &chain.edges[i], 1), "dependency");
    cudaGraphNode_t event = add_event(stretch.end, &chain.nodes[i]);
    if (!is_last) go_on(event, i + 1);
  }
}

std::vector<double> PhaseTimer::time() const {
  check(cudaGraphLaunch(replay_, stream_), "graph");
  check(cudaStreamSynchronize(stream_), "graph");
  std::vector<double> phases(static_cast<std::size_t>(num_phases_));
  cudaEvent_t before = begin_;
  for (const Stretch& stretch : stretches_) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, before, stretch.end), "event");
    before = stretch.end;
    phases[static_cast<std::size_t>(stretch.phase)] += ms;
  }
  return phases;
}

}  // namespace bench
