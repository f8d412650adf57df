// SPDX-License-Identifier: MIT
// The backend of dropin/factorizations/recursion.hpp on a CUDA device: products by Kizami where its planner predicts them to be quicker, else by
// cuBLAS; diagonal blocks of Cholesky by cuSOLVER, panels of LU by a kernel (dropin/factorizations/panel_steps.hpp) or by cuSOLVER. Triangles of
// 256 are solved with by substitution (substitution_steps.hpp), for many right-hand sides by their inverses, which are made
// by substitution for all blocks of a factored triangle at once and checked by what the whole factorization is checked by:
// the residual of a block grows with its own condition, not with that of the matrix (docs/perf/factorizations.md).
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dropin/factorizations/moves.hpp"
#include "dropin/factorizations/panel_kernels.cuh"
#include "dropin/factorizations/panel_steps.hpp"
#include "dropin/factorizations/recursion.hpp"
#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"
#include "substitution_steps.hpp"

namespace factorizations {

// Order and panels are those of libkizami_cublas.so before cuSOLVER.
using namespace kizami::dropin::factorizations;  // NOLINT(google-build-using-namespace): a program

inline void require(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d (%s)\n", what, status, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}
inline void require(const kizami::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.reason().c_str());
  std::exit(1);
}

template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    if (count > 0) require(cudaMalloc(&data_, bytes_), "cudaMalloc");
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  [[nodiscard]] T* get() const { return static_cast<T*>(data_); }
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

// ---- kernels ----

template <int W>
__global__ void moves_of_pivots(const int* pivots, std::int32_t rows, std::int32_t cols, Moves<W>* moves) {
  moves_of(pivots, rows, cols, *moves);
}

static __device__ void substitute_on_device(const SubstitutionCall& call) {
  __shared__ SubstitutionShared shared;
  SubstitutionSteps thread(call, shared, static_cast<int>(threadIdx.x), blockIdx.x);
  substitute(
      call, blockIdx.x, [&](const auto& step) { step(thread); }, [] { __syncthreads(); });
}

/// X <- L^-1 X, a block of threads for each kSubstitutionColumns.
static __global__ void __launch_bounds__(kSubstitutionThreads) solve_triangle(SubstitutionCall call) {
  substitute_on_device(call);
}

/// Inverses of the blocks of `order` on the diagonal of L, which has `rows` rows, one behind the other; blocks of threads:
/// of columns x of diagonal blocks.
static __global__ void __launch_bounds__(kSubstitutionThreads)
    invert_triangles(const double* l, std::int64_t ld, std::int64_t rows, std::int32_t order, bool has_unit_diagonal,
                     double* inverses) {
  const std::int64_t first = std::int64_t{blockIdx.y} * order;
  const auto own = static_cast<std::int32_t>(rows - first < order ? rows - first : order);
  if (blockIdx.x * kSubstitutionColumns >= own) return;
  substitute_on_device({l + first * (ld + 1), ld, own, has_unit_diagonal, inverses + first * order, own, own, true});
}

/// uniform - 0.5 by a hash of the place; symmetric if `is_symmetric`; `diagonal` is added on the diagonal.
static __global__ void fill(double* a, std::int64_t rows, std::int64_t cols, bool is_symmetric, double diagonal,
                            std::uint64_t seed) {
  for (std::int64_t at = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; at < rows * cols;
       at += std::int64_t{gridDim.x} * blockDim.x) {
    const std::int64_t i = at % rows;
    const std::int64_t j = at / rows;
    const std::int64_t row = is_symmetric && j > i ? j : i;
    const std::int64_t column = is_symmetric && j > i ? i : j;
    std::uint64_t x = seed + static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15ull +
                      static_cast<std::uint64_t>(column) * 0xd1342543de82ef95ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    a[at] = static_cast<double>(x >> 11) * 0x1p-53 - 0.5 + (i == j ? diagonal : 0.0);
  }
}

static __global__ void sums_of_rows(const double* a, std::int64_t n, double* sums) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += fabs(a[i + j * n]);
  sums[i] = sum;
}

