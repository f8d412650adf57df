// SPDX-License-Identifier: MIT
// Factorizations by cusolverDn[D,X]potrf and getrf, judged by what they are for: solutions, by HPL's scaled residual,
// which is to be below 16; factors within what partial pivoting allows; info and pivots as LAPACK has them; memory that is
// not theirs left alone; the same bits again, also from two threads at once. With --expect-kizami bits must differ from
// those of scheme native, and speak of another order of operations by it.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}
void require(int status, const char* what) {
  if (status == 0) return;
  std::printf("FAILED: %s: status %d\n", what, status);
  std::exit(1);
}

/// Device memory.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) { require(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { set(values); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  [[nodiscard]] T* get() const { return static_cast<T*>(data_); }
  void set(const std::vector<T>& values) {
    require(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> host(count_);
    require(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

struct Matrix {
  std::size_t n, ld;
  std::vector<double> values;
  Matrix(std::size_t order, std::size_t beyond) : n(order), ld(order + beyond), values(ld * order) {}
  [[nodiscard]] double& at(std::size_t i, std::size_t j) { return values[i + j * ld]; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return values[i + j * ld]; }
};

constexpr double kUntouched = 12345.5;  // of what is no part of a matrix

Matrix random_matrix(std::size_t n, std::uint64_t seed) {
  Matrix a(n, 3);
  std::mt19937_64 source(seed);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < a.ld; ++i)
      a.at(i, j) = i < n ? static_cast<double>(source() >> 11) * 0x1p-53 - 0.5 : kUntouched;
  }
  return a;
}
/// Positive definite, both triangles.
Matrix definite_matrix(std::size_t n, std::uint64_t seed) {
  Matrix a = random_matrix(n, seed);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < j; ++i) a.at(i, j) = a.at(j, i);
    a.at(j, j) = std::sqrt(static_cast<double>(n));
  }
  return a;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) {
    if (!(std::abs(x) <= most)) most = std::abs(x);  // a NaN is the largest
  }
  return most;
}

struct Solver {
  cudaStream_t stream = nullptr;
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  Solver() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cusolverDnCreate(&handle), "cusolverDnCreate");
    require(cusolverDnCreateParams(&params), "cusolverDnCreateParams");
    require(cusolverDnSetStream(handle, stream), "cusolverDnSetStream");
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver() {
    cusolverDnDestroyParams(params);
    cusolverDnDestroy(handle);
    cudaStreamDestroy(stream);
  }
  void wait() const { require(cudaStreamSynchronize(stream), "the stream"); }
};

struct Factored {
  Matrix a;
  std::vector<std::int64_t> pivots;
  int info = -7;
};

Factored potrf(const Solver& solver, const Matrix& a, cublasFillMode_t uplo, bool is_generic) {
  const auto n = static_cast<int>(a.n);
  const auto ld = static_cast<int>(a.ld);
  const Buffer<double> x(a.values);
  const Buffer<int> info(std::vector<int>{-7});
  if (is_generic) {
    std::size_t on_device = 0;
    std::size_t on_host = 0;
    require(cusolverDnXpotrf_bufferSize(solver.handle, solver.params, uplo, n, CUDA_R_64F, x.get(), ld, CUDA_R_64F,
                                        &on_device, &on_host),
            "Xpotrf_bufferSize");
    const Buffer<char> device(std::max<std::size_t>(on_device, 1));
    std::vector<char> host(on_host);
    require(cusolverDnXpotrf(solver.handle, solver.params, uplo, n, CUDA_R_64F, x.get(), ld, CUDA_R_64F, device.get(),
                             on_device, host.data(), on_host, info.get()),
            "Xpotrf");
    solver.wait();
  } else {
    int elements = 0;
    require(cusolverDnDpotrf_bufferSize(solver.handle, uplo, n, x.get(), ld, &elements), "Dpotrf_bufferSize");
    const Buffer<double> work(static_cast<std::size_t>(std::max(elements, 1)));
    require(cusolverDnDpotrf(solver.handle, uplo, n, x.get(), ld, work.get(), elements, info.get()), "Dpotrf");
    solver.wait();
  }
  Factored factored{a, {}, info.values().front()};
  factored.a.values = x.values();
  return factored;
}

