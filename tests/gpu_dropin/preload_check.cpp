// SPDX-License-Identifier: MIT
// gpu_preload_check [--self-test] [--expect-kizami] [--bits N]: an ordinary program that multiplies with cuBLAS and judges the results.
// It knows nothing of what may be preloaded before cuBLAS, except for --expect-kizami: then the four products must come
// from another library, differ from those of cuBLAS, and have the same bits however they are called. --bits N: the
// accuracy that is asked for. --self-test: judges the judge, without a device. One line for each check; exit code 1 if one failed, 77 without a
// device.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gpu_dropin/problem.hpp"

namespace preload_check {
namespace {

bool expects_kizami = false;
int num_failed = 0;
std::mutex report_mutex;

void report(const std::string& name, const std::string& error, const std::string& detail = "") {
  const std::lock_guard lock(report_mutex);
  if (!error.empty()) ++num_failed;
  std::printf("%s %s%s%s\n", error.empty() ? "OK  " : "FAIL", name.c_str(), error.empty() && detail.empty() ? "" : ": ",
              (error.empty() ? detail : error).c_str());
  static_cast<void>(std::fflush(stdout));
}
void report(const std::string& name, const Judgement& judgement) {
  const std::string ratio = "error / allowed = " + std::to_string(judgement.ratio);
  report(name, judgement.error.empty() ? "" : judgement.error + ": " + ratio, ratio);
}
/// `action` may throw.
void guarded(const std::string& name, const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& e) {
    report(name, e.what());
  }
}

/// What one type is called in cuBLAS.
template <class T>
struct Blas;
#define PRELOAD_CHECK_BLAS(T, E, Letter)                                                        \
  template <>                                                                                   \
  struct Blas<T> {                                                                              \
    using Element = E;                                                                          \
    static constexpr const char* kName = #Letter;                                               \
    static constexpr const char* kFunction = "cublas" #Letter "gemm_v2";                        \
    static constexpr auto kGemm = [](auto... x) { return cublas##Letter##gemm_v2(x...); };      \
    static constexpr auto kGemm64 = [](auto... x) { return cublas##Letter##gemm_v2_64(x...); }; \
  };
PRELOAD_CHECK_BLAS(float, float, S)
PRELOAD_CHECK_BLAS(double, double, D)
PRELOAD_CHECK_BLAS(std::complex<float>, cuComplex, C)
PRELOAD_CHECK_BLAS(std::complex<double>, cuDoubleComplex, Z)
#undef PRELOAD_CHECK_BLAS

template <class T>
using Function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                    const typename Blas<T>::Element*, const typename Blas<T>::Element*, int,
                                    const typename Blas<T>::Element*, int, const typename Blas<T>::Element*,
                                    typename Blas<T>::Element*, int);

/// The product of cuBLAS itself, whatever stands before it.
template <class T>
Function<T> native_gemm() {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) return reinterpret_cast<Function<T>>(dlsym(library, Blas<T>::kFunction));
  }
  throw std::runtime_error("libcublas.so is not loaded");
}
template <class T>
Function<T> linked_gemm() {
  return [](cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
            const typename Blas<T>::Element* alpha, const typename Blas<T>::Element* a, int lda,
            const typename Blas<T>::Element* b, int ldb, const typename Blas<T>::Element* beta,
            typename Blas<T>::Element* c,
            int ldc) { return Blas<T>::kGemm(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); };
}