// ---- the backend ----

struct Phase {
  const char* name;
  cudaEvent_t begin, end;
};

struct DeviceOptions {
  std::int64_t solved = 256;   ///< kSubstitutionThreads at most
  bool has_own_panels = true;  ///< else cuSOLVER's
  bool is_timed = false;       ///< every operation, which makes all of them a little slower
};

class Device {
 public:
  /// @param kept_rows, kept_inner of the largest L that is kept for a second update; 0: none is
  Device(const Matrix& a, const DeviceOptions& options, std::int64_t kept_rows, std::int64_t kept_inner)
      : a_(a),
        options_(options),
        inverses_(options.solved * options.solved * ((a.cols + options.solved - 1) / options.solved)),
        has_inverse_(static_cast<std::size_t>((a.cols + options.solved - 1) / options.solved)),
        moves_((a.cols + kPanelWidth - 1) / kPanelWidth),
        offers_(1),
        pivots_(kPanelWidth),
        info_(1),
        kept_memory_(static_cast<std::int64_t>(bytes_to_keep(kept_rows, kept_inner))) {
    int least = 0;
    int greatest = 0;
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
    int device = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&num_sms_, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
    for (int q = 0; q < 2; ++q) {
      require(cudaStreamCreateWithPriority(&streams_[q], cudaStreamNonBlocking, q == 1 ? greatest : least), "stream");
      require(cublasCreate(&blas_[q]), "cublasCreate");
      require(cublasSetStream(blas_[q], streams_[q]), "cublasSetStream");
      require(cudaEventCreateWithFlags(&events_[q], cudaEventDisableTiming), "event");
      temporaries_.push_back(std::make_unique<Buffer<double>>(a.rows * options.solved));
      composed_.push_back(std::make_unique<Composed>(a.rows));
    }
    require(cudaMemset(offers_.get(), 0, offers_.bytes().size()), "cudaMemset");
    require(cudaDeviceSynchronize(), "what panels begin with");
    require(cusolverDnCreate(&solver_), "cusolverDnCreate");
    policy_.reproducibility = kizami::Reproducibility::kNotGuaranteed;  // cuBLAS may answer where it is quicker
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    cudaDeviceSynchronize();
    cusolverDnDestroy(solver_);
    for (int q = 0; q < 2; ++q) {
      cublasDestroy(blas_[q]);
      cudaEventDestroy(events_[q]);
      cudaStreamDestroy(streams_[q]);
    }
  }

  /// Before each factorization. @return the stream that it begins and ends in
  cudaStream_t begin() {
    std::fill(has_inverse_.begin(), has_inverse_.end(), false);
    for (const std::unique_ptr<Composed>& composed : composed_) composed->first = -1;
    kept_of_ = nullptr;
    use(Queue::kUpdate);
    signal(Queue::kUpdate);
    use(Queue::kPanel);
    await(Queue::kUpdate);
    use(Queue::kUpdate);
    return stream();
  }
  [[nodiscard]] cudaStream_t stream() const { return streams_[queue_]; }
  [[nodiscard]] cublasHandle_t blas() const { return blas_[queue_]; }
  [[nodiscard]] cusolverDnHandle_t solver() const { return solver_; }

  // ---- Cholesky ----