Factored getrf(const Solver& solver, const Matrix& a, bool is_generic) {
  const auto n = static_cast<int>(a.n);
  const auto ld = static_cast<int>(a.ld);
  const Buffer<double> x(a.values);
  const Buffer<int> info(std::vector<int>{-7});
  Factored factored{a, std::vector<std::int64_t>(a.n), 0};
  if (is_generic) {
    std::size_t on_device = 0;
    std::size_t on_host = 0;
    const Buffer<std::int64_t> pivots(a.n);
    require(cusolverDnXgetrf_bufferSize(solver.handle, solver.params, n, n, CUDA_R_64F, x.get(), ld, CUDA_R_64F,
                                        &on_device, &on_host),
            "Xgetrf_bufferSize");
    const Buffer<char> device(std::max<std::size_t>(on_device, 1));
    std::vector<char> host(on_host);
    require(cusolverDnXgetrf(solver.handle, solver.params, n, n, CUDA_R_64F, x.get(), ld, pivots.get(), CUDA_R_64F,
                             device.get(), on_device, host.data(), on_host, info.get()),
            "Xgetrf");
    solver.wait();
    factored.pivots = pivots.values();
  } else {
    int elements = 0;
    const Buffer<int> pivots(a.n);
    require(cusolverDnDgetrf_bufferSize(solver.handle, n, n, x.get(), ld, &elements), "Dgetrf_bufferSize");
    const Buffer<double> work(static_cast<std::size_t>(std::max(elements, 1)));
    require(cusolverDnDgetrf(solver.handle, n, n, x.get(), ld, work.get(), pivots.get(), info.get()), "Dgetrf");
    solver.wait();
    const std::vector<int> found = pivots.values();
    std::copy(found.begin(), found.end(), factored.pivots.begin());
  }
  factored.info = info.values().front();
  factored.a.values = x.values();
  return factored;
}

/// HPL's scaled residual of the solution that the factors give.
double residual_of(const Solver& solver, const Matrix& a, const Factored& factored, bool is_lu, cublasFillMode_t uplo) {
  const auto n = static_cast<int>(a.n);
  const auto ld = static_cast<int>(a.ld);
  std::vector<double> b(a.n);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<double>(i));
  const Buffer<double> original(a.values);
  const Buffer<double> factors(factored.a.values);
  const Buffer<double> x(b);
  const Buffer<double> rest(b);
  const Buffer<int> info(1);
  std::vector<int> pivots(factored.pivots.begin(), factored.pivots.end());
  pivots.resize(a.n);
  const Buffer<int> on_device(pivots);
  if (is_lu) {
    require(
        cusolverDnDgetrs(solver.handle, CUBLAS_OP_N, n, 1, factors.get(), ld, on_device.get(), x.get(), n, info.get()),
        "Dgetrs");
  } else {
    require(cusolverDnDpotrs(solver.handle, uplo, n, 1, factors.get(), ld, x.get(), n, info.get()), "Dpotrs");
  }
  solver.wait();
  cublasHandle_t blas = nullptr;
  require(cublasCreate(&blas), "cublasCreate");
  const double one = 1;
  const double minus = -1;
  require(cublasDgemv(blas, CUBLAS_OP_N, n, n, &minus, original.get(), ld, x.get(), 1, &one, rest.get(), 1), "dgemv");
  require(cudaDeviceSynchronize(), "dgemv");
  cublasDestroy(blas);
  double norm = 0;
  for (std::size_t i = 0; i < a.n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < a.n; j += 16) sum += 16 * std::abs(a.at(i, j));
    norm = std::max(norm, sum);
  }
  return largest(rest.values()) / (n * 0x1p-52 * (norm * largest(x.values()) + 1));
}

