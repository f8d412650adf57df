// SPDX-License-Identifier: MIT
// What compiled programs of JAX call: c = a b of stacks of row-major matrices, on the processor and on a CUDA stream, by the
// interface of XLA for foreign functions. A library of its own, which knows no Python: kizami/jax.py opens it.
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "kizami/kizami.hpp"
#include "kizami/wishes.hpp"
#ifdef KIZAMI_JAX_CUDA
#include "kizami/cuda.hpp"
#endif

namespace {

namespace ffi = xla::ffi;

ffi::Error error_of(const kizami::Status& status) {
  switch (status.code()) {
    case kizami::StatusCode::kOk:
      return ffi::Error::Success();
    case kizami::StatusCode::kInvalidArgument:
      return ffi::Error(ffi::ErrorCode::kInvalidArgument, "kizami: " + status.reason());
    case kizami::StatusCode::kOutOfMemory:
      return ffi::Error(ffi::ErrorCode::kResourceExhausted, "kizami: " + status.reason());
    case kizami::StatusCode::kUnsupported:
    case kizami::StatusCode::kAccuracyUnreachable:
      return ffi::Error(ffi::ErrorCode::kUnimplemented, "kizami: " + status.reason());
    default:
      return ffi::Error(ffi::ErrorCode::kInternal, "kizami: " + status.reason());
  }
}

/// "accuracy=bits=40 gauge=norm"
kizami::Status parse_policy(std::string_view text, kizami::Policy& policy) {
  while (!text.empty()) {
    const std::string_view wish = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), wish.size() + 1));
    const std::size_t equals = wish.find('=');
    if (equals == std::string_view::npos)
      return {kizami::StatusCode::kInvalidArgument, "policy: " + std::string(wish) + ", must be a word and a value"};
    if (kizami::Status status = kizami::set_wish(policy, wish.substr(0, equals), wish.substr(equals + 1)); !status.ok())
      return status;
  }
  return {};
}

/// A stack of products.
struct Stack {
  std::int64_t count = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

kizami::Status stack_of(const ffi::AnyBuffer& a, const ffi::AnyBuffer& b, const ffi::AnyBuffer& c, Stack& stack) {
  const auto x = a.dimensions();
  const auto y = b.dimensions();
  const auto z = c.dimensions();
  const std::size_t rank = x.size();
  bool fits = rank >= 2 && y.size() == rank && z.size() == rank && a.element_type() == b.element_type() &&
              a.element_type() == c.element_type();
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    fits = x[i] == y[i] && x[i] == z[i];
    stack.count *= x[i];
  }
  fits = fits && x[rank - 1] == y[rank - 2] && x[rank - 2] == z[rank - 2] && y[rank - 1] == z[rank - 1];
  if (!fits) return {kizami::StatusCode::kInvalidArgument, "operands of a compiled product do not fit one another"};
  stack.m = x[rank - 2];
  stack.k = x[rank - 1];
  stack.n = y[rank - 1];
  return {};
}

/// Calls multiply(stack, policy, pointers of the type of the elements).
template <class Multiply>
ffi::Error multiply_stack(std::string_view text, const ffi::AnyBuffer& a, const ffi::AnyBuffer& b,
                          const ffi::AnyBuffer& c, const Multiply& multiply) {
  Stack stack;
  if (const kizami::Status status = stack_of(a, b, c, stack); !status.ok()) return error_of(status);
  kizami::Policy policy;
  if (const kizami::Status status = parse_policy(text, policy); !status.ok()) return error_of(status);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    return error_of(multiply(stack, policy, static_cast<const T*>(a.untyped_data()),
                             static_cast<const T*>(b.untyped_data()), static_cast<T*>(c.untyped_data())));
  };
  switch (a.element_type()) {
    case ffi::DataType::F32:
      return run(float{});
    case ffi::DataType::F64:
      return run(double{});
    case ffi::DataType::C64:
      return run(std::complex<float>{});
    case ffi::DataType::C128:
      return run(std::complex<double>{});
    default:
      return ffi::Error(ffi::ErrorCode::kInvalidArgument,
                        "kizami: elements must be float32, float64, complex64 or complex128");
  }
}

constexpr kizami::Layout kRows = kizami::Layout::kRowMajor;
constexpr kizami::Op kAsGiven = kizami::Op::kNone;
[[nodiscard]] std::int64_t stride_of(std::int64_t cols) { return std::max<std::int64_t>(cols, 1); }

ffi::Error multiply_on_processor(std::string_view policy, ffi::AnyBuffer a, ffi::AnyBuffer b,
                                 ffi::Result<ffi::AnyBuffer> c) {
  return multiply_stack(policy, a, b, *c, [](const Stack& s, const kizami::Policy& wanted, auto* x, auto* y, auto* z) {
    using T = std::remove_pointer_t<decltype(z)>;
    return kizami::gemm_strided_batched<T>(kRows, kAsGiven, kAsGiven, s.m, s.n, s.k, T{1}, x, stride_of(s.k), s.m * s.k,
                                           y, stride_of(s.n), s.k * s.n, T{0}, z, stride_of(s.n), s.m * s.n, s.count,
                                           wanted);
  });
}

#ifdef KIZAMI_JAX_CUDA
ffi::Error multiply_on_device(kizami::cuda::Stream stream, std::string_view policy, ffi::AnyBuffer a, ffi::AnyBuffer b,
                              ffi::Result<ffi::AnyBuffer> c) {
  return multiply_stack(policy, a, b, *c, [&](const Stack& s, const kizami::Policy& wanted, auto* x, auto* y, auto* z) {
    using T = std::remove_pointer_t<decltype(z)>;
    return kizami::cuda::gemm_strided_batched<T>(stream, kRows, kAsGiven, kAsGiven, s.m, s.n, s.k, T{1}, x,
                                                 stride_of(s.k), s.m * s.k, y, stride_of(s.n), s.k * s.n, T{0}, z,
                                                 stride_of(s.n), s.m * s.n, s.count, wanted);
  });
}
#endif

}  // namespace

extern "C" {
XLA_FFI_DEFINE_HANDLER_SYMBOL(kizami_jax_matmul_cpu, multiply_on_processor,
                              ffi::Ffi::Bind()
                                  .Attr<std::string_view>("policy")
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>());
#ifdef KIZAMI_JAX_CUDA
XLA_FFI_DEFINE_HANDLER_SYMBOL(kizami_jax_matmul_cuda, multiply_on_device,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<kizami::cuda::Stream>>()
                                  .Attr<std::string_view>("policy")
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>());
#endif
}