  void factor(const Matrix& a) {
    timed("blocks", [&] {
      const int n = static_cast<int>(a.rows);
      int size = 0;
      require(cusolverDnSetStream(solver_, stream()), "cusolverDnSetStream");
      require(cusolverDnDpotrf_bufferSize(solver_, CUBLAS_FILL_MODE_LOWER, n, a.data, static_cast<int>(a.ld), &size),
              "potrf_bufferSize");
      require(cusolverDnDpotrf(solver_, CUBLAS_FILL_MODE_LOWER, n, a.data, static_cast<int>(a.ld), work(size), size,
                               info_.get()),
              "potrf");
    });
  }
  void ready(const Matrix& l) {
    timed("solutions", [&] { invert(l, false); });
  }
  void solve_transposed(const Matrix& l, const Matrix& b) {
    timed("solutions", [&] {
      const Matrix inverse = inverse_of(l);
      const Matrix copy = copied(b);
      gemm(CUBLAS_OP_T, copy, inverse, b);
    });
  }
  void update(const Matrix& a, const Matrix& c) {
    timed("triangles", [&] {
      constexpr std::int64_t kLeastTriangle = 3072;  // docs/perf/h200_call.md#one-triangle-of-c
      if (c.rows >= kLeastTriangle && is_emulated(c.rows, c.rows, a.cols)) {
        const kizami::Status status = kizami::cuda::gemmt<double>(
            stream(), kizami::Layout::kColMajor, {.is_lower = true}, kizami::Op::kNone, kizami::Op::kTranspose, c.rows,
            a.cols, -1.0, a.data, a.ld, a.data, a.ld, 1.0, c.data, c.ld);
        if (status.ok()) return;
        if (status.code() != kizami::StatusCode::kUnsupported) require(status);
      }
      const double minus = -1;
      const double one = 1;
      require(cublasDsyrk_64(blas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, c.rows, a.cols, &minus, a.data, a.ld, &one,
                             c.data, c.ld),
              "dsyrk");
    });
  }

  // ---- both ----

  void multiply(double alpha, const Matrix& a, const Matrix& b, bool is_transposed, const Matrix& c) {
    timed("products", [&] {
      require(kizami::cuda::gemm<double>(stream(), kizami::Layout::kColMajor, kizami::Op::kNone,
                                         is_transposed ? kizami::Op::kTranspose : kizami::Op::kNone, c.rows, c.cols,
                                         a.cols, alpha, a.data, a.ld, b.data, b.ld, 1.0, c.data, c.ld, policy_));
    });
  }

  // ---- LU ----

