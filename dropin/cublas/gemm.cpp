// SPDX-License-Identifier: MIT
#include "gemm.hpp"

#include <complex>
#include <cstdio>

#include "kizami/cuda.hpp"
#include "kizami/host_device.hpp"

namespace kizami::dropin {
namespace {

/// How many calls of this library the thread is in. What is called from within goes to cuBLAS: kizami may use cuBLAS, and
/// cuBLAS may call its own functions by their names.
thread_local int depth = 0;

class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// The element type of kizami that has the bits of E.
template <class E>
struct ElementOf {
  using Type = E;
};
template <>
struct ElementOf<cuComplex> {
  using Type = std::complex<float>;
};
template <>
struct ElementOf<cuDoubleComplex> {
  using Type = std::complex<double>;
};

/// What kizami has to know of a handle.
struct HandleState {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

bool read_handle(const CublasFunctions& cublas, cublasHandle_t handle, HandleState& out) {
  if (cublas.get_stream == nullptr || cublas.get_pointer_mode == nullptr || cublas.get_math_mode == nullptr)
    return false;
  return cublas.get_stream(handle, &out.stream) == CUBLAS_STATUS_SUCCESS &&
         cublas.get_pointer_mode(handle, &out.pointer_mode) == CUBLAS_STATUS_SUCCESS &&
         cublas.get_math_mode(handle, &out.math_mode) == CUBLAS_STATUS_SUCCESS;
}

/// Whether the mode leaves the arithmetic of this type to the library. Tensor operations, TF32 and BF16x9 are wishes for
/// FP32 only; the pedantic mode and emulated FP64 are wishes for a certain arithmetic.
bool leaves_arithmetic_open(cublasMath_t mode, Scalar scalar) {
  switch (static_cast<int>(mode) & ~static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)) {
    case 0:  // CUBLAS_DEFAULT_MATH
      return true;
    case 1:  // CUBLAS_TENSOR_OP_MATH
    case 3:  // CUBLAS_TF32_TENSOR_OP_MATH
    case 4:  // CUBLAS_FP32_EMULATED_BF16X9_MATH, which older headers do not have
      return real_of(scalar) == Scalar::kF64;
    default:
      return false;
  }
}

bool is_known(cublasOperation_t op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

Op op_of(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? Op::kNone : op == CUBLAS_OP_T ? Op::kTranspose : Op::kConjTranspose;
}

/// Whether cuBLAS accepts the arguments and something is multiplied.
template <class E, class Int>
bool is_product(const GemmCall<E, Int>& call) {
  if (call.handle == nullptr || !is_known(call.op_a) || !is_known(call.op_b)) return false;
  if (call.m <= 0 || call.n <= 0 || call.k <= 0 || call.alpha == nullptr || call.beta == nullptr) return false;
  const Int rows_a = call.op_a == CUBLAS_OP_N ? call.m : call.k;
  const Int rows_b = call.op_b == CUBLAS_OP_N ? call.k : call.n;
  return call.lda >= rows_a && call.ldb >= rows_b && call.ldc >= call.m;
}

/// m n k < size^3, without overflow. @range m, n, k >= 1; 0 <= size <= kMaxMinSize
bool is_below(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t size) {
  return size > 0 && k <= (size * size * size - 1) / m / n;
}

/// Why kizami is not asked, or null.
template <class E, class Int>
const char* why_not_asked(const CublasFunctions& cublas, const Settings& settings, const GemmCall<E, Int>& call,
                          HandleState& state) {
  if (settings.why_off != nullptr) return settings.why_off;
  if (!is_product(call)) return "an argument is refused, or nothing is multiplied";
  if (is_below(call.m, call.n, call.k, settings.min_size)) return "m n k is below KIZAMI_MIN_SIZE^3";
  if (!read_handle(cublas, call.handle, state)) return "the handle cannot be read";
  if (!leaves_arithmetic_open(state.math_mode, kScalarOf<typename ElementOf<E>::Type>))
    return "the math mode asks for it";
  return nullptr;
}

/// alpha or beta, where the pointer mode says that it is.
template <class T, class E>
Factor<T> factor_at(const E* address, cublasPointerMode_t mode) {
  if (mode == CUBLAS_POINTER_MODE_DEVICE) return Factor<T>::at(reinterpret_cast<const T*>(address));
  return bit_cast<T>(*address);
}

template <class E, class Int>
Status multiply(const GemmCall<E, Int>& call, const HandleState& state, const Policy& policy) {
  using T = typename ElementOf<E>::Type;
  const Result<Plan> plan = cuda::make_plan(kScalarOf<T>, call.m, call.n, call.k, policy);
  if (!plan.ok()) return plan.status();
  if (plan.value().scheme() == Scheme::kNative)
    return {StatusCode::kUnsupported, "the plan is of scheme native"};  // by the program's own cuBLAS and its handle
  return cuda::gemm<T>(state.stream, Layout::kColMajor, op_of(call.op_a), op_of(call.op_b), call.m, call.n, call.k,
                       factor_at<T>(call.alpha, state.pointer_mode), reinterpret_cast<const T*>(call.a), call.lda,
                       reinterpret_cast<const T*>(call.b), call.ldb, factor_at<T>(call.beta, state.pointer_mode),
                       reinterpret_cast<T*>(call.c), call.ldc, policy);
}

char letter_of(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? 'n' : op == CUBLAS_OP_T ? 't' : op == CUBLAS_OP_C ? 'c' : '?';
}

/// One line, in one write. `reason` is null for what kizami did.
template <class E, class Int>
void log(const GemmCall<E, Int>& call, const char* reason) {
  std::fprintf(stderr, "kizami: %s %c%c %lldx%lldx%lld: %s%s\n", call.name, letter_of(call.op_a), letter_of(call.op_b),
               static_cast<long long>(call.m), static_cast<long long>(call.n), static_cast<long long>(call.k),
               reason == nullptr ? "kizami" : "cuBLAS: ", reason == nullptr ? "" : reason);
}

template <class E, class Int>
cublasStatus_t forward(GemmFunction<E, Int> native, const Settings& settings, const GemmCall<E, Int>& call,
                       const char* reason) {
  if (settings.is_verbose) log(call, reason);
  return native(call.handle, call.op_a, call.op_b, call.m, call.n, call.k, call.alpha, call.a, call.lda, call.b,
                call.ldb, call.beta, call.c, call.ldc);
}

}  // namespace

template <class E, class Int>
cublasStatus_t gemm(const CublasFunctions& cublas, const Settings& settings, const GemmCall<E, Int>& call) noexcept {
  const GemmFunction<E, Int> native = cublas.gemm<E, Int>();
  if (native == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool is_nested = depth > 0;
  const Inside inside;
  HandleState state;
  const char* reason =
      is_nested ? "the call comes from kizami or cuBLAS" : why_not_asked(cublas, settings, call, state);
  if (reason != nullptr) return forward(native, settings, call, reason);
  Status status;
  try {
    status = multiply(call, state, settings.policy);
  } catch (...) {  // C may be written
    std::fprintf(stderr, "kizami: %s: an exception where none was expected\n", call.name);
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
  if (!status.ok()) return forward(native, settings, call, status.reason().c_str());  // C is untouched
  if (settings.is_verbose) log(call, nullptr);
  return CUBLAS_STATUS_SUCCESS;
}

template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<float, int>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<double, int>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<cuComplex, int>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<cuDoubleComplex, int>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<float, std::int64_t>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&, const GemmCall<double, std::int64_t>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&,
                             const GemmCall<cuComplex, std::int64_t>&) noexcept;
template cublasStatus_t gemm(const CublasFunctions&, const Settings&,
                             const GemmCall<cuDoubleComplex, std::int64_t>&) noexcept;

}  // namespace kizami::dropin
