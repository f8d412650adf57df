// SPDX-License-Identifier: MIT
#include "dropin/cusolver/getrf.hpp"

#include <algorithm>
#include <cstddef>

#include "dropin/cublas/relaxed_capture.hpp"
#include "dropin/cublas/solve_block.hpp"
#include "dropin/cusolver/level3_calls.hpp"
#include "dropin/cusolver/panels.hpp"
#include "dropin/cusolver/resources.hpp"

namespace kizami::dropin::cusolver {
namespace {

using factorizations::ComposeCall;
using factorizations::LuBlocks;
using factorizations::MovedRows;
using factorizations::PanelCall;
using factorizations::PanelOffers;
using factorizations::Queue;

/// Order of the triangles that are solved with by one kernel: what dtrsm takes (docs/perf/factorizations.md).
constexpr std::int64_t kSolved = cublas::kMostSolved;

/// The moves of panels [first, last), as a queue knows them.
struct Composed {
  std::int32_t* row_at;  ///< [rows]
  std::int32_t* lists;   ///< [2][kMovedPanels * kPanelWidth]
  std::int64_t first = -1;
  std::int64_t last = -1;
};

/// Device memory of a call.
struct LuMemory {
  PanelOffers<kPanelWidth>* offers;
  PanelMoves* moves;  ///< of all panels
  Composed composed[2];
};

[[nodiscard]] std::int64_t panels_of(std::int64_t n) { return (n + kPanelWidth - 1) / kPanelWidth; }

/// Lays the memory out from `base` on, which may be null. @return its bytes
std::size_t lay_out(std::int64_t n, std::byte* base, LuMemory& memory) {
  std::size_t bytes = 0;
  const auto place = [&]<class T>(T*& array, std::int64_t count) {
    array = base == nullptr ? nullptr : reinterpret_cast<T*>(base + bytes);
    bytes += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
  };
  place(memory.offers, 1);
  place(memory.moves, panels_of(n));
  for (Composed& composed : memory.composed) {
    place(composed.row_at, n);
    place(composed.lists, 2 * kMovedPanels * kPanelWidth);
  }
  return bytes;
}

/// The backend of factorizations::lu(), up to the first error.
class Lu {
 public:
  Lu(const SolverCall& call, cudaStream_t stream, const Lane& lane, const LuMemory& memory)
      : call_(call), lane_(lane), memory_(memory), streams_{stream, lane.beside} {
    check(cudaMemsetAsync(memory.offers, 0, sizeof *memory.offers, stream));
    for (const Composed& composed : memory.composed) check(number_rows(composed.row_at, call.n, stream));
    signal(Queue::kUpdate);
    use(Queue::kPanel);
    await(Queue::kUpdate);
  }

  Lu(const Lu&) = delete;
  Lu& operator=(const Lu&) = delete;
  /// The program's stream waits for what the other one still has to do, also after an error: memory is freed behind it.
  ~Lu() {
    const bool is_joined = is_done(cudaEventRecord(lane_.events[1], lane_.beside)) &&
                           is_done(cudaStreamWaitEvent(streams_[0], lane_.events[1], 0));
    if (!is_joined) static_cast<void>(is_done(cudaStreamSynchronize(lane_.beside)));
  }

  void ready(const Matrix&, std::int64_t) {}
  void solve(const Matrix& l, const Matrix& b) {
    if (!is_good()) return;
    cublas::Forward<double> system;
    system.order = l.rows;
    system.width = b.cols;
    system.alpha = 1;
    system.has_unit_diagonal = true;
    system.l = l.data;
    system.l_down = 1;
    system.l_across = l.ld;
    system.c = b.data;
    system.c_down = 1;
    system.c_across = b.ld;
    if (!cublas::solve_block(system, streams_[queue_]).ok())  // nothing is enqueued
      status_ = status_of(solve_unit_lower(call_.caller, lane_.blas[queue_], l, b));
  }
  void multiply(double, const Matrix& a, const Matrix& b, bool, const Matrix& c) {  // of -1, and as they lie
    if (is_good()) status_ = status_of(subtract_product(call_.caller, lane_.blas[queue_], a, b, c));
  }
  void update(const Matrix& l, const Matrix& u, const Matrix& c, bool) { multiply(-1.0, l, u, false, c); }
  void panel(const Matrix& a, std::int64_t index) {
    const std::int64_t num_blocks = (a.rows + factorizations::kPanelThreads - 1) / factorizations::kPanelThreads;
    check([&] {
      return factor_panel({a.data, a.ld, static_cast<std::int32_t>(a.rows), static_cast<std::int32_t>(a.cols),
                           static_cast<std::int32_t>(num_blocks), static_cast<std::uint32_t>(1 + index * kPanelWidth),
                           memory_.offers, memory_.moves + index},
                          streams_[queue_]);
    });
  }
  void move(const Matrix& c, std::int64_t first, std::int64_t last) {
    if (c.cols == 0) return;
    for (std::int64_t begin = first; begin < last; begin += kMovedPanels) {
      const MovedRows moved = moved_by(begin, std::min(begin + kMovedPanels, last));
      check([&] { return move_rows(c.data, c.ld, c.cols, moved, streams_[queue_]); });
    }
  }
  void use(Queue queue) { queue_ = number_of(queue); }
  void signal(Queue queue) {
    check([&] { return cudaEventRecord(lane_.events[number_of(queue)], streams_[number_of(queue)]); });
  }
  void await(Queue queue) {
    check([&] { return cudaStreamWaitEvent(streams_[queue_], lane_.events[number_of(queue)], 0); });
  }