void check_potrf(const Solver& solver, std::size_t n, cublasFillMode_t uplo) {
  const bool is_lower = uplo == CUBLAS_FILL_MODE_LOWER;
  const std::string name = std::string("potrf ") + (is_lower ? "lower " : "upper ") + std::to_string(n);
  const Matrix a = definite_matrix(n, 7);
  Matrix given = a;  // what is not to be read is NaN
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      if (is_lower ? i < j : i > j) given.at(i, j) = std::nan("");
    }
  }
  const Factored one = potrf(solver, given, uplo, false);
  const Factored other = potrf(solver, given, uplo, true);
  expect(one.info == 0 && other.info == 0, name + ": info");
  bool is_untouched = true;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < one.a.ld; ++i) {
      if (i >= n) is_untouched = is_untouched && one.a.at(i, j) == kUntouched;
      if (i < n && (is_lower ? i < j : i > j)) is_untouched = is_untouched && std::isnan(one.a.at(i, j));
    }
  }
  expect(is_untouched, name + ": what is no part of the triangle is written");
  expect(std::memcmp(one.a.values.data(), other.a.values.data(), one.a.values.size() * sizeof(double)) == 0,
         name + ": D and X have other bits");
  const double residual = residual_of(solver, a, one, false, uplo);
  std::printf("%s: residual %.3g\n", name.c_str(), residual);
  expect(residual < 16, name + ": residual");
}

void check_failure(const Solver& solver, std::size_t n, cublasFillMode_t uplo) {
  for (const std::size_t at : {std::size_t{1}, n / 2 - 3, n - 1}) {
    Matrix a = definite_matrix(n, 8);
    a.at(at, at) = -1;
    const int info = potrf(solver, a, uplo, false).info;
    expect(info == static_cast<int>(at) + 1, "potrf of a minor that is not positive definite: info " +
                                                 std::to_string(info) + ", not " + std::to_string(at + 1));
  }
}

void check_getrf(const Solver& solver, std::size_t n) {
  const std::string name = "getrf " + std::to_string(n);
  const Matrix a = random_matrix(n, 9);
  const Factored one = getrf(solver, a, false);
  const Factored other = getrf(solver, a, true);
  expect(one.info == 0 && other.info == 0, name + ": info");
  expect(one.pivots == other.pivots &&
             std::memcmp(one.a.values.data(), other.a.values.data(), one.a.values.size() * sizeof(double)) == 0,
         name + ": D and X have other bits");
  bool is_untouched = true;
  bool is_pivoted = true;  // no element of L is above 1
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < one.a.ld; ++i) {
      if (i >= n) is_untouched = is_untouched && one.a.at(i, j) == kUntouched;
      if (i < n && i > j) is_pivoted = is_pivoted && std::abs(one.a.at(i, j)) <= 1;
    }
  }
  expect(is_untouched, name + ": what is no part of the matrix is written");
  expect(is_pivoted, name + ": an element of L is above 1");
  bool is_in_range = true;
  for (std::size_t i = 0; i < n; ++i)
    is_in_range =
        is_in_range && one.pivots[i] > static_cast<std::int64_t>(i) && one.pivots[i] <= static_cast<std::int64_t>(n);
  expect(is_in_range, name + ": a pivot is out of range");
  const double residual = residual_of(solver, a, one, true, CUBLAS_FILL_MODE_LOWER);
  std::printf("%s: residual %.3g\n", name.c_str(), residual);
  expect(residual < 16, name + ": residual");
}

void check_singular(const Solver& solver, std::size_t n) {
  for (const std::size_t at : {std::size_t{0}, n / 2 + 5, n - 1}) {
    Matrix a = random_matrix(n, 10);
    for (std::size_t i = 0; i < n; ++i) a.at(i, at) = 0;
    const int info = getrf(solver, a, false).info;
    expect(info == static_cast<int>(at) + 1,
           "getrf of a column of zeros: info " + std::to_string(info) + ", not " + std::to_string(at + 1));
  }
}

