// SPDX-License-Identifier: MIT
// The phases of a call, timed in the call's own launches: the call is captured into a graph, and where one phase ends
// and the next begins an event is put between the two kernels. Within a phase the starts of kernels overlap as in the
// call, between phases they do not: the sum is a few microseconds more than the call takes.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

class PhaseTimer {
 public:
  /// The phase of each kernel of a call, in the call's order, from their mangled names. @return as many numbers, each
  /// of 0 .. num_phases - 1
  using PhasesOf = std::function<std::vector<int>(const std::vector<std::string>& kernels)>;

  /// @param call enqueues on a stream, and neither waits nor uses another. What is no kernel (clearing of memory) is of
  ///        the phase of the kernel behind it.
  /// @throws std::runtime_error what it enqueues cannot be captured, or is no chain
  PhaseTimer(const std::function<void(cudaStream_t)>& call, int num_phases, const PhasesOf& phases_of);
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer();

  /// Runs the call once more, and waits for it. @return milliseconds on the device: [num_phases]
  [[nodiscard]] std::vector<double> time() const;
  [[nodiscard]] int num_kernels() const { return num_kernels_; }

 private:
  /// What lies between two events.
  struct Stretch {
    int phase;
    cudaEvent_t end;
  };
  void insert_events(cudaGraph_t graph, const PhasesOf& phases_of);

  int num_phases_;
  int num_kernels_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  std::vector<Stretch> stretches_;
};

}  // namespace bench