  void ready(const Matrix& l, std::int64_t cols) {
    if (cols < kWide) return;
    timed("solutions", [&] { invert(l, true); });
  }
  void solve(const Matrix& l, const Matrix& b) {
    timed("solutions", [&] {
      if (b.cols < kWide) {
        const auto blocks = static_cast<unsigned>((b.cols + kSubstitutionColumns - 1) / kSubstitutionColumns);
        solve_triangle<<<blocks, kSubstitutionThreads, 0, stream()>>>(
            {l.data, l.ld, static_cast<std::int32_t>(l.rows), true, b.data, b.ld, b.cols, false});
        require(cudaGetLastError(), "the kernel of a substitution");
        return;
      }
      const Matrix inverse = inverse_of(l);
      const Matrix copy = copied(b);
      gemm(CUBLAS_OP_N, inverse, copy, b);
    });
  }
  void update(const Matrix& l, const Matrix& u, const Matrix& c, bool keeps) {
    const bool is_kept = kept_of_ == l.data;
    if (!keeps && !is_kept) return multiply(-1.0, l, u, false, c);
    timed("updates", [&] {
      const kizami::Result<kizami::Plan> plan =
          kizami::cuda::make_plan(kizami::Scalar::kF64, c.rows, c.cols, l.cols, policy_);
      if (!plan.ok()) require(plan.status());
      const kizami::MatrixView<const double> left = view(l);
      if (keeps && !is_kept) keep(plan.value(), left);
      if (!keeps) kept_of_ = nullptr;
      if (plan.value().scheme() != kizami::Scheme::kNative && prepared_.has_value()) {
        const kizami::Status status = kizami::cuda::run_prepared<double>(
            plan.value(), -1.0, *prepared_, view(u), 1.0, kizami::blas_view(c.data, c.rows, c.cols, c.ld), stream());
        if (status.ok()) return;
        if (status.code() != kizami::StatusCode::kInvalidArgument) require(status);  // planned with other numerics
      }
      require(kizami::cuda::gemm<double>(stream(), kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone,
                                         c.rows, c.cols, l.cols, -1.0, l.data, l.ld, u.data, u.ld, 1.0, c.data, c.ld,
                                         policy_));
    });
  }
  void panel(const Matrix& a, std::int64_t index) {
    timed("panels", [&] {
      Moves<kPanelWidth>* const moves = moves_.get() + index;
      const std::int64_t num_blocks = (a.rows + kPanelThreads - 1) / kPanelThreads;
      const auto cols = static_cast<std::int32_t>(a.cols);
      if (options_.has_own_panels && num_blocks <= std::min(num_sms_, kMostPanelBlocks)) {
        PanelCall<kPanelWidth> call{a.data,
                                    a.ld,
                                    static_cast<std::int32_t>(a.rows),
                                    cols,
                                    static_cast<std::int32_t>(num_blocks),
                                    next_tag_,
                                    offers_.get(),
                                    moves};
        next_tag_ += kPanelWidth;  // 2^26 panels
        void* parameters[] = {&call};
        require(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&factor_panel_kernel<kPanelWidth>),
                                            dim3(static_cast<unsigned>(num_blocks)), dim3(kPanelThreads), parameters, 0,
                                            stream()),
                "the kernel of a panel");
        return;
      }
      const int rows = static_cast<int>(a.rows);
      const int ld = static_cast<int>(a.ld);
      int size = 0;
      require(cusolverDnSetStream(solver_, stream()), "cusolverDnSetStream");
      require(cusolverDnDgetrf_bufferSize(solver_, rows, cols, a.data, ld, &size), "getrf_bufferSize");
      require(cusolverDnDgetrf(solver_, rows, cols, a.data, ld, work(size), pivots_.get(), info_.get()), "getrf");
      moves_of_pivots<<<1, 1, 0, stream()>>>(pivots_.get(), rows, std::min(cols, rows), moves);
    });
  }
  void move(const Matrix& c, std::int64_t first, std::int64_t last) {
    if (c.cols == 0) return;
    timed("rows", [&] {
      for (std::int64_t begin = first; begin < last; begin += kMovedPanels) {
        const MovedRows moved = moved_by(begin, std::min(begin + kMovedPanels, last));
        const std::int64_t columns = kMoveThreads * kMovedByThread / moved.count;
        move_rows<<<static_cast<unsigned>((c.cols + columns - 1) / columns), kMoveThreads, 0, stream()>>>(
            c.data, c.ld, c.cols, moved);
        require(cudaGetLastError(), "the kernel that moves rows");
      }
    });
  }
  void use(Queue queue) { queue_ = queue == Queue::kPanel ? 1 : 0; }
  void signal(Queue queue) {
    const int q = queue == Queue::kPanel ? 1 : 0;
    require(cudaEventRecord(events_[q], streams_[q]), "cudaEventRecord");
  }
  void await(Queue queue) {
    require(cudaStreamWaitEvent(stream(), events_[queue == Queue::kPanel ? 1 : 0], 0), "cudaStreamWaitEvent");
  }

  /// Of the last factorization, if it is timed. Waits for it.
  [[nodiscard]] std::map<std::string, double> seconds_by_phase() {
    require(cudaDeviceSynchronize(), "the factorization");
    std::map<std::string, double> seconds;
    for (const Phase& phase : phases_) {
      float ms = 0;
      require(cudaEventElapsedTime(&ms, phase.begin, phase.end), "cudaEventElapsedTime");
      seconds[phase.name] += ms * 1e-3;
      cudaEventDestroy(phase.begin);
      cudaEventDestroy(phase.end);
    }
    phases_.clear();
    return seconds;
  }
  void set_timed(bool is_timed) { options_.is_timed = is_timed; }
  /// How often an L was split for two updates.
  [[nodiscard]] int num_kept() const { return num_kept_; }

 private:
  [[nodiscard]] static kizami::MatrixView<const double> view(const Matrix& x) {
    return kizami::blas_view(static_cast<const double*>(x.data), x.rows, x.cols, x.ld);
  }
  template <class Work>
  void timed(const char* name, const Work& work) {
    if (!options_.is_timed) return work();
    Phase phase{name, nullptr, nullptr};
    require(cudaEventCreate(&phase.begin), "cudaEventCreate");
    require(cudaEventCreate(&phase.end), "cudaEventCreate");
    require(cudaEventRecord(phase.begin, stream()), "cudaEventRecord");
    work();
    require(cudaEventRecord(phase.end, stream()), "cudaEventRecord");
    phases_.push_back(phase);
  }
  [[nodiscard]] bool is_emulated(std::int64_t m, std::int64_t n, std::int64_t k) const {
    const kizami::Result<kizami::Plan> plan = kizami::cuda::make_plan(kizami::Scalar::kF64, m, n, k, policy_);
    return plan.ok() && plan.value().scheme() != kizami::Scheme::kNative;
  }
  [[nodiscard]] static std::size_t bytes_to_keep(std::int64_t rows, std::int64_t inner) {
    if (rows <= 0) return 0;
    kizami::Policy policy;
    policy.scheme = kizami::Scheme::kOzaki2;
    const kizami::Result<kizami::Plan> plan = kizami::cuda::make_plan(kizami::Scalar::kF64, rows, inner, inner, policy);
    if (!plan.ok()) return 0;
    const kizami::Result<std::size_t> bytes = kizami::cuda::prepared_bytes(plan.value(), kizami::Side::kA);
    return bytes.ok() ? bytes.value() : 0;
  }
  /// Where the plan keeps something and there is room for it.
  void keep(const kizami::Plan& plan, const kizami::MatrixView<const double>& l) {
    prepared_.reset();
    kept_of_ = l.data;
    const kizami::Result<std::size_t> bytes = kizami::cuda::prepared_bytes(plan, kizami::Side::kA);
    if (!bytes.ok() || bytes.value() > kept_memory_.bytes().size()) return;
    kizami::Result<kizami::cuda::PreparedOperand> made =
        kizami::cuda::prepare<double>(plan, kizami::Side::kA, l, kept_memory_.bytes().first(bytes.value()), stream());
    if (!made.ok()) require(made.status());
    prepared_ = made.value();
    ++num_kept_;
  }
  /// @range last - first <= kMovedPanels
  [[nodiscard]] MovedRows moved_by(std::int64_t first, std::int64_t last) {
    Composed& composed = *composed_[static_cast<std::size_t>(queue_)];
    ComposeCall<kPanelWidth> call{moves_.get(),
                                  static_cast<std::int32_t>(first),
                                  static_cast<std::int32_t>(last),
                                  static_cast<std::int32_t>(a_.rows),
                                  composed.row_at.get(),
                                  composed.lists.get(),
                                  composed.lists.get() + kMovedPanels * kPanelWidth};
    if (last - first == 1) {
      const Moves<kPanelWidth>* const moves = moves_.get() + first;  // not read here
      return {call.first_row(), call.count(), moves->from, moves->to};
    }
    if (composed.first != first || composed.last != last) {  // else made for other columns
      composed.first = first;
      composed.last = last;
      compose_moves<<<1, 256, 0, stream()>>>(call);
      require(cudaGetLastError(), "the kernel that composes moves");
    }
    return {call.first_row(), call.count(), call.from, call.to};
  }
  /// Scratch of cuSOLVER, which one queue at a time uses.
  double* work(int size) {
    if (size > work_size_) {
      require(cudaDeviceSynchronize(), "cuSOLVER");
      work_ = std::make_unique<Buffer<double>>(size);
      work_size_ = size;
    }
    return work_->get();
  }
  [[nodiscard]] Matrix copied(const Matrix& b) {
    const Matrix copy{temporaries_[static_cast<std::size_t>(queue_)]->get(), b.rows, b.cols, b.rows};
    require(cudaMemcpy2DAsync(copy.data, static_cast<std::size_t>(copy.ld) * 8, b.data,
                              static_cast<std::size_t>(b.ld) * 8, static_cast<std::size_t>(b.rows) * 8,
                              static_cast<std::size_t>(b.cols), cudaMemcpyDeviceToDevice, stream()),
            "cudaMemcpy2DAsync");
    return copy;
  }
  /// C = A op(B), by cuBLAS: inner sizes of 256 at most.
  void gemm(cublasOperation_t op_b, const Matrix& a, const Matrix& b, const Matrix& c) {
    const double one = 1;
    const double zero = 0;
    require(cublasDgemm_64(blas(), CUBLAS_OP_N, op_b, c.rows, c.cols, a.cols, &one, a.data, a.ld, b.data, b.ld, &zero,
                           c.data, c.ld),
            "dgemm");
  }
  /// Makes inverses of all diagonal blocks of a factored triangle which have none: of those that were factored last. Not
  /// of what lies behind `l`: another queue may be at work there.
  void invert(const Matrix& l, bool has_unit_diagonal) {
    const std::int64_t order = options_.solved;
    const std::int64_t first = slot_of(l);
    std::int64_t known = 0;  // blocks before; they are made from the first on
    while (known * order < l.rows && has_inverse_[static_cast<std::size_t>(first + known)]) ++known;
    const std::int64_t rows = l.rows - known * order;
    if (rows <= 0) return;
    const auto blocks = static_cast<unsigned>((rows + order - 1) / order);
    std::fill_n(has_inverse_.begin() + first + known, blocks, true);
    const dim3 grid(static_cast<unsigned>((order + kSubstitutionColumns - 1) / kSubstitutionColumns), blocks);
    invert_triangles<<<grid, kSubstitutionThreads, 0, stream()>>>(l.data + known * order * (l.ld + 1), l.ld, rows,
                                                                  static_cast<std::int32_t>(order), has_unit_diagonal,
                                                                  inverses_.get() + (first + known) * order * order);
    require(cudaGetLastError(), "the kernel of inverses");
  }
  [[nodiscard]] std::int64_t slot_of(const Matrix& l) const { return (l.data - a_.data) % a_.ld / options_.solved; }
  /// Of a diagonal block of the matrix.
  [[nodiscard]] Matrix inverse_of(const Matrix& l) const {
    return {inverses_.get() + slot_of(l) * options_.solved * options_.solved, l.rows, l.rows, l.rows};
  }

  static constexpr std::int64_t kWide = 1024;  ///< right-hand sides for which a block of L gets an inverse

  /// The moves of panels [first, last), in a queue.
  struct Composed {
    explicit Composed(std::int64_t rows) : row_at(rows), lists(2 * kMovedPanels * kPanelWidth) {
      set_row_numbers<<<static_cast<unsigned>((rows + 255) / 256), 256>>>(row_at.get(), rows);
    }
    Buffer<std::int32_t> row_at, lists;
    std::int64_t first = -1, last = -1;
  };

  Matrix a_;
  DeviceOptions options_;
  Buffer<double> inverses_;
  std::vector<bool> has_inverse_;
  Buffer<Moves<kPanelWidth>> moves_;
  Buffer<PanelOffers<kPanelWidth>> offers_;
  Buffer<int> pivots_, info_;
  Buffer<std::byte> kept_memory_;
  std::vector<std::unique_ptr<Buffer<double>>> temporaries_;
  std::vector<std::unique_ptr<Composed>> composed_;
  std::unique_ptr<Buffer<double>> work_;
  int work_size_ = 0;
  int num_sms_ = 0;
  int queue_ = 0;
  int num_kept_ = 0;
  std::uint32_t next_tag_ = 1;
  cudaStream_t streams_[2] = {};
  cublasHandle_t blas_[2] = {};
  cudaEvent_t events_[2] = {};
  cusolverDnHandle_t solver_ = nullptr;
  kizami::Policy policy_;
  std::optional<kizami::cuda::PreparedOperand> prepared_;
  const double* kept_of_ = nullptr;
  std::vector<Phase> phases_;
};

}  // namespace factorizations
