// SPDX-License-Identifier: MIT
// An LU factorization with partial pivoting whose updates are products of Kizami, beside cuSOLVER's. Columns come in
// blocks of 4096; a block's panels are factored on a stream of their own while the update before it goes on, for which
// L is split once (dropin/factorizations/recursion.hpp). Checks itself as HPL does: |A x - b| / (n eps (|A||x| + |b|)).
//   nvcc -O3 -std=c++20 -arch=sm_90a -I.. 14_lu.cu -lkizami -lcublas -lcusolver
//   ./14_lu --n 32768 --json factorizations.jsonl
#include "factorizations/program.cuh"

namespace {

using namespace factorizations;  // NOLINT(google-build-using-namespace): a program

/// Of the solution of A x = b by L and U, whose rows `permute` brings those of b to.
double residual_of(cublasHandle_t blas, const Matrix& lu, const Matrix& a,
                   const std::function<void(const Matrix&)>& permute) {
  const std::int64_t n = a.rows;
  const Buffer<double> b(n);
  const Buffer<double> x(n);
  const double one = 1;
  const double minus = -1;
  fill<<<256, 256>>>(b.get(), n, 1, false, 0.0, 77);
  require(cudaMemcpy(x.get(), b.get(), static_cast<std::size_t>(n) * 8, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  require(cudaDeviceSynchronize(), "the right-hand side");
  permute(Matrix{x.get(), n, 1, n});
  require(cudaDeviceSynchronize(), "the order of rows");
  require(cublasDtrsv_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, lu.data, lu.ld, x.get(), 1),
          "dtrsv");
  require(
      cublasDtrsv_64(blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, lu.data, lu.ld, x.get(), 1),
      "dtrsv");
  const double right = largest(downloaded(b.get(), n));
  const double solution = largest(downloaded(x.get(), n));
  require(cublasDgemv_64(blas, CUBLAS_OP_N, n, n, &minus, a.data, a.ld, x.get(), 1, &one, b.get(), 1), "dgemv");
  const double difference = largest(downloaded(b.get(), n));
  return difference / (static_cast<double>(n) * 0x1p-52 * (row_norm(a) * solution + right));
}

/// cuSOLVER's own, in FP64.
class Cusolver {
 public:
  explicit Cusolver(const Matrix& a) : a_(a), pivots_(a.rows), info_(1) {
    require(cusolverDnCreate(&handle_), "cusolverDnCreate");
    require(cusolverDnCreateParams(&parameters_), "cusolverDnCreateParams");
    require(cusolverDnXgetrf_bufferSize(handle_, parameters_, a.rows, a.cols, CUDA_R_64F, a.data, a.ld, CUDA_R_64F,
                                        &device_bytes_, &host_bytes_),
            "getrf_bufferSize");
    on_device_ = std::make_unique<Buffer<std::byte>>(static_cast<std::int64_t>(device_bytes_));
    on_host_.resize(host_bytes_);
  }
  ~Cusolver() {
    cusolverDnDestroyParams(parameters_);
    cusolverDnDestroy(handle_);
  }
  Cusolver(const Cusolver&) = delete;
  Cusolver& operator=(const Cusolver&) = delete;
  void factor() {
    require(cusolverDnXgetrf(handle_, parameters_, a_.rows, a_.cols, CUDA_R_64F, a_.data, a_.ld, pivots_.get(),
                             CUDA_R_64F, on_device_->get(), device_bytes_, on_host_.data(), host_bytes_, info_.get()),
            "getrf");
  }
  /// The rows of a vector, on the host.
  void permute(const Matrix& x) const {
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(a_.rows));
    require(cudaMemcpy(pivots.data(), pivots_.get(), pivots.size() * sizeof(std::int64_t), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    std::vector<double> values = downloaded(x.data, x.rows);
    for (std::size_t i = 0; i < pivots.size(); ++i)
      std::swap(values[i], values[static_cast<std::size_t>(pivots[i] - 1)]);
    require(cudaMemcpy(x.data, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

 private:
  Matrix a_;
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t parameters_ = nullptr;
  std::size_t device_bytes_ = 0;
  std::size_t host_bytes_ = 0;
  std::unique_ptr<Buffer<std::byte>> on_device_;
  std::vector<std::byte> on_host_;
  Buffer<std::int64_t> pivots_;
  Buffer<int> info_;
};

}  // namespace

int main(int argc, char** argv) {
  const ProgramOptions options = parsed(argc, argv);
  if (!has_device()) return 77;
  const std::int64_t n = options.n;
  const Buffer<double> memory(n * n);
  const Buffer<double> again(n * n);
  const Matrix a{memory.get(), n, n, n};
  const Matrix original{again.get(), n, n, n};
  const auto make = [&](const Matrix& x) { fill<<<2048, 256>>>(x.data, n, n, false, 0.0, 1); };
  make(original);

  LuBlocks blocks;
  blocks.panel = kPanelWidth;
  if (options.block > 0) blocks.outer = (options.block + blocks.solved - 1) / blocks.solved * blocks.solved;
  DeviceOptions device_options;
  device_options.solved = blocks.solved;
  device_options.has_own_panels = options.panels == "own";
  Device device(a, device_options, n - blocks.outer, blocks.outer);
  Found found;
  found.program = "lu";
  found.operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) * 2 / 3;
  found.seconds = seconds_of(
      options.rounds, [&] { make(a); },
      [&] {
        device.begin();
        lu(device, a, blocks, options.looks_ahead);
      });
  const std::int64_t num_panels = (n + blocks.panel - 1) / blocks.panel;
  found.residual = residual_of(device.blas(), a, original, [&](const Matrix& x) { device.move(x, 0, num_panels); });
  make(a);
  require(cudaDeviceSynchronize(), "fill");
  device.set_timed(true);  // in one queue: what runs beside something else is not its own time
  device.begin();
  lu(device, a, blocks, false);
  found.phases = device.seconds_by_phase();
  device.set_timed(false);

  if (options.has_cusolver) {
    Cusolver cusolver(a);
    found.cusolver_seconds = seconds_of(
        options.rounds, [&] { make(a); }, [&] { cusolver.factor(); });
    found.cusolver_residual = residual_of(device.blas(), a, original, [&](const Matrix& x) { cusolver.permute(x); });
  }
  return told(options, blocks.outer, found);
}
