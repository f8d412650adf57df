// SPDX-License-Identifier: MIT
// The phases of a call of scheme ozaki1, timed in the call's own launches: the call is captured into a graph, and where one phase
// ends and the next begins an event is put between the two kernels. A kernel's phase is the library's part that it is of.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// Milliseconds on the device.
struct Phases {
  double split = 0;    ///< scales and slices of both operands
  double product = 0;  ///< of slices, in the engine
  double sums = 0;     ///< exact sums, rounded to C
  double rest = 0;     ///< what answers lines with NaN or Inf, with nothing to do
  int kernels = 0;
};

class PhaseTimer {
 public:
  /// @param call enqueues on a stream, and neither waits nor uses another
  /// @throws std::runtime_error what it enqueues cannot be captured, or is no chain
  explicit PhaseTimer(const std::function<void(cudaStream_t)>& call);
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer();

  /// Runs the call once more, and waits for it.
  [[nodiscard]] Phases time() const;

 private:
  enum class Phase { kSplit, kProduct, kSums, kRest };
  /// What lies between two events.
  struct Stretch {
    Phase phase;
    cudaEvent_t end = nullptr;
  };
  [[nodiscard]] static Phase phase_of(const std::string& kernel);
  void insert_events(cudaGraph_t graph);

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  std::vector<Stretch> stretches_;
  int kernels_ = 0;
};

}  // namespace bench
