// SPDX-License-Identifier: MIT
// Functions of one or two tiles, element by element: how they round, what they do at the ends of their ranges.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tf32.h>
#include <cuda_tile.h>

#include <cstdint>

namespace ct = cuda::tiles;

template <class T>
__tile__ auto view_of(T* data, int n) {
  return ct::partition_view{ct::tensor_span{data, ct::extents{n}}, ct::shape<256>{}};
}

/// @shape x, y: [n]; grid: ceil(n / 256)
#define UNARY(name, In, Out, expression)                                       \
  extern "C" __tile_global__ void name(const In* x_data, Out* y_data, int n) { \
    const auto i = ct::bid().x;                                                \
    const auto x = view_of(x_data, n).load_masked(i);                          \
    view_of(y_data, n).store_masked(expression, i);                            \
  }
/// @shape x, y, z: [n]; grid: ceil(n / 256)
#define BINARY(name, In, Out, expression)                                                        \
  extern "C" __tile_global__ void name(const In* x_data, const In* y_data, Out* z_data, int n) { \
    const auto i = ct::bid().x;                                                                  \
    const auto x = view_of(x_data, n).load_masked(i);                                            \
    const auto y = view_of(y_data, n).load_masked(i);                                            \
    view_of(z_data, n).store_masked(expression, i);                                              \
  }

#define MATH(suffix, T)                         \
  UNARY(sqrt_##suffix, T, T, ct::sqrt(x))       \
  UNARY(rsqrt_##suffix, T, T, ct::rsqrt(x))     \
  UNARY(exp_##suffix, T, T, ct::exp(x))         \
  UNARY(exp2_##suffix, T, T, ct::exp2(x))       \
  UNARY(log_##suffix, T, T, ct::log(x))         \
  UNARY(log2_##suffix, T, T, ct::log2(x))       \
  UNARY(sin_##suffix, T, T, ct::sin(x))         \
  UNARY(cos_##suffix, T, T, ct::cos(x))         \
  UNARY(tan_##suffix, T, T, ct::tan(x))         \
  UNARY(sinh_##suffix, T, T, ct::sinh(x))       \
  UNARY(cosh_##suffix, T, T, ct::cosh(x))       \
  UNARY(tanh_##suffix, T, T, ct::tanh(x))       \
  BINARY(add_##suffix, T, T, x + y)             \
  BINARY(mul_##suffix, T, T, x* y)              \
  BINARY(div_##suffix, T, T, x / y)             \
  BINARY(pow_##suffix, T, T, ct::pow(x, y))     \
  BINARY(atan2_##suffix, T, T, ct::atan2(x, y)) \
  BINARY(remainder_##suffix, T, T, ct::remainder(x, y))
MATH(f32, float)
MATH(f64, double)

UNARY(exp_approximate_f32, float, float, ct::exp(x, ct::round_approximate_t{}))
UNARY(tanh_approximate_f32, float, float, ct::tanh(x, ct::round_approximate_t{}))
UNARY(sqrt_approximate_f32, float, float, ct::sqrt(x, ct::round_approximate_t{}))
BINARY(div_approximate_f32, float, float, ct::div(x, y, ct::round_approximate_t{}))
BINARY(div_full_f32, float, float, ct::div(x, y, ct::round_full_t{}))
BINARY(add_f16, __half, __half, x + y)
BINARY(mul_f16, __half, __half, x* y)
BINARY(div_f16, __half, __half, x / y)
UNARY(sqrt_f16, __half, __half, ct::sqrt(x))
BINARY(add_bf16, __nv_bfloat16, __nv_bfloat16, x + y)
BINARY(mul_bf16, __nv_bfloat16, __nv_bfloat16, x* y)
BINARY(div_bf16, __nv_bfloat16, __nv_bfloat16, x / y)
UNARY(sqrt_bf16, __nv_bfloat16, __nv_bfloat16, ct::sqrt(x))

#define DIRECTED(mode)                                                          \
  BINARY(add_f32_##mode, float, float, ct::add(x, y, ct::round_##mode##_t{}))   \
  BINARY(mul_f32_##mode, float, float, ct::mul(x, y, ct::round_##mode##_t{}))   \
  BINARY(div_f32_##mode, float, float, ct::div(x, y, ct::round_##mode##_t{}))   \
  BINARY(add_f64_##mode, double, double, ct::add(x, y, ct::round_##mode##_t{})) \
  BINARY(mul_f64_##mode, double, double, ct::mul(x, y, ct::round_##mode##_t{})) \
  BINARY(div_f64_##mode, double, double, ct::div(x, y, ct::round_##mode##_t{}))
DIRECTED(toward_zero)
DIRECTED(toward_negative)
DIRECTED(toward_positive)
BINARY(add_f32_flush, float, float, ct::add(x, y, ct::round_ties_to_even_t{}, ct::round_subnormals_to_zero_t{}))
BINARY(mul_f32_flush, float, float, ct::mul(x, y, ct::round_ties_to_even_t{}, ct::round_subnormals_to_zero_t{}))

BINARY(max_f32, float, float, ct::max(x, y))
BINARY(min_f32, float, float, ct::min(x, y))
BINARY(max_f32_nan, float, float, ct::max(x, y, ct::propagate_nan_t{}))

BINARY(shift_left_i32, std::int32_t, std::int32_t, x << y)
BINARY(shift_right_i32, std::int32_t, std::int32_t, x >> y)
BINARY(shift_right_u32, std::uint32_t, std::uint32_t, x >> y)
BINARY(div_i32, std::int32_t, std::int32_t, x / y)
BINARY(rem_i32, std::int32_t, std::int32_t, x % y)
BINARY(floordiv_i32, std::int32_t, std::int32_t, ct::floordiv(x, y))
BINARY(ceildiv_i32, std::int32_t, std::int32_t, ct::ceildiv(x, y))
BINARY(mulhi_i32, std::int32_t, std::int32_t, ct::mulhi(x, y))
UNARY(abs_i32, std::int32_t, std::int32_t, ct::abs(x))

#define CAST(name, In, Out) UNARY(cast_##name, In, Out, ct::element_cast<Out>(x))
CAST(f32_e4m3, float, __nv_fp8_e4m3)
CAST(f32_e5m2, float, __nv_fp8_e5m2)
CAST(f32_f16, float, __half)
CAST(f32_bf16, float, __nv_bfloat16)
CAST(f32_tf32, float, __nv_tf32)
CAST(f64_f32, double, float)
CAST(f64_f16, double, __half)
CAST(f64_bf16, double, __nv_bfloat16)
CAST(f64_e4m3, double, __nv_fp8_e4m3)
CAST(f16_e4m3, __half, __nv_fp8_e4m3)
CAST(f32_i8, float, std::int8_t)
CAST(f32_u8, float, std::uint8_t)
CAST(f32_i32, float, std::int32_t)
CAST(f32_u32, float, std::uint32_t)
CAST(f64_i64, double, std::int64_t)
CAST(i32_f32, std::int32_t, float)
CAST(i32_f16, std::int32_t, __half)
CAST(i64_f32, std::int64_t, float)
CAST(i32_i8, std::int32_t, std::int8_t)
CAST(f32_bool, float, bool)
