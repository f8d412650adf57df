// SPDX-License-Identifier: MIT
// LU, Cholesky and QR factorizations by cuSOLVER, and products by cuBLAS of the same handle's stream. Prints the seconds
// of all rounds and elements; on stderr the median of each, and of LU and Cholesky how well the last one solves, as HPL
// scales it: |A x - b| / (n eps (|A||x| + |b|)), which is to be below 16. To be compiled by a C++ compiler with CUDA's headers:
//   c++ -O2 -I/usr/local/cuda/include cusolver_factorizations.cpp -L/usr/local/cuda/lib64 -lcusolver -lcublas -lcudart
// usage: cusolver_factorizations [N [ROUNDS]]
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

void require(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d\n", what, status);
  std::exit(1);
}

double* on_device(const std::vector<double>& values) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, values.size() * sizeof(double)), "cudaMalloc");
  require(cudaMemcpy(memory, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice), "cudaMemcpy");
  return static_cast<double*>(memory);
}

/// Seconds of the rounds of one routine.
struct Routine {
  const char* name;
  std::vector<double> seconds;
};

std::vector<double> on_host(const double* address, std::size_t size) {
  std::vector<double> values(size);
  require(cudaMemcpy(values.data(), address, size * sizeof(double), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return values;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) {
    if (!(std::abs(x) <= most)) most = std::abs(x);  // a NaN is the largest
  }
  return most;
}

/// Of the solution of A x = b that `solve` puts in the place of b.
template <class Solve>
double residual_of(cublasHandle_t blas, const double* a, int n, const Solve& solve) {
  std::vector<double> b(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = std::cos(i);
  double* const x = on_device(b);
  double* const rest = on_device(b);
  require(solve(x), "the solution");
  require(cudaDeviceSynchronize(), "the solution");
  double norm = 0;                                    // the largest sum of a row
  for (int i = 0; i < n; i += std::max(1, n / 64)) {  // of rows alike
    double sum = 0;
    require(cublasDasum(blas, n, a + i, n, &sum), "dasum");
    norm = std::max(norm, sum);
  }
  const double one = 1;
  const double minus = -1;
  require(cublasDgemv(blas, CUBLAS_OP_N, n, n, &minus, a, n, x, 1, &one, rest, 1), "dgemv");
  require(cudaDeviceSynchronize(), "dgemv");
  const double scale = n * 0x1p-52 * (norm * largest(on_host(x, b.size())) + 1);
  const double residual = largest(on_host(rest, b.size())) / scale;
  cudaFree(x);
  cudaFree(rest);
  return residual;
}

double element(const double* address) {
  double value = 0;
  require(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::mt19937_64 source(1);
  std::normal_distribution<double> normal;
  std::vector<double> a(size);
  for (double& x : a) x = normal(source);

  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  require(cublasCreate(&blas), "cublasCreate");
  require(cusolverDnCreate(&solver), "cusolverDnCreate");
  require(cublasSetStream(blas, stream), "cublasSetStream");
  require(cusolverDnSetStream(solver, stream), "cusolverDnSetStream");

  double* const given = on_device(a);
  double* const gram = on_device(std::vector<double>(size));
  double* const work_on = on_device(std::vector<double>(size));
  int lu_size = 0;
  int cholesky_size = 0;
  int qr_size = 0;
  require(cusolverDnDgetrf_bufferSize(solver, n, n, work_on, n, &lu_size), "getrf_bufferSize");
  require(cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, n, work_on, n, &cholesky_size),
          "potrf_bufferSize");
  require(cusolverDnDgeqrf_bufferSize(solver, n, n, work_on, n, &qr_size), "geqrf_bufferSize");
  const int most = std::max({lu_size, cholesky_size, qr_size});
  double* const work = on_device(std::vector<double>(static_cast<std::size_t>(most)));
  double* const tau = on_device(std::vector<double>(static_cast<std::size_t>(n)));
  void* pivots = nullptr;
  void* info = nullptr;
  require(cudaMalloc(&pivots, static_cast<std::size_t>(n) * sizeof(int)), "cudaMalloc");
  require(cudaMalloc(&info, sizeof(int)), "cudaMalloc");

  Routine routines[] = {{"dgemm", {}}, {"getrf", {}}, {"potrf", {}}, {"geqrf", {}}};
  const auto timed = [&](Routine& routine, const double* from, const auto& call) {
    if (from != nullptr) {
      require(cudaMemcpyAsync(work_on, from, size * sizeof(double), cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpyAsync");
    }
    require(cudaStreamSynchronize(stream), routine.name);
    const auto begin = std::chrono::steady_clock::now();
    require(call(), routine.name);
    require(cudaStreamSynchronize(stream), routine.name);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    routine.seconds.push_back(took.count());
    return element(from == nullptr ? gram : work_on + size - 1);
  };
  double lu = 0;
  double cholesky = 0;
  double lu_residual = 0;
  double cholesky_residual = 0;
  const auto once = [&](bool is_judged) {
    const double one = 1;
    const double zero = 0;
    timed(routines[0], nullptr, [&] {
      return cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, given, n, given, n, &zero, gram, n);
    });
    lu = timed(routines[1], given, [&] {
      return cusolverDnDgetrf(solver, n, n, work_on, n, work, static_cast<int*>(pivots), static_cast<int*>(info));
    });
    if (is_judged) {
      lu_residual = residual_of(blas, given, n, [&](double* x) {
        return cusolverDnDgetrs(solver, CUBLAS_OP_N, n, 1, work_on, n, static_cast<int*>(pivots), x, n,
                                static_cast<int*>(info));
      });
    }
    cholesky = timed(routines[2], gram, [&] {
      return cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, n, work_on, n, work, cholesky_size,
                              static_cast<int*>(info));
    });
    if (is_judged) {
      cholesky_residual = residual_of(blas, gram, n, [&](double* x) {
        return cusolverDnDpotrs(solver, CUBLAS_FILL_MODE_LOWER, n, 1, work_on, n, x, n, static_cast<int*>(info));
      });
    }
    timed(routines[3], given,
          [&] { return cusolverDnDgeqrf(solver, n, n, work_on, n, tau, work, qr_size, static_cast<int*>(info)); });
  };
  once(false);
  double all = 0;
  for (Routine& routine : routines) routine.seconds.clear();
  for (int i = 0; i < rounds; ++i) once(i == rounds - 1);
  for (Routine& routine : routines) {
    for (const double seconds : routine.seconds) all += seconds;
    std::sort(routine.seconds.begin(), routine.seconds.end());
    if (rounds > 0) std::fprintf(stderr, "%s %.6f s\n", routine.name, routine.seconds[routine.seconds.size() / 2]);
  }
  if (rounds > 0) std::fprintf(stderr, "residuals: getrf %.3g, potrf %.3g\n", lu_residual, cholesky_residual);
  std::printf("%g %.17g %.17g %.17g\n", all, element(gram), lu, cholesky);
  return 0;
}