/// A handle with a stream of its own.
class Handle {
 public:
  Handle() {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cublasSetStream(handle_, stream_), "cublasSetStream");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    static_cast<void>(cublasDestroy(handle_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  [[nodiscard]] cublasHandle_t get() const { return handle_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void set(cublasPointerMode_t mode) const { check(cublasSetPointerMode(handle_, mode), "cublasSetPointerMode"); }

 private:
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// A problem with its matrices on the device.
template <class T>
struct OnDevice {
  Problem<T> problem;
  DeviceArray<T> a, b, c;

  OnDevice(const Shape& shape, std::uint64_t seed)
      : problem(shape, seed), a(problem.a()), b(problem.b()), c(problem.c()) {}

  /// alpha, beta: as the handle's pointer mode says.
  cublasStatus_t multiply(cublasHandle_t handle, const T* alpha, const T* beta, Function<T> gemm = linked_gemm<T>()) {
    return call(gemm, handle, alpha, beta);
  }
  template <class Gemm>
  cublasStatus_t call(const Gemm& gemm, cublasHandle_t handle, const T* alpha, const T* beta) {
    using E = typename Blas<T>::Element;
    const Shape& s = problem.shape();
    return gemm(handle, s.op_a, s.op_b, s.m, s.n, s.k, reinterpret_cast<const E*>(alpha),
                reinterpret_cast<const E*>(a.data()), problem.lda(), reinterpret_cast<const E*>(b.data()),
                problem.ldb(), reinterpret_cast<const E*>(beta), reinterpret_cast<E*>(c.data()), problem.ldc());
  }
  void reset_c() { c.upload(problem.c()); }
};

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

// Where kizami multiplies, equal calls have equal bits. cuBLAS alone promises that for one stream only.
template <class T>
void expect_same_bits(const std::string& name, const std::vector<T>& x, const std::vector<T>& y) {
  if (expects_kizami) report(name + ", same bits", same_bits(x, y) ? "" : "the bits differ");
}

template <class T>
std::string name_of(const char* what, const Shape& shape) {
  return std::string(Blas<T>::kName) + " " + preload_check::name_of(shape) + " " + what;
}

constexpr auto kN = CUBLAS_OP_N;
constexpr auto kT = CUBLAS_OP_T;
constexpr auto kC = CUBLAS_OP_C;

/// The product, by host and device pointers and by the 64-bit twin.
template <class T>
void check_product(const Handle& handle, const Shape& shape, T alpha, T beta, const char* what) {
  const std::string name = name_of<T>(what, shape);
  guarded(name, [&] {
    OnDevice<T> x(shape, 1);
    const bool is_c_unread = beta == T{};
    if (is_c_unread) {  // NaN must not come through
      for (int j = 0; j < shape.n; ++j) {
        for (int i = 0; i < shape.m; ++i)
          x.problem.c()[static_cast<std::size_t>(i) + std::size_t(j) * std::size_t(x.problem.ldc())] =
              make<T>(NAN, NAN);
      }
      x.reset_c();
    }
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.multiply(handle.get(), &alpha, &beta), "host pointers");
    const std::vector<T> by_host = x.c.download();
    report(name, x.problem.judge(by_host, alpha, beta));

    x.reset_c();
    const DeviceArray<T> factors(std::vector<T>{alpha, beta});
    handle.set(CUBLAS_POINTER_MODE_DEVICE);
    check(x.multiply(handle.get(), factors.data(), factors.data() + 1), "device pointers");
    const std::vector<T> by_device = x.c.download();
    report(name + ", device pointers", x.problem.judge(by_device, alpha, beta));
    expect_same_bits(name + ", device pointers", by_host, by_device);

    x.reset_c();
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.call(Blas<T>::kGemm64, handle.get(), &alpha, &beta), "64-bit twin");
    const std::vector<T> by_twin = x.c.download();
    report(name + ", _64", x.problem.judge(by_twin, alpha, beta));
    expect_same_bits(name + ", _64", by_host, by_twin);
    report(name + ", A and B untouched",
           same_bits(x.a.download(), x.problem.a()) && same_bits(x.b.download(), x.problem.b()) ? "" : "they changed");
  });
}

template <class T>
void check_products(const Handle& handle) {
  const T one = make<T>(1, 0), minus_one = make<T>(-1, 0), zero{};
  const T some = make<T>(-1.7, 0.6), other = make<T>(0.3, -2.1);
  for (const auto op_a : {kN, kT, kC}) {
    for (const auto op_b : {kN, kT, kC}) check_product<T>(handle, {op_a, op_b, 130, 71, 257}, some, other, "products");
  }
  check_product<T>(handle, {kN, kN, 1024, 768, 1280}, one, zero, "alpha 1 beta 0");
  check_product<T>(handle, {kT, kN, 1000, 1001, 999}, minus_one, one, "alpha -1 beta 1");
  check_product<T>(handle, {kN, kC, 513, 1025, 2050}, some, other, "alpha, beta");
  check_product<T>(handle, {kC, kT, 512, 512, 512}, zero, other, "alpha 0");
  check_product<T>(handle, {kN, kN, 640, 1, 5000}, one, zero, "one column");
  check_product<T>(handle, {kN, kT, 700, 700, 1}, some, one, "one rank");
  check_product<T>(handle, {kN, kN, 1, 1, 1}, some, other, "one element");
}

/// Whose product it is: only where it is said that it must not be cuBLAS'.
template <class T>
void check_origin(const Handle& handle) {
  const Shape shape{kN, kN, 1024, 1024, 1024};
  const std::string name = name_of<T>("origin", shape);
  guarded(name, [&] {
    Dl_info info{};
    if (dladdr(dlsym(RTLD_DEFAULT, Blas<T>::kFunction), &info) == 0) throw std::runtime_error("dladdr");
    const T one = make<T>(1, 0), zero{};
    OnDevice<T> x(shape, 2);
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.multiply(handle.get(), &one, &zero), "linked product");
    const std::vector<T> linked = x.c.download();
    x.reset_c();
    check(x.multiply(handle.get(), &one, &zero, native_gemm<T>()), "native product");
    const bool is_native = same_bits(linked, x.c.download());
    const std::string detail =
        std::string(info.dli_fname) + (is_native ? ", bits of cuBLAS" : ", other bits than cuBLAS");
    report(name, expects_kizami && is_native ? detail : "", detail);
  });
}

/// Two threads, each with a handle, four streams and products that follow each other: D = C B' needs the C of its stream.
template <class T>
void check_streams(int thread) {
  const Shape shape{kN, kT, 400 + 100 * thread, 500, 600};
  const std::string name = name_of<T>(("streams of thread " + std::to_string(thread)).c_str(), shape);
  guarded(name, [&] {
    const Handle handle;
    constexpr int kStreams = 4, kRounds = 3;
    const T alpha = make<T>(1.25, -0.5), beta = make<T>(-0.75, 0.25);
    std::array<cudaStream_t, kStreams> streams{};
    std::vector<std::unique_ptr<OnDevice<T>>> x;
    for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    for (int i = 0; i < kStreams * kRounds; ++i) x.push_back(std::make_unique<OnDevice<T>>(shape, 100 * thread + i));
    for (int i = 0; i < kStreams * kRounds; ++i) {
      check(cublasSetStream(handle.get(), streams[std::size_t(i % kStreams)]), "cublasSetStream");
      check(x[std::size_t(i)]->multiply(handle.get(), &alpha, &beta), "product in a stream");
    }
    Judgement worst;
    std::vector<std::vector<T>> results;
    for (const auto stream : streams) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (const auto& one : x) {
      results.push_back(one->c.download());
      const Judgement judgement = one->problem.judge(results.back(), alpha, beta);
      if (!judgement.error.empty() || judgement.ratio > worst.ratio) worst = judgement;
      if (!judgement.error.empty()) break;
    }
    report(name, worst);
    check(cublasSetStream(handle.get(), handle.stream()), "cublasSetStream");
    for (std::size_t i = 0; i < results.size() && expects_kizami; i += 5) {
      x[i]->reset_c();
      check(x[i]->multiply(handle.get(), &alpha, &beta), "product alone");
      expect_same_bits(name + ", product " + std::to_string(i), results[i], x[i]->c.download());
    }
    for (const auto stream : streams) check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  });
}

/// C = A B, then in the same stream D = C B2, with nothing between that waits.
template <class T>
void check_chain(const Handle& handle) {
  const Shape shape{kN, kN, 600, 600, 600};
  const std::string name = name_of<T>("chain of two", shape);
  guarded(name, [&] {
    OnDevice<T> first(shape, 3), second(shape, 4);
    const T one = make<T>(1, 0), zero{};
    using E = typename Blas<T>::Element;
    const auto e = [](const T* x) { return reinterpret_cast<const E*>(x); };
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(first.multiply(handle.get(), &one, &zero), "first");
    check(Blas<T>::kGemm(handle.get(), kN, kN, 600, 600, 600, e(&one), e(first.c.data()), first.problem.ldc(),
                         e(second.b.data()), second.problem.ldb(), e(&zero), reinterpret_cast<E*>(second.c.data()),
                         second.problem.ldc()),
          "second");
    const std::vector<T> c = first.c.download();
    for (int j = 0; j < 600; ++j) {
      for (int i = 0; i < 600; ++i) {
        second.problem.a()[std::size_t(i + j * second.problem.lda())] = c[std::size_t(i + j * first.problem.ldc())];
      }
    }
    report(name, second.problem.judge(second.c.download(), one, zero));
  });
}

/// A product captured into a graph, replayed with other elements and, by device pointers, other factors.
template <class T>
void check_graph(const Handle& handle, cublasPointerMode_t mode, const Shape& shape, const char* what) {
  const std::string name =
      name_of<T>(what, shape) + (mode == CUBLAS_POINTER_MODE_HOST ? ", host pointers" : ", device pointers");
  guarded(name, [&] {
    OnDevice<T> x(shape, 5);
    std::vector<T> factors{make<T>(0.5, 2), make<T>(-1, 0.125)};
    DeviceArray<T> device_factors(factors);
    const bool is_host = mode == CUBLAS_POINTER_MODE_HOST;
    handle.set(mode);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaDeviceSynchronize(), "before capture");
    check(cudaStreamBeginCapture(handle.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    const cublasStatus_t status = x.multiply(handle.get(), is_host ? &factors[0] : device_factors.data(),
                                             is_host ? &factors[1] : device_factors.data() + 1);
    const cudaError_t end = cudaStreamEndCapture(handle.stream(), &graph);
    check(status, "captured product");
    check(end, "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    report(name + ", C untouched by the capture", same_bits(x.c.download(), x.problem.c()) ? "" : "it changed");
    for (int replay = 0; replay < 3; ++replay) {
      x.problem.fill(static_cast<std::uint64_t>(10 + replay));
      x.a.upload(x.problem.a());
      x.b.upload(x.problem.b());
      x.reset_c();
      if (!is_host) {
        factors = {make<T>(1 + replay, -0.5), make<T>(0.5, replay)};
        device_factors.upload(factors);
      }
      check(cudaGraphLaunch(executable, handle.stream()), "cudaGraphLaunch");
      const std::vector<T> replayed = x.c.download();
      const std::string replay_name = name + ", replay " + std::to_string(replay);
      report(replay_name, x.problem.judge(replayed, factors[0], factors[1]));
      x.reset_c();
      handle.set(CUBLAS_POINTER_MODE_HOST);
      check(x.multiply(handle.get(), &factors[0], &factors[1]), "product without a graph");
      expect_same_bits(replay_name, replayed, x.c.download());
    }
    check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  });
}

/// The arguments of a call that is refused.
template <class T>
struct BadCall {
  const char* what;
  cublasHandle_t handle;
  cublasOperation_t op_a, op_b;
  int m, n, k;
  const T *alpha, *beta;
  int lda, ldb, ldc;
};

template <class T>
void check_bad_arguments(const Handle& handle) {
  const std::string name = std::string(Blas<T>::kName) + " bad arguments";
  guarded(name, [&] {
    OnDevice<T> x({kN, kN, 256, 256, 256}, 6);
    const T one = make<T>(1, 0);
    const cublasHandle_t h = handle.get();
    const auto bad_op = static_cast<cublasOperation_t>(17);
    const std::vector<BadCall<T>> calls{
        {"handle null", nullptr, kN, kN, 256, 256, 256, &one, &one, 256, 256, 256},
        {"op_a 17", h, bad_op, kN, 256, 256, 256, &one, &one, 256, 256, 256},
        {"op_b 17", h, kN, bad_op, 256, 256, 256, &one, &one, 256, 256, 256},
        {"m -1", h, kN, kN, -1, 256, 256, &one, &one, 256, 256, 256},
        {"n -1", h, kN, kN, 256, -1, 256, &one, &one, 256, 256, 256},
        {"k -1", h, kN, kN, 256, 256, -1, &one, &one, 256, 256, 256},
        {"lda 255", h, kN, kN, 256, 256, 256, &one, &one, 255, 256, 256},
        {"lda 255 of a transpose", h, kT, kN, 128, 256, 256, &one, &one, 255, 256, 256},
        {"ldb 255", h, kN, kN, 256, 256, 256, &one, &one, 256, 255, 256},
        {"ldc 255", h, kN, kN, 256, 256, 256, &one, &one, 256, 256, 255},
        {"ldc 0", h, kN, kN, 256, 256, 256, &one, &one, 256, 256, 0},
        {"alpha null", h, kN, kN, 256, 256, 256, nullptr, &one, 256, 256, 256},
        {"beta null", h, kN, kN, 256, 256, 256, &one, nullptr, 256, 256, 256},
        {"m 0", h, kN, kN, 0, 256, 256, &one, &one, 256, 256, 256},
        {"m 0, ldc 0", h, kN, kN, 0, 256, 256, &one, &one, 256, 256, 0},
        {"n 0", h, kN, kN, 256, 0, 256, &one, &one, 256, 256, 256},
    };
    handle.set(CUBLAS_POINTER_MODE_HOST);
    using E = typename Blas<T>::Element;
    const auto e = [](const T* p) { return reinterpret_cast<const E*>(p); };
    for (const BadCall<T>& c : calls) {
      const auto status_of = [&](Function<T> gemm) {
        return gemm(c.handle, c.op_a, c.op_b, c.m, c.n, c.k, e(c.alpha), e(x.a.data()), c.lda, e(x.b.data()), c.ldb,
                    e(c.beta), reinterpret_cast<E*>(x.c.data()), c.ldc);
      };
      const cublasStatus_t linked = status_of(linked_gemm<T>());
      const bool is_untouched = same_bits(x.c.download(), x.problem.c());
      const cublasStatus_t native = status_of(native_gemm<T>());
      const std::string detail = "status " + std::to_string(linked) + ", of cuBLAS " + std::to_string(native);
      report(name + ", " + c.what, linked != native ? detail : is_untouched ? "" : "C is written", detail);
      x.reset_c();
    }
  });
}

/// Products whose arithmetic the handle asks for have the bits of cuBLAS; the handle stays as it was.
template <class T>
void check_math_mode(const Handle& handle, cublasMath_t mode, const char* what) {
  const std::string name = std::string(Blas<T>::kName) + " math mode " + what;
  guarded(name, [&] {
    OnDevice<T> x({kN, kN, 768, 768, 768}, 7);
    const T one = make<T>(1, 0), zero{};
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(cublasSetMathMode(handle.get(), mode), "cublasSetMathMode");
    check(x.multiply(handle.get(), &one, &zero), "linked product");
    const std::vector<T> linked = x.c.download();
    cublasMath_t left{};
    check(cublasGetMathMode(handle.get(), &left), "cublasGetMathMode");
    x.reset_c();
    check(x.multiply(handle.get(), &one, &zero, native_gemm<T>()), "native product");
    report(name, left != mode ? "the mode changed" : same_bits(linked, x.c.download()) ? "" : "other bits than cuBLAS");
    check(cublasSetMathMode(handle.get(), CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  });
}

void check_handle(const Handle& handle) {
  guarded("handle", [&] {
    OnDevice<double> x({kN, kN, 900, 900, 900}, 8);
    const DeviceArray<double> factors(std::vector<double>{2, 0});
    handle.set(CUBLAS_POINTER_MODE_DEVICE);
    check(cublasSetAtomicsMode(handle.get(), CUBLAS_ATOMICS_ALLOWED), "cublasSetAtomicsMode");
    check(x.multiply(handle.get(), factors.data(), factors.data() + 1), "product");
    cudaStream_t stream{};
    cublasPointerMode_t pointer_mode{};
    cublasAtomicsMode_t atomics_mode{};
    cublasMath_t math_mode{};
    int device = -1, device_before = -1;
    check(cudaGetDevice(&device_before), "cudaGetDevice");
    check(cublasGetStream(handle.get(), &stream), "cublasGetStream");
    check(cublasGetPointerMode(handle.get(), &pointer_mode), "cublasGetPointerMode");
    check(cublasGetAtomicsMode(handle.get(), &atomics_mode), "cublasGetAtomicsMode");
    check(cublasGetMathMode(handle.get(), &math_mode), "cublasGetMathMode");
    check(cudaGetDevice(&device), "cudaGetDevice");
    const bool is_kept = stream == handle.stream() && pointer_mode == CUBLAS_POINTER_MODE_DEVICE &&
                         atomics_mode == CUBLAS_ATOMICS_ALLOWED && math_mode == CUBLAS_DEFAULT_MATH &&
                         device == device_before;
    report("handle and device stay as they were", is_kept ? "" : "something changed");
    report("no error is left behind",
           cudaPeekAtLastError() == cudaSuccess ? "" : cudaGetErrorString(cudaGetLastError()));
    check(cublasSetAtomicsMode(handle.get(), CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
  });
}

/// The default stream of a handle that was given none.
void check_default_stream() {
  const Shape shape{kN, kN, 700, 800, 900};
  guarded("default stream", [&] {
    cublasHandle_t handle{};
    check(cublasCreate(&handle), "cublasCreate");
    OnDevice<double> x(shape, 9);
    const double one = 1, zero = 0;
    check(x.multiply(handle, &one, &zero), "product");
    report(name_of<double>("default stream", shape), x.problem.judge(x.c.download(), one, zero));
    check(cublasDestroy(handle), "cublasDestroy");
  });
}

template <class T>
void check_type(const Handle& handle) {
  check_graph<T>(handle, CUBLAS_POINTER_MODE_HOST, {kN, kN, 513, 511, 509}, "graph, first call of its shape");
  check_products<T>(handle);
  check_origin<T>(handle);
  check_chain<T>(handle);
  check_graph<T>(handle, CUBLAS_POINTER_MODE_HOST, {kT, kN, 513, 1025, 640}, "graph");
  check_graph<T>(handle, CUBLAS_POINTER_MODE_DEVICE, {kN, kC, 1024, 512, 800}, "graph");
  check_bad_arguments<T>(handle);
  check_math_mode<T>(handle, CUBLAS_PEDANTIC_MATH, "pedantic");
}

void check_device() {
  const Handle handle;
  check_type<float>(handle);
  check_type<double>(handle);
  check_type<std::complex<float>>(handle);
  check_type<std::complex<double>>(handle);
  check_math_mode<float>(handle, CUBLAS_TF32_TENSOR_OP_MATH, "tf32");
  check_math_mode<std::complex<float>>(handle, CUBLAS_TF32_TENSOR_OP_MATH, "tf32");
  std::thread other([] {
    check_streams<double>(1);
    check_streams<std::complex<float>>(1);
  });
  check_streams<std::complex<double>>(0);
  check_streams<double>(0);
  other.join();
  check_default_stream();
  check_handle(handle);
}

/// The judge of this program, on results that the host computes: good ones pass, and one bad number does not.
template <class T>
void check_judge(cublasOperation_t op_a, cublasOperation_t op_b) {
  const Shape shape{op_a, op_b, 19, 23, 150};
  const std::string name = name_of<T>("judge", shape);
  const Problem<T> problem(shape, 11);
  const T alpha = make<T>(-1.5, 0.75), beta = make<T>(0.5, -2);
  const std::vector<T> good = problem.host_result(alpha, beta);
  report(name, problem.judge(good, alpha, beta));
  const auto expect_red = [&](const char* what, std::size_t i, T value) {
    std::vector<T> bad = good;
    bad[i] = value;
    report(name + ", " + what, problem.judge(bad, alpha, beta).error.empty() ? "passed" : "");
  };
  const std::size_t i = 7 + 5 * std::size_t(problem.ldc());
  const double step = sizeof(typename PartOf<T>::Type) == 8 ? 0x1p-30 : 0x1p-4;
  expect_red("wrong element", i, good[i] + make<T>(step, 0));
  if (kIsComplex<T>) expect_red("wrong imaginary part", i, good[i] + make<T>(0, step));
  expect_red("NaN", i, make<T>(NAN, 0));
  if (kIsComplex<T>) expect_red("NaN in the imaginary part", i, make<T>(std::real(good[i]), NAN));
  expect_red("Inf", i, make<T>(INFINITY, 0));
  expect_red("wrong sign", i, -good[i]);
  expect_red("written padding", std::size_t(problem.ldc()) - 1, make<T>(0, 0));
}

int self_test() {
  for (const auto op_a : {kN, kT, kC}) {
    for (const auto op_b : {kN, kT, kC}) {
      check_judge<float>(op_a, op_b);
      check_judge<double>(op_a, op_b);
      check_judge<std::complex<float>>(op_a, op_b);
      check_judge<std::complex<double>>(op_a, op_b);
    }
  }
  return num_failed == 0 ? 0 : 1;
}

/// Handles are bound to the device that was current when they were made.
void check_second_device() {
  int num_devices = 0;
  check(cudaGetDeviceCount(&num_devices), "cudaGetDeviceCount");
  if (num_devices < 2) return;
  guarded("second device", [] {
    check(cudaSetDevice(1), "cudaSetDevice");
    {
      const Handle handle;
      check_product<double>(handle, {kN, kT, 1024, 1024, 1024}, 1.5, -0.5, "second device");
      check_graph<double>(handle, CUBLAS_POINTER_MODE_HOST, {kN, kN, 600, 600, 700}, "graph of the second device");
    }
    check(cudaSetDevice(0), "cudaSetDevice");
  });
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--expect-kizami") {
      expects_kizami = true;
    } else if (argument == "--self-test") {
      return self_test();
    } else if (argument == "--bits" && i + 1 < argc) {
      asked_bits() = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: gpu_preload_check [--self-test] [--expect-kizami] [--bits N]\n");
      return 2;
    }
  }
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
    std::printf("no CUDA device\n");
    return std::getenv("KIZAMI_REQUIRE_GPU") == nullptr ? 77 : 1;
  }
  guarded("device", check_device);
  guarded("device", check_second_device);
  std::printf("%s: %d checks failed\n", num_failed == 0 ? "OK" : "FAIL", num_failed);
  return num_failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace preload_check

int main(int argc, char** argv) { return preload_check::main(argc, argv); }