  template <class Int>
  void finish(Int* pivots) {
    check([&] { return write_pivots(memory_.moves, call_.n, pivots, streams_[0]); });
    check([&] { return write_first_zero(call_.a, call_.lda, call_.n, call_.info, streams_[0]); });
  }
  [[nodiscard]] cusolverStatus_t status() const { return status_; }

 private:
  [[nodiscard]] static int number_of(Queue queue) { return queue == Queue::kPanel ? 1 : 0; }
  [[nodiscard]] bool is_good() const { return status_ == CUSOLVER_STATUS_SUCCESS; }
  void check(cudaError_t error) {
    if (!is_done(error)) status_ = CUSOLVER_STATUS_EXECUTION_FAILED;
  }
  template <class Enqueue>
  void check(const Enqueue& enqueue) {
    if (is_good()) check(enqueue());
  }
  /// @range last - first <= kMovedPanels
  [[nodiscard]] MovedRows moved_by(std::int64_t first, std::int64_t last) {
    Composed& composed = memory_.composed[queue_];
    const ComposeCall<kPanelWidth> call{memory_.moves,
                                        static_cast<std::int32_t>(first),
                                        static_cast<std::int32_t>(last),
                                        static_cast<std::int32_t>(call_.n),
                                        composed.row_at,
                                        composed.lists,
                                        composed.lists + kMovedPanels * kPanelWidth};
    if (last - first == 1) {
      const PanelMoves* const moves = memory_.moves + first;  // addresses of device memory
      return {call.first_row(), call.count(), moves->from, moves->to};
    }
    if (composed.first != first || composed.last != last) {  // else made for other columns
      composed.first = first;
      composed.last = last;
      check([&] { return compose_moves(call, streams_[queue_]); });
    }
    return {call.first_row(), call.count(), call.from, call.to};
  }

  const SolverCall& call_;
  const Lane& lane_;
  LuMemory memory_;
  cudaStream_t streams_[2];
  int queue_ = 0;
  cusolverStatus_t status_ = CUSOLVER_STATUS_SUCCESS;
};

}  // namespace

template <class Int>
SolverAnswer getrf(const SolverCall& call, Int* pivots) noexcept {
  use_up_names();
  if (call.n < solver_sizes.least_getrf || pivots == nullptr) return {};
  const cublas::RelaxedCapture relaxed;
  cudaStream_t stream = nullptr;
  const std::int64_t block = solver_sizes.getrf_block;
  const std::int64_t rest = call.n - block;
  if (!is_taken(call, rest, rest, block, stream) || call.n > most_panel_rows()) return {};
  const LentLane lent(stream);
  if (!lent.is_lent()) return {};
  LuMemory memory{};
  const StreamMemory allocated(lay_out(call.n, nullptr, memory), stream);
  if (allocated.get() == nullptr) return {};
  lay_out(call.n, allocated.get(), memory);

  try {
    Lu backend(call, stream, lent.lane(), memory);
    LuBlocks blocks;
    blocks.outer = block;
    blocks.panel = kPanelWidth;
    blocks.solved = kSolved;
    lu(backend, Matrix{call.a, call.n, call.n, call.lda}, blocks, true);
    backend.finish(pivots);
    return {true, backend.status()};
  } catch (...) {  // no memory for the words of an error
    return {true, CUSOLVER_STATUS_INTERNAL_ERROR};
  }
}
template SolverAnswer getrf<int>(const SolverCall&, int*) noexcept;
template SolverAnswer getrf<std::int64_t>(const SolverCall&, std::int64_t*) noexcept;

}  // namespace kizami::dropin::cusolver
