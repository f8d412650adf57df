// SPDX-License-Identifier: MIT
// A Cholesky factorization whose updates are products of Kizami, beside cuSOLVER's: 2^15 columns by halves, so that inner
// sizes are large (dropin/factorizations/recursion.hpp). Checks itself by |A x - L L^T x| / (n eps |A||x|) for random x.
//   nvcc -O3 -std=c++20 -arch=sm_90a -I.. 13_cholesky.cu -lkizami -lcublas -lcusolver
//   ./13_cholesky --n 32768 --json factorizations.jsonl
#include "factorizations/program.cuh"

namespace {

using namespace factorizations;  // NOLINT(google-build-using-namespace): a program

/// Of L in the lower triangle of `l`. @param a the matrix, made anew; both triangles
double residual_of(cublasHandle_t blas, const Matrix& l, const Matrix& a) {
  const std::int64_t n = a.rows;
  const Buffer<double> x(n);
  const Buffer<double> y(n);
  const double one = 1;
  const double minus = -1;
  double worst = 0;
  for (int round = 0; round < 4; ++round) {
    fill<<<256, 256>>>(x.get(), n, 1, false, 0.0, 1000U + static_cast<unsigned>(round));
    require(cudaMemcpy(y.get(), x.get(), static_cast<std::size_t>(n) * 8, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    const double size = largest(downloaded(x.get(), n));  // which waits for the copy, too
    require(
        cublasDtrmv_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, n, l.data, l.ld, y.get(), 1),
        "dtrmv");
    require(
        cublasDtrmv_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, l.data, l.ld, y.get(), 1),
        "dtrmv");
    require(cublasDgemv_64(blas, CUBLAS_OP_N, n, n, &minus, a.data, a.ld, x.get(), 1, &one, y.get(), 1), "dgemv");
    const double difference = largest(downloaded(y.get(), n));
    const double scaled = difference / (static_cast<double>(n) * 0x1p-53 * row_norm(a) * size);
    if (!(scaled <= worst) && !std::isnan(worst)) worst = scaled;  // a NaN stays
  }
  return worst;
}

/// cuSOLVER's own, in FP64.
class Cusolver {
 public:
  explicit Cusolver(const Matrix& a) : a_(a), info_(1) {
    require(cusolverDnCreate(&handle_), "cusolverDnCreate");
    require(cusolverDnCreateParams(&parameters_), "cusolverDnCreateParams");
    require(cusolverDnXpotrf_bufferSize(handle_, parameters_, CUBLAS_FILL_MODE_LOWER, a.rows, CUDA_R_64F, a.data, a.ld,
                                        CUDA_R_64F, &device_bytes_, &host_bytes_),
            "potrf_bufferSize");
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
    require(cusolverDnXpotrf(handle_, parameters_, CUBLAS_FILL_MODE_LOWER, a_.rows, CUDA_R_64F, a_.data, a_.ld,
                             CUDA_R_64F, on_device_->get(), device_bytes_, on_host_.data(), host_bytes_, info_.get()),
            "potrf");
  }

 private:
  Matrix a_;
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t parameters_ = nullptr;
  std::size_t device_bytes_ = 0;
  std::size_t host_bytes_ = 0;
  std::unique_ptr<Buffer<std::byte>> on_device_;
  std::vector<std::byte> on_host_;
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
  // Eigenvalues of the random part are within 0.58 sqrt(n): the condition is about 9.
  const double diagonal = 0.72 * std::sqrt(static_cast<double>(n));
  const auto make = [&](const Matrix& x) { fill<<<2048, 256>>>(x.data, n, n, true, diagonal, 1); };
  make(original);

  CholeskyBlocks blocks;
  if (n >= 32768) blocks.factored = 4096;  // 70.6 TFLOPS for 67.9 (docs/perf/factorizations.md)
  if (options.block > 0) blocks.factored = (options.block + blocks.solved - 1) / blocks.solved * blocks.solved;
  DeviceOptions device_options;
  device_options.solved = blocks.solved;
  Device device(a, device_options, 0, 0);
  Found found;
  found.program = "cholesky";
  found.operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 3;
  const auto factor = [&] {
    device.begin();
    cholesky(device, a, blocks);
  };
  found.seconds = seconds_of(
      options.rounds, [&] { make(a); }, factor);
  found.residual = residual_of(device.blas(), a, original);
  make(a);
  require(cudaDeviceSynchronize(), "fill");
  device.set_timed(true);
  factor();
  found.phases = device.seconds_by_phase();

  if (options.has_cusolver) {
    Cusolver cusolver(a);
    found.cusolver_seconds = seconds_of(
        options.rounds, [&] { make(a); }, [&] { cusolver.factor(); });
    found.cusolver_residual = residual_of(device.blas(), a, original);
  }
  return told(options, blocks.factored, found);
}
