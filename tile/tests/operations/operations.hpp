// SPDX-License-Identifier: MIT
// The list: every operation of tile/docs/supported.md as a kernel of one block. The host runs them by operations_test.cpp,
// with the checks of the debug mode too, so that all of it is defined; tests/gpu/tile_operations_test.cpp runs them on a
// device beside the host. coverage_test.py fails where a supported operation is in none.
// Results are equal in every bit, but for functions that round as they like: there they are apart
// by at most the units in the last place that are named, 2 to 5; a limit of this test, met on an H100, and no promise.
#pragma once

#include "operation.hpp"

namespace kizami::tile_operations {
inline namespace KIZAMI_TILE_BACKEND {

// z = an expression of a and b, the elements of x and y.
#define UNARY(name, T, fill, units, ...)                  \
  OPERATION(name, T, T, T, fill, kSmall, kSmall, units, { \
    const auto a = in<kElements>(x);                      \
    out(z, __VA_ARGS__);                                  \
  })
#define BINARY(name, T, x_fill, y_fill, units, ...)         \
  OPERATION(name, T, T, T, x_fill, y_fill, kSmall, units, { \
    const auto a = in<kElements>(x);                        \
    const auto b = in<kElements>(y);                        \
    out(z, __VA_ARGS__);                                    \
  })
// The same with a tile of bool as expression.
#define PREDICATE(name, T, x_fill, y_fill, ...)                       \
  OPERATION(name, T, T, std::uint8_t, x_fill, y_fill, kSmall, 0, {    \
    const auto a = in<kElements>(x);                                  \
    const auto b = in<kElements>(y);                                  \
    out(z, ct::element_cast<std::uint8_t>((__VA_ARGS__) ^ (b != b))); \
  })

// ---- creation, position ---------------------------------------------------------------------------------------------

OPERATION(create, int, int, int, kSmall, kSmall, kSmall, 0, {
  using Tile = ct::tile<int, ct::shape<kElements>>;
  out(z, ct::iota<Tile>() * ct::full<Tile>(3) + ct::ones<Tile>() + ct::zeros<Tile>());
})
OPERATION(position, int, int, int, kSmall, kSmall, kSmall, 0, {
  using Tile = ct::tile<int, ct::shape<kElements>>;
  const auto at = ct::bid();
  const auto size = ct::num_blocks();
  out(z, ct::full<Tile>(
             static_cast<int>(at.x + 10 * at.y + 100 * at.z + 1000 * size.x + 10000 * size.y + 100000 * size.z)));
})

// ---- casts ----------------------------------------------------------------------------------------------------------

#define CAST(name, From, To, fill) \
  OPERATION(name, From, From, To, fill, kSmall, kSmall, 0, { out(z, ct::element_cast<To>(in<kElements>(x))); })
CAST(cast_f32_f16, float, __half, kReal)
CAST(cast_f32_bf16, float, __nv_bfloat16, kReal)
CAST(cast_f32_e4m3, float, __nv_fp8_e4m3, kReal)
CAST(cast_f32_e5m2, float, __nv_fp8_e5m2, kReal)
CAST(cast_f64_f32, double, float, kReal)
CAST(cast_f16_f32, __half, float, kReal)
CAST(cast_bf16_f64, __nv_bfloat16, double, kReal)
CAST(cast_f32_i32, float, std::int32_t, kReal)
CAST(cast_f64_i64, double, std::int64_t, kReal)
CAST(cast_i32_f32, std::int32_t, float, kBits)
CAST(cast_i64_f64, std::int64_t, double, kBits)
CAST(cast_u32_f16, std::uint32_t, __half, kCount)
CAST(cast_i8_i32, std::int8_t, std::int32_t, kBits)
OPERATION(bitcast, float, float, std::uint32_t, kReal, kReal, kSmall, 0,
          { out(z, ct::element_bitcast<std::uint32_t>(in<kElements>(x))); })

// ---- shapes ---------------------------------------------------------------------------------------------------------

#define SHAPES(suffix, T)                                                                                           \
  UNARY(reshape_##suffix, T, kSmall, 0,                                                                             \
        ct::reshape(ct::transpose(ct::reshape(a, ct::shape<16, 64>{})), ct::shape<kElements>{}))                    \
  OPERATION(broadcast_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                                 \
            { out(z, ct::broadcast(in<16, 1>(x), ct::shape<16, 64>{})); })                                          \
  OPERATION(transpose_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::transpose(in<16, 64>(x))); })      \
  OPERATION(transpose_3_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::transpose(in<4, 16, 16>(x))); }) \
  OPERATION(permute_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, {                                                 \
    out(z, ct::permute(in<4, 8, 32>(x), ct::dimension_map{2_ic, 0_ic, 1_ic}));                                      \
  })                                                                                                                \
  OPERATION(permute_back_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, {                                            \
    out(z, ct::permute(in<4, 8, 32>(x), ct::dimension_map{1_ic, 2_ic, 0_ic}));                                      \
  })                                                                                                                \
  OPERATION(cat_rows_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                                  \
            { out(z, ct::cat(in<8, 64>(x), in<8, 64>(y), 0_ic)); })                                                 \
  OPERATION(cat_columns_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                               \
            { out(z, ct::cat(in<16, 32>(x), in<16, 32>(y), 1_ic)); })                                               \
  OPERATION(extract_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                                   \
            { out(z, ct::extract(in<16, 64>(x), ct::shape<8, 16>{}, 1, 2)); })                                      \
  BINARY(select_##suffix, T, kSmall, kSmall, 0, ct::select(a < b, a, b + b))
SHAPES(i32, std::int32_t)
SHAPES(i8, std::int8_t)
SHAPES(f32, float)
SHAPES(f64, double)
SHAPES(f16, __half)

// ---- arithmetic -----------------------------------------------------------------------------------------------------

#define REAL_ARITHMETIC(suffix, T)                                    \
  BINARY(operators_##suffix, T, kReal, kReal, 0, (a + b) * a - b / a) \
  BINARY(add_##suffix, T, kReal, kReal, 0, ct::add(a, b))             \
  BINARY(sub_##suffix, T, kReal, kReal, 0, ct::sub(a, b))             \
  BINARY(mul_##suffix, T, kReal, kReal, 0, ct::mul(a, b))             \
  BINARY(div_##suffix, T, kReal, kReal, 0, ct::div(a, b))             \
  BINARY(fma_##suffix, T, kReal, kReal, 0, ct::fma(a, b, a))          \
  BINARY(min_##suffix, T, kReal, kReal, 0, ct::min(a, b))             \
  BINARY(max_##suffix, T, kReal, kReal, 0, ct::max(a, b))             \
  UNARY(abs_##suffix, T, kReal, 0, ct::abs(a))                        \
  UNARY(negative_##suffix, T, kReal, 0, -a)                           \
  PREDICATE(less_##suffix, T, kSmall, kSmall, (a < b) | ((a >= b) & (a == b)))
REAL_ARITHMETIC(f32, float)
REAL_ARITHMETIC(f64, double)
REAL_ARITHMETIC(f16, __half)
REAL_ARITHMETIC(bf16, __nv_bfloat16)
#define DIRECTED(mode)                                                              \
  BINARY(add_##mode, float, kReal, kReal, 0, ct::add(a, b, ct::round_##mode##_t{})) \
  BINARY(mul_##mode, float, kReal, kReal, 0, ct::mul(a, b, ct::round_##mode##_t{})) \
  BINARY(div_##mode, float, kReal, kReal, 0, ct::div(a, b, ct::round_##mode##_t{})) \
  BINARY(fma_##mode, double, kReal, kReal, 0, ct::fma(a, b, a, ct::round_##mode##_t{}))
DIRECTED(toward_zero)
DIRECTED(toward_negative)
DIRECTED(toward_positive)
BINARY(remainder_f32, float, kReal, kReal, 0, ct::remainder(a, b))
#define INTEGERS(suffix, T)                                                     \
  BINARY(operators_##suffix, T, kSmall, kCount, 0, (a + b) * a - b / b + a % b) \
  BINARY(bits_##suffix, T, kBits, kBits, 0, ((a & b) | (~a)) ^ b)               \
  BINARY(shifts_##suffix, T, kCount, kCount, 0, (a << b) + (a >> b))            \
  BINARY(remainder_##suffix, T, kBits, kCount, 0, ct::remainder(a, b))          \
  BINARY(floordiv_##suffix, T, kBits, kCount, 0, ct::floordiv(a, b))            \
  BINARY(ceildiv_##suffix, T, kSmall, kCount, 0, ct::ceildiv(a, b))             \
  BINARY(minmax_##suffix, T, kBits, kBits, 0, ct::min(a, b) ^ ct::max(a, b))    \
  PREDICATE(not_##suffix, T, kFlags, kFlags, !a || (a && b))
INTEGERS(i32, std::int32_t)
INTEGERS(u32, std::uint32_t)
INTEGERS(i64, std::int64_t)
INTEGERS(i8, std::int8_t)
BINARY(mulhi_u32, std::uint32_t, kBits, kBits, 0, ct::mulhi(a, b))
BINARY(mulhi_u64, std::uint64_t, kBits, kBits, 0, ct::mulhi(a, b))
UNARY(abs_i32, std::int32_t, kSmall, 0, ct::abs(a))

// ---- mathematics: of a tile, and of a scalar ------------------------------------------------------------------------

#define MATH(name, T, fill, units, function)            \
  OPERATION(name, T, T, T, fill, fill, kSmall, units, { \
    out(z, function(in<kElements / 2>(x)));             \
    z[kElements - 1] = function(x[kElements - 1]);      \
  })
#define MATH_2(name, T, fill, units, function)                       \
  OPERATION(name, T, T, T, fill, fill, kSmall, units, {              \
    out(z, function(in<kElements / 2>(x), in<kElements / 2>(y)));    \
    z[kElements - 1] = function(x[kElements - 1], y[kElements - 1]); \
  })
MATH(ceil_f32, float, kReal, 0, ct::ceil)
MATH(ceil_f64, double, kReal, 0, ct::ceil)
MATH(floor_f32, float, kReal, 0, ct::floor)
MATH(floor_f64, double, kReal, 0, ct::floor)
MATH(sqrt_f32, float, kPositive, 0, ct::sqrt)
MATH(sqrt_f64, double, kPositive, 0, ct::sqrt)
MATH(rsqrt_f32, float, kPositive, 3, ct::rsqrt)
MATH(rsqrt_f64, double, kPositive, 2, ct::rsqrt)
MATH(exp_f32, float, kReal, 3, ct::exp)
MATH(exp_f64, double, kReal, 2, ct::exp)
MATH(exp2_f32, float, kReal, 3, ct::exp2)
MATH(exp2_f64, double, kReal, 2, ct::exp2)
MATH(exp2_whole, float, kSmall, 0, ct::exp2)
MATH(log_f32, float, kPositive, 2, ct::log)
MATH(log_f64, double, kPositive, 2, ct::log)
MATH(log2_f32, float, kPositive, 2, ct::log2)
MATH(log2_f64, double, kPositive, 2, ct::log2)
MATH(sin_f32, float, kReal, 3, ct::sin)
MATH(sin_f64, double, kReal, 3, ct::sin)
MATH(cos_f32, float, kReal, 3, ct::cos)
MATH(cos_f64, double, kReal, 3, ct::cos)
MATH(tan_f32, float, kReal, 5, ct::tan)
MATH(tan_f64, double, kReal, 3, ct::tan)
MATH(sinh_f32, float, kReal, 4, ct::sinh)
MATH(sinh_f64, double, kReal, 3, ct::sinh)
MATH(cosh_f32, float, kReal, 3, ct::cosh)
MATH(cosh_f64, double, kReal, 3, ct::cosh)
MATH(tanh_f32, float, kReal, 3, ct::tanh)
MATH(tanh_f64, double, kReal, 3, ct::tanh)
MATH_2(pow_f32, float, kPositive, 5, ct::pow)
MATH_2(pow_f64, double, kPositive, 3, ct::pow)
MATH_2(atan2_f32, float, kReal, 4, ct::atan2)
MATH_2(atan2_f64, double, kReal, 3, ct::atan2)
PREDICATE(isnan_f32, float, kSpecial, kSmall, ct::isnan(a))
PREDICATE(isinf_f16, __half, kSpecial, kSmall, ct::isinf(a))

// ---- reductions and scans -------------------------------------------------------------------------------------------

#define REDUCTIONS(suffix, T)                                                                                          \
  OPERATION(sum_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::sum(in<16, 64>(x), 1_ic)); })               \
  OPERATION(sum_columns_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::sum(in<16, 64>(x), 0_ic)); })       \
  OPERATION(prod_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::prod(in<256, 4>(x), 1_ic)); })             \
  OPERATION(reduce_max_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::reduce_max(in<16, 64>(x), 1_ic)); }) \
  OPERATION(reduce_min_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, { out(z, ct::reduce_min(in<16, 64>(x), 0_ic)); }) \
  OPERATION(max_element_##suffix, T, T, std::uint32_t, kSmall, kSmall, kSmall, 0,                                      \
            { out(z, ct::element_cast<std::uint32_t>(ct::max_element(in<16, 64>(x), 1_ic))); })                        \
  OPERATION(min_element_##suffix, T, T, std::uint32_t, kSmall, kSmall, kSmall, 0,                                      \
            { out(z, ct::element_cast<std::uint32_t>(ct::min_element(in<16, 64>(x), 0_ic))); })                        \
  OPERATION(partial_sum_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                                  \
            { out(z, ct::partial_sum(in<16, 64>(x), 1_ic)); })                                                         \
  OPERATION(partial_sum_backward_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                         \
            { out(z, ct::partial_sum(in<16, 64>(x), 0_ic, ct::scan_backward_t{})); })                                  \
  OPERATION(partial_prod_##suffix, T, T, T, kSmall, kSmall, kSmall, 0,                                                 \
            { out(z, ct::partial_prod(in<256, 4>(x), 1_ic)); })
REDUCTIONS(i32, std::int32_t)
REDUCTIONS(f32, float)
REDUCTIONS(f64, double)
#define BIT_REDUCTIONS(suffix, T)                                     \
  OPERATION(reduce_bitand_##suffix, T, T, T, kBits, kBits, kSmall, 0, \
            { out(z, ct::reduce_bitand(in<256, 4>(x), 1_ic)); })      \
  OPERATION(reduce_bitor_##suffix, T, T, T, kBits, kBits, kSmall, 0,  \
            { out(z, ct::reduce_bitor(in<256, 4>(x), 1_ic)); })       \
  OPERATION(reduce_bitxor_##suffix, T, T, T, kBits, kBits, kSmall, 0, \
            { out(z, ct::reduce_bitxor(in<16, 64>(x), 0_ic)); })
BIT_REDUCTIONS(i32, std::int32_t)
BIT_REDUCTIONS(u32, std::uint32_t)
BIT_REDUCTIONS(i64, std::int64_t)
BIT_REDUCTIONS(i8, std::int8_t)
OPERATION(all_of, int, int, std::uint8_t, kFlags, kFlags, kSmall, 0,
          { out(z, ct::element_cast<std::uint8_t>(ct::all_of(in<256, 4>(x) == 1, 1_ic))); })
OPERATION(any_of, int, int, std::uint8_t, kFlags, kFlags, kSmall, 0,
          { out(z, ct::element_cast<std::uint8_t>(ct::any_of(in<256, 4>(x) == 1, 1_ic))); })

// ---- matrix products: whole numbers, of which every sum is exact ----------------------------------------------------

#define PRODUCTS(suffix, T, Acc, Out)                                                   \
  OPERATION(mma_##suffix, T, T, Acc, kSmall, kSmall, kSmall, 0,                         \
            { out(z, ct::mma(in<32, 32>(x), in<32, 16>(y), in<32, 16>(z))); })          \
  OPERATION(mma_batch_##suffix, T, T, Acc, kSmall, kSmall, kSmall, 0,                   \
            { out(z, ct::mma(in<2, 16, 32>(x), in<2, 32, 16>(y), in<2, 16, 16>(z))); }) \
  OPERATION(matmul_##suffix, T, T, Out, kSmall, kSmall, kSmall, 0,                      \
            { out(z, ct::matmul(in<16, 64>(x), in<64, 16>(y))); })
PRODUCTS(i8, std::int8_t, std::int32_t, std::int32_t)
PRODUCTS(u8, std::uint8_t, std::int32_t, std::int32_t)
PRODUCTS(f16, __half, float, __half)
PRODUCTS(bf16, __nv_bfloat16, float, float)
PRODUCTS(tf32, __nv_tf32, float, float)
PRODUCTS(e4m3, __nv_fp8_e4m3, float, __half)
PRODUCTS(e5m2, __nv_fp8_e5m2, float, __half)
PRODUCTS(f32, float, float, float)
PRODUCTS(f64, double, double, double)

// ---- memory and views -----------------------------------------------------------------------------------------------

OPERATION(load_store, float, int, float, kReal, kOrder, kSmall, 0, {
  const auto order = in<kElements>(y);
  ct::store(z + order, ct::load(x + ct::iota<ct::tile<int, ct::shape<kElements>>>()));  // scatter
})
OPERATION(load_store_masked, float, int, float, kReal, kOrder, kSmall, 0, {
  const auto order = in<kElements>(y);
  const auto even = order % 2 == 0;
  ct::store_masked(addresses<kElements>(z), ct::load_masked(x + order, even, 0.5F), order < 700);  // gather
})
OPERATION(partition_masked, float, float, float, kReal, kReal, kSmall, 0, {
  const ct::partition_view from{ct::tensor_span{x, ct::extents{20, 30}}, ct::shape<16, 16>{}};
  const ct::partition_view to{ct::tensor_span{z, ct::extents{25, 30}}, ct::shape<16, 16>{}};
  to.store_masked(from.load_masked(ct::view_padding_negative_inf_t{}, 1, 1), 1, 0);
})
OPERATION(partition_left, float, float, float, kReal, kReal, kSmall, 0, {
  const ct::partition_view from{ct::tensor_span{x, ct::extents{32, 32}, ct::layout_left{}}, ct::shape<16, 16>{}};
  const ct::partition_view to{ct::tensor_span{z, ct::extents{32, 32}}, ct::shape<16, 16>{}};
  to.store(from.load(1, 0), 0, 1);
})
OPERATION(strided, float, float, float, kReal, kReal, kSmall, 0, {
  const ct::strided_view from{ct::tensor_span{x, ct::extents{32, 32}}, ct::shape<8, 8>{}, ct::strides{3_ic, 5_ic}};
  out(z, from.load(2, 3));
})
OPERATION(gather, float, int, float, kReal, kOrder, kSmall, 0, {
  const ct::gather_scatter_view rows{ct::tensor_span{x, ct::extents{32, 32}}, ct::shape<16, 16>{}, 0_ic};
  out(z, rows.load(in<16>(y) % 32, 3));
})
OPERATION(scatter, float, int, float, kReal, kOrder, kSmall, 0, {
  const ct::gather_scatter_view columns{ct::tensor_span{z, ct::extents{32, 32}}, ct::shape<16, 16>{}, 1_ic};
  columns.store(in<16, 16>(x), 5, in<16>(y) % 32);
})
OPERATION(gather_masked, float, int, float, kReal, kOrder, kSmall, 0, {
  const ct::gather_scatter_view rows{ct::tensor_span{x, ct::extents{20, 30}}, ct::shape<16, 16>{}, 0_ic};
  out(z, rows.load_masked(in<16>(y) % 32, 20));
})
OPERATION(assumptions, int, int, int, kSmall, kSmall, kSmall, 0, {
  using Tile = ct::tile<int, ct::shape<16>>;
  const auto i = ct::iota<Tile>();
  const auto bounded = ct::assume_bounded(i, 0_ic, 15_ic) + ct::assume_bounded_below(i, 0_ic) +
                       ct::assume_bounded_above(i, 15_ic) + ct::assume_blocked(i / 2, ct::shape<2>{}) +
                       ct::assume_divisible<4>(i * 4) + ct::assume_divisible_strided(i * 16, 16_ic, 1_ic, 0_ic);
  const auto from = ct::assume_aligned<16>(x);
  const auto all = ct::assume_aligned_strided(from + i * 4, 16_ic, 1_ic, 0_ic);
  out(z, bounded + ct::load(all));
})

// ---- atomics: z[0 .. 255] is what they work on, z[256 .. 511] takes what they give back -----------------------------

#define RELAXED \
  ct::memory_order_relaxed_t{}, ct::thread_scope_device_t {}
#define ATOMIC(name, T, ...)                                                                 \
  OPERATION(name, T, T, T, kSmall, kFlags, kSmall, 0, {                                      \
    const auto at = addresses<256>(z);                                                       \
    [[maybe_unused]] const auto v = in<256>(x);                                              \
    const auto mask = in<256>(y) == in<256>(y + 256);                                        \
    const auto before = __VA_ARGS__;                                                         \
    ct::store(at + 256, ct::select(mask, before, ct::zeros<ct::tile<T, ct::shape<256>>>())); \
  })
#define ATOMIC_NUMBERS(suffix, T)                                                        \
  ATOMIC(atomic_add_##suffix, T, ct::atomic_add(at, v, RELAXED))                         \
  ATOMIC(atomic_add_masked_##suffix, T, ct::atomic_add_masked(at, v, mask, RELAXED))     \
  ATOMIC(atomic_sub_##suffix, T, ct::atomic_sub(at, v, RELAXED))                         \
  ATOMIC(atomic_sub_masked_##suffix, T, ct::atomic_sub_masked(at, v, mask, RELAXED))     \
  OPERATION(view_add_##suffix, T, T, T, kSmall, kSmall, kSmall, 0, {                     \
    const ct::partition_view to{ct::tensor_span{z, ct::shape<256>{}}, ct::shape<256>{}}; \
    to.atomic_add(in<256>(x), RELAXED, 0);                                               \
    to.atomic_sub(in<256>(y), RELAXED, 0);                                               \
  })
ATOMIC_NUMBERS(i32, std::int32_t)
ATOMIC_NUMBERS(u32, std::uint32_t)
ATOMIC_NUMBERS(i64, std::int64_t)
ATOMIC_NUMBERS(u64, std::uint64_t)
ATOMIC_NUMBERS(f32, float)
ATOMIC_NUMBERS(f64, double)
ATOMIC_NUMBERS(f16, __half)
ATOMIC_NUMBERS(bf16, __nv_bfloat16)
#define ATOMIC_INTEGERS(suffix, T)                                                       \
  ATOMIC(atomic_and_##suffix, T, ct::atomic_and(at, v, RELAXED))                         \
  ATOMIC(atomic_and_masked_##suffix, T, ct::atomic_and_masked(at, v, mask, RELAXED))     \
  ATOMIC(atomic_or_##suffix, T, ct::atomic_or(at, v, RELAXED))                           \
  ATOMIC(atomic_or_masked_##suffix, T, ct::atomic_or_masked(at, v, mask, RELAXED))       \
  ATOMIC(atomic_xor_##suffix, T, ct::atomic_xor(at, v, RELAXED))                         \
  ATOMIC(atomic_xor_masked_##suffix, T, ct::atomic_xor_masked(at, v, mask, RELAXED))     \
  ATOMIC(atomic_max_##suffix, T, ct::atomic_max(at, v, RELAXED))                         \
  ATOMIC(atomic_max_masked_##suffix, T, ct::atomic_max_masked(at, v, mask, RELAXED))     \
  ATOMIC(atomic_min_##suffix, T, ct::atomic_min(at, v, RELAXED))                         \
  ATOMIC(atomic_min_masked_##suffix, T, ct::atomic_min_masked(at, v, mask, RELAXED))     \
  OPERATION(view_bits_##suffix, T, T, T, kBits, kBits, kBits, 0, {                       \
    const ct::partition_view to{ct::tensor_span{z, ct::shape<256>{}}, ct::shape<256>{}}; \
    to.atomic_and(in<256>(x), RELAXED, 0);                                               \
    to.atomic_or(in<256>(y), RELAXED, 0);                                                \
    to.atomic_xor(in<256>(x + 256), RELAXED, 0);                                         \
    to.atomic_max(in<256>(y + 256), RELAXED, 0);                                         \
    to.atomic_min(in<256>(x + 512), RELAXED, 0);                                         \
  })
ATOMIC_INTEGERS(i32, std::int32_t)
ATOMIC_INTEGERS(u32, std::uint32_t)
ATOMIC_INTEGERS(i64, std::int64_t)
ATOMIC_INTEGERS(u64, std::uint64_t)
#define ATOMIC_EXCHANGES(suffix, T)                                                                          \
  ATOMIC(atomic_xchg_##suffix, T, ct::atomic_xchg(at, v, RELAXED))                                           \
  ATOMIC(atomic_xchg_masked_##suffix, T, ct::atomic_xchg_masked(at, v, mask, RELAXED))                       \
  ATOMIC(atomic_cas_##suffix, T,                                                                             \
         ct::atomic_compare_exchange(at, ct::zeros<ct::tile<T, ct::shape<256>>>(), v, RELAXED))              \
  ATOMIC(atomic_cas_masked_##suffix, T,                                                                      \
         ct::atomic_compare_exchange_masked(at, ct::zeros<ct::tile<T, ct::shape<256>>>(), v, mask, RELAXED)) \
  ATOMIC(atomic_load_##suffix, T, ct::atomic_load(at, RELAXED))                                              \
  ATOMIC(atomic_load_masked_##suffix, T, ct::atomic_load_masked(at, mask, RELAXED))                          \
  OPERATION(atomic_store_##suffix, T, T, T, kSmall, kFlags, kSmall, 0, {                                     \
    ct::atomic_store(addresses<256>(z), in<256>(x), RELAXED);                                                \
    ct::atomic_store_masked(addresses<256>(z) + 256, in<256>(x), in<256>(y) == in<256>(y + 256), RELAXED);   \
  })
ATOMIC_EXCHANGES(i32, std::int32_t)
ATOMIC_EXCHANGES(i64, std::int64_t)
ATOMIC_EXCHANGES(f32, float)
ATOMIC_EXCHANGES(f64, double)
// One address for a whole tile: the total is exact in any order.
OPERATION(atomic_total, int, int, int, kSmall, kSmall, kSmall, 0, {
  const auto one_place = z + ct::zeros<ct::tile<int, ct::shape<256>>>();
  ct::atomic_add(one_place, in<256>(x), RELAXED);
})

// ---- the document's examples (8x2 + 4x1x2, a scalar, sums of rows, transpose, permute, select) ----------------------

OPERATION(document_broadcast, int, int, int, kSmall, kSmall, kSmall, 0, {
  const auto p = ct::iota<ct::tile<int, ct::shape<8, 2>>>();
  const auto q = ct::iota<ct::tile<int, ct::shape<4, 1, 2>>>();
  out(z, p + q);
})
OPERATION(document_scalar, float, float, float, kReal, kReal, kSmall, 0,
          { out(z, 2.0F * in<kElements>(x) + in<kElements>(y)); })
OPERATION(document_sum, int, int, int, kSmall, kSmall, kSmall, 0,
          { out(z, ct::sum(ct::iota<ct::tile<int, ct::shape<2, 4>>>(), 1_ic)); })
OPERATION(document_transpose, int, int, int, kSmall, kSmall, kSmall, 0,
          { out(z, ct::transpose(ct::iota<ct::tile<int, ct::shape<2, 4>>>())); })
OPERATION(document_permute, int, int, int, kSmall, kSmall, kSmall, 0, {
  out(z, ct::permute(ct::iota<ct::tile<int, ct::shape<2, 2, 2>>>(), ct::dimension_map{2_ic, 0_ic, 1_ic}));
})
OPERATION(document_select, int, int, float, kSmall, kSmall, kSmall, 0, {
  using Tile = ct::tile<float, ct::shape<4>>;
  out(z, ct::select(ct::iota<ct::tile<int, ct::shape<4>>>() < 2, ct::full<Tile>(1.0F), ct::full<Tile>(-1.0F)));
})
OPERATION(document_promotion, std::int16_t, float, float, kSmall, kReal, kSmall, 0, {
  const auto sum = in<kElements>(x) + ct::iota<ct::tile<std::int32_t, ct::shape<kElements>>>();  // int32
  out(z, sum + in<kElements>(y));
})
// Its loop over k, M = K = N = 24 in tiles of 16: the loads are padded, the store is masked.
OPERATION(document_gemm, __half, __half, float, kSmall, kSmall, kSmall, 0, {
  const ct::partition_view a{ct::tensor_span{x, ct::extents{24, 24}}, ct::shape<32, 16>{}};
  const ct::partition_view b{ct::tensor_span{y, ct::extents{24, 24}}, ct::shape<16, 32>{}};
  auto acc = ct::full<ct::tile<float, ct::shape<32, 32>>>(0.0F);
  for (const int k : ct::irange(0, 2)) acc = ct::mma(a.load_masked(0, k), b.load_masked(k, 0), acc);
  ct::partition_view{ct::tensor_span{z, ct::extents{24, 24}}, ct::shape<32, 32>{}}.store_masked(acc, 0, 0);
})

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_operations