/// Two threads, each with a handle and a stream, get what one gets.
void check_threads(std::size_t n) {
  const Matrix general = random_matrix(n, 11);
  const Matrix definite = definite_matrix(n, 12);
  const Solver solver;
  const Factored lu = getrf(solver, general, false);
  const Factored cholesky = potrf(solver, definite, CUBLAS_FILL_MODE_LOWER, false);
  int differences[2] = {};
  const auto work = [&](int thread) {
    const Solver own;
    for (int round = 0; round < 3; ++round) {
      const Factored x = getrf(own, general, false);
      const Factored y = potrf(own, definite, CUBLAS_FILL_MODE_LOWER, false);
      if (x.a.values != lu.a.values || x.pivots != lu.pivots || y.a.values != cholesky.a.values) ++differences[thread];
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  expect(differences[0] + differences[1] == 0, "two threads: other bits than one");
}

/// Two LU factorizations at once whose panels together have more blocks of threads than the device has multiprocessors: the
/// blocks of a panel wait for each other, and must not wait for those of the other one. Columns are windows of one vector.
void check_crowded(std::size_t n) {
  std::vector<double> values(4 * n);
  std::mt19937_64 source(15);
  for (double& x : values) x = static_cast<double>(source() >> 11) * 0x1p-53 - 0.5;
  const Buffer<double> vector(values);
  const auto ld = static_cast<int>(n);
  double sums[2] = {};
  const auto work = [&](int thread) {
    const Solver own;
    cublasHandle_t blas = nullptr;
    require(cublasCreate(&blas), "cublasCreate");
    require(cublasSetStream(blas, own.stream), "cublasSetStream");
    const Buffer<double> a(n * n);
    const Buffer<int> pivots(n);
    const Buffer<int> info(1);
    int elements = 0;
    require(cusolverDnDgetrf_bufferSize(own.handle, ld, ld, a.get(), ld, &elements), "Dgetrf_bufferSize");
    const Buffer<double> memory(static_cast<std::size_t>(std::max(elements, 1)));
    for (int round = 0; round < 3; ++round) {
      for (std::size_t j = 0; j < n; ++j)
        require(cudaMemcpyAsync(a.get() + j * n, vector.get() + j * 3, n * sizeof(double), cudaMemcpyDeviceToDevice,
                                own.stream),
                "cudaMemcpyAsync");
      require(cusolverDnDgetrf(own.handle, ld, ld, a.get(), ld, memory.get(), pivots.get(), info.get()), "Dgetrf");
    }
    double sum = 0;
    require(cublasDasum_64(blas, static_cast<std::int64_t>(n * n), a.get(), 1, &sum), "dasum");
    own.wait();
    sums[thread] = sum;
    if (info.values().front() != 0) sums[thread] = -1;
    cublasDestroy(blas);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  expect(sums[0] > 0 && sums[0] == sums[1], "two large factorizations at once: other bits, or info is not 0");
}

/// Scheme native has another order of operations, and so other bits.
void check_order(const Solver& solver, std::size_t n) {
  using Set = int(int scope, const char* key, const char* value);
  auto* const set = reinterpret_cast<Set*>(dlsym(RTLD_DEFAULT, "kizami_dropin_set"));
  expect(set != nullptr, "Kizami is not there");
  if (set == nullptr) return;
  const Matrix general = random_matrix(n, 13);
  const Matrix definite = definite_matrix(n, 14);
  const auto both = [&] {
    return std::pair{getrf(solver, general, false), potrf(solver, definite, CUBLAS_FILL_MODE_LOWER, false)};
  };
  const auto taken = both();
  require(set(1, "scheme", "native"), "kizami_dropin_set");
  const auto native = both();
  require(set(1, "scheme", nullptr), "kizami_dropin_set");
  expect(taken.first.a.values != native.first.a.values, "getrf has cuSOLVER's order of operations");
  expect(taken.second.a.values != native.second.a.values, "potrf has cuSOLVER's order of operations");
  std::size_t differing = 0;
  for (std::size_t i = 0; i < n; ++i) differing += taken.first.pivots[i] != native.first.pivots[i] ? 1 : 0;
  std::printf("%zu of %zu pivots differ from cuSOLVER's\n", differing, n);
  expect(differing * 100 <= n, "more than a hundredth of the pivots differ from cuSOLVER's");
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("no device\n");
    return 77;
  }
  const bool expects_kizami = argc > 1 && std::string(argv[1]) == "--expect-kizami";
  const Solver solver;
  for (const std::size_t n : {std::size_t{8192}, std::size_t{9001}}) {
    check_potrf(solver, n, CUBLAS_FILL_MODE_LOWER);
    check_potrf(solver, n, CUBLAS_FILL_MODE_UPPER);
  }
  for (const std::size_t n : {std::size_t{6144}, std::size_t{7001}}) check_getrf(solver, n);
  check_failure(solver, 8200, CUBLAS_FILL_MODE_LOWER);
  check_failure(solver, 8200, CUBLAS_FILL_MODE_UPPER);
  check_singular(solver, 6145);
  check_threads(8192);
  check_crowded(18432);
  if (expects_kizami) check_order(solver, 8192);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
