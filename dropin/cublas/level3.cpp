// SPDX-License-Identifier: MIT
#include "dropin/cublas/level3.hpp"

#include <algorithm>
#include <cmath>

#include "dropin/cublas/attempt.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/native_level3.hpp"
#include "dropin/policy/answer.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kDeviceFactors = "alpha and beta are in device memory";
constexpr const char* kDiagonal = "diagonal blocks are native, whose accuracy does not do";
constexpr const char* kNoNative = "this cuBLAS has no such function with 64-bit integers";

/// Of the triangle that is halved.
std::int64_t order_of(const Call& call) { return has_triangle(call.routine) ? call.n : call.k; }

/// The order of the largest native block. On an H200 (bench/results/h200/level3.jsonl, orders of 2048 to 8192) the best of 256..4096, or
/// near it, for all orders: 1024 in place of 2048 costs syrk of FP64 15 %, 2048 in place of 512 trmm of complex FP32 a third.
std::int64_t max_block(const Call& call) {
  if (call.scalar == Scalar::kC64) return has_triangle(call.routine) ? 1024 : 512;
  if (has_triangle(call.routine) || call.scalar == Scalar::kC128) return 2048;
  return call.scalar == Scalar::kF64 && call.routine != Routine::kTrsm ? 2048 : 1024;
}
std::int64_t block_of(const Call& call) {
  constexpr std::int64_t kSmall = 512;  // what is emulated where that is asked for, and then most of it
  const std::int64_t order = order_of(call);
  return order < kSmall ? std::max<std::int64_t>(order / 4, 1) : std::min((order + 1) / 2, max_block(call));
}

/// The least order at which blocks were not slower than the native routine there, by more than a few percent.
std::int64_t least_order(const Call& call) {
  if (call.scalar == Scalar::kC64) return 2048;
  return has_triangle(call.routine) ? 4096 : 3072;
}

template <class T>
class Level3 {
 public:
  Level3(const Call& call, const Context& context, const Settings& settings, std::int64_t block)
      : x_(call),
        context_(context),
        settings_(settings),
        alpha_(factor_at<T>(call.alpha, has_real_alpha(call))),
        beta_(factor_at<T>(call.beta, has_real_beta(call))),
        a_(static_cast<const T*>(call.a)),
        b_(static_cast<const T*>(is_rank_k(call.routine) ? call.a : call.b)),
        ldb_(is_rank_k(call.routine) ? call.lda : call.ldb),
        c_(static_cast<T*>(call.c)),
        block_(block > 0 ? block : block_of(call)) {}

  Blocks run() {
    if (has_triangle(x_.routine)) {
      update(0, x_.n);
    } else if (is_symmetric(x_.routine)) {
      multiply_symmetric(0, x_.k);
    } else if (x_.routine == Routine::kTrmm) {
      multiply_triangular(0, x_.k);
    } else {
      solve(0, x_.k, alpha_);
    }
    return done_;
  }

 private:
  [[nodiscard]] bool is_ok() const { return done_.status == CUBLAS_STATUS_SUCCESS; }
  [[nodiscard]] bool is_left() const { return x_.side == 'L'; }
  [[nodiscard]] char transposed() const { return is_hermitian(x_.routine) ? 'C' : 'T'; }

  /// C (m x n) <- alpha op(A) op(B) + beta C, by Kizami; natively where the planner prefers it or Kizami refuses.
  void multiply(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
    if (!is_ok()) return;
    Call product;
    product.name = x_.name;
    product.caller = x_.caller;
    product.scalar = x_.scalar;
    product.op_a = op_a;
    product.op_b = op_b;
    product.m = m;
    product.n = n;
    product.k = k;
    product.alpha = &alpha;
    product.a = a;
    product.lda = lda;
    product.b = b;
    product.ldb = ldb;
    product.beta = &beta;
    product.c = c;
    product.ldc = ldc;
    const bool is_tried = !has_device_failed() && chosen(settings_, product).why_native == nullptr;
    const Attempt done = is_tried ? attempt(product, context_, settings_) : Attempt{.why_native = kByPlan};
    if (done.why_native == nullptr) {
      ++done_.num_emulated;
      done_.status = done.status;
      done_.bound = std::max(done_.bound, done.choice.bound);
      done_.seconds += done.choice.seconds;
      if (done.workspace_limit != 0)
        done_.workspace_limit =
            done_.workspace_limit == 0 ? done.workspace_limit : std::min(done_.workspace_limit, done.workspace_limit);
      return;
    }
    done_.num_short_of_memory += done.is_short_of_memory ? 1 : 0;
    ++done_.num_native;
    done_.status = NativeLevel3<T>::gemm(x_.handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  void note(cublasStatus_t status) {
    if (is_ok()) done_.status = status;
  }

  /// The triangle of C that begins at (first, first): two of half the size, and the rectangle beside them.
  void update(std::int64_t first, std::int64_t size) {
    if (!is_ok()) return;
    const Operand<T> a{x_.op_a, a_, x_.lda};
    const Operand<T> b{x_.op_a, b_, ldb_};
    if (size <= block_) {
      return note(NativeLevel3<T>::triangle(x_, size, alpha_, a.at(first, 0), b.at(first, 0), beta_,
                                            c_ + first + first * x_.ldc));
    }
    const std::int64_t half = size / 2;
    const std::int64_t middle = first + half;
    update(first, half);
    const bool is_lower = x_.uplo == 'L';
    const std::int64_t row = is_lower ? middle : first;
    const std::int64_t col = is_lower ? first : middle;
    const std::int64_t rows = is_lower ? size - half : half;
    const std::int64_t cols = size - rows;
    T* c = c_ + row + col * x_.ldc;
    // op(X)(row..) op(Y)(col..)': X Y' or X' Y.
    const bool is_plain = x_.op_a == 'N';
    const char left = is_plain ? 'N' : transposed();
    const char right = is_plain ? transposed() : 'N';
    multiply(left, right, rows, cols, x_.k, alpha_, a.at(row, 0), x_.lda, b.at(col, 0), ldb_, beta_, c, x_.ldc);
    if (is_rank_2k(x_.routine)) {
      const T alpha = is_hermitian(x_.routine) ? conjugate(alpha_) : alpha_;
      multiply(left, right, rows, cols, x_.k, alpha, b.at(row, 0), ldb_, a.at(col, 0), x_.lda, T{1}, c, x_.ldc);
    }
    update(middle, size - half);
  }

  /// Rows (left) or columns (right) of B and C.
  [[nodiscard]] const T* part_of_b(std::int64_t i) const { return is_left() ? b_ + i : b_ + i * ldb_; }
  [[nodiscard]] T* part_of_c(std::int64_t i) const { return is_left() ? c_ + i : c_ + i * x_.ldc; }

  /// C(first..) <- alpha A(first.., first..) B(first..) + beta C(first..), or B A.
  void multiply_symmetric(std::int64_t first, std::int64_t size) {
    if (!is_ok()) return;
    if (size <= block_) {
      return note(NativeLevel3<T>::symmetric(x_, is_left() ? size : x_.m, is_left() ? x_.n : size, alpha_,
                                             a_ + first + first * x_.lda, part_of_b(first), beta_, part_of_c(first)));
    }
    const std::int64_t half = size / 2;
    const std::int64_t rest = size - half;
    const std::int64_t middle = first + half;
    multiply_symmetric(first, half);
    multiply_symmetric(middle, rest);
    // The stored block S is A(middle.., first..) of a lower triangle, A(first.., middle..) of an upper one.
    const bool is_lower = x_.uplo == 'L';
    const T* stored = is_lower ? a_ + middle + first * x_.lda : a_ + first + middle * x_.lda;
    const char below = is_lower ? 'N' : transposed();  // A(middle.., first..) as an operation on S
    const char above = is_lower ? transposed() : 'N';
    if (is_left()) {
      multiply(above, 'N', half, x_.n, rest, alpha_, stored, x_.lda, part_of_b(middle), ldb_, T{1}, part_of_c(first),
               x_.ldc);
      multiply(below, 'N', rest, x_.n, half, alpha_, stored, x_.lda, part_of_b(first), ldb_, T{1}, part_of_c(middle),
               x_.ldc);
    } else {
      multiply('N', below, x_.m, half, rest, alpha_, part_of_b(middle), ldb_, stored, x_.lda, T{1}, part_of_c(first),
               x_.ldc);
      multiply('N', above, x_.m, rest, half, alpha_, part_of_b(first), ldb_, stored, x_.lda, T{1}, part_of_c(middle),
               x_.ldc);
    }
  }

  /// op(A) lower on the left, or upper on the right: the second half of C takes from the first half of B.
  [[nodiscard]] bool second_takes() const { return ((x_.uplo == 'L') == (x_.op_a == 'N')) == is_left(); }

  /// C_to <- alpha (block of op(A)) F_from + beta C_to, or F_from (block), F of C's shape.
  void take(std::int64_t to, std::int64_t to_size, const T* from_data, std::int64_t from_ld, std::int64_t from,
            std::int64_t from_size, T alpha, T beta) {
    const Operand<T> a{x_.op_a, a_, x_.lda};
    if (is_left()) {
      multiply(x_.op_a, 'N', to_size, x_.n, from_size, alpha, a.at(to, from), x_.lda, from_data, from_ld, beta,
               part_of_c(to), x_.ldc);
    } else {
      multiply('N', x_.op_a, x_.m, to_size, from_size, alpha, from_data, from_ld, a.at(from, to), x_.lda, beta,
               part_of_c(to), x_.ldc);
    }
  }

  void native_triangular(std::int64_t first, std::int64_t size, T alpha) {
    note(NativeLevel3<T>::triangular(x_, is_left() ? size : x_.m, is_left() ? x_.n : size, alpha,
                                     a_ + first + first * x_.lda, b_ == nullptr ? nullptr : part_of_b(first),
                                     part_of_c(first)));
  }

  /// The half that takes is multiplied first, then takes from the other one as it was (C may be B), which is multiplied last.
  void multiply_triangular(std::int64_t first, std::int64_t size) {
    if (!is_ok()) return;
    if (size <= block_) return native_triangular(first, size, alpha_);
    const std::int64_t half = size / 2;
    const std::int64_t rest = size - half;
    const std::int64_t middle = first + half;
    if (second_takes()) {
      multiply_triangular(middle, rest);
      take(middle, rest, part_of_b(first), ldb_, first, half, alpha_, T{1});
      multiply_triangular(first, half);
    } else {
      multiply_triangular(first, half);
      take(first, half, part_of_b(middle), ldb_, middle, rest, alpha_, T{1});
      multiply_triangular(middle, rest);
    }
  }

  /// The half that gives is solved first.
  void solve(std::int64_t first, std::int64_t size, T alpha) {
    if (!is_ok()) return;
    if (size <= block_) return native_triangular(first, size, alpha);
    const std::int64_t half = size / 2;
    const std::int64_t rest = size - half;
    const std::int64_t middle = first + half;
    if (second_takes()) {
      solve(first, half, alpha);
      take(middle, rest, part_of_c(first), x_.ldc, first, half, T{-1}, alpha);
      solve(middle, rest, T{1});
    } else {
      solve(middle, rest, alpha);
      take(first, half, part_of_c(middle), x_.ldc, middle, rest, T{-1}, alpha);
      solve(first, half, T{1});
    }
  }

  const Call& x_;
  const Context& context_;
  const Settings& settings_;
  T alpha_;
  T beta_;
  const T* a_;
  const T* b_;
  std::int64_t ldb_;
  T* c_;
  std::int64_t block_;
  Blocks done_;
};

/// What cuBLAS guarantees of a sum of `terms`, in roundings of half a unit: one for each, of complex types two.
double native_roundings(const Call& call, std::int64_t terms) {
  return (is_complex(call.scalar) ? 2.0 : 1.0) * (is_rank_2k(call.routine) ? 2.0 : 1.0) * static_cast<double>(terms);
}

/// The terms of a sum within a diagonal block.
std::int64_t terms_of_block(const Call& call) { return has_triangle(call.routine) ? call.k : block_of(call); }

double native_bound(const Call& call) {
  return native_roundings(call, terms_of_block(call)) * std::ldexp(1.0, -significand_bits(call.scalar));
}

/// Whether C(i, j) lies in a diagonal block of Level3::update().
bool is_in_diagonal_block(const Call& call, std::int64_t i, std::int64_t j) {
  std::int64_t first = 0;
  std::int64_t size = call.n;
  while (size > block_of(call)) {
    const std::int64_t half = size / 2;
    const bool is_second = i >= first + half;
    if (is_second != (j >= first + half)) return false;
    first += is_second ? half : 0;
    size = is_second ? size - half : half;
  }
  return true;
}

}  // namespace

Call largest_product(const Call& call) {
  Call product;
  product.scalar = call.scalar;
  product.m = call.m;
  product.n = call.n;
  product.k = call.k;
  if (has_triangle(call.routine)) {
    product.m = call.n / 2;
    product.n = call.n - call.n / 2;
  } else if (call.side == 'L') {
    product.m = call.m - call.m / 2;
    product.k = call.k / 2;
  } else {
    product.n = call.n - call.n / 2;
    product.k = call.k / 2;
  }
  return product;
}

const char* why_no_blocks(const Call& call, const Context& context, const Settings& settings) {
  if (context.has_device_factors) return kDeviceFactors;
  if (policy_of(settings).scheme == Scheme::kAuto && order_of(call) < least_order(call)) return kByPlan;
  const Accuracy& accuracy = settings.policy.accuracy;
  if (accuracy.kind == Accuracy::Kind::kBits && native_bound(call) > std::ldexp(1.0, -accuracy.bits)) return kDiagonal;
  return for_scalar(call.scalar, [&](auto zero) -> const char* {
    using T = decltype(zero);
    if (factor_at<T>(call.alpha, has_real_alpha(call)) == zero) return kNothing;
    return NativeLevel3<T>::is_there(call.routine) ? nullptr : kNoNative;
  });
}

Blocks emulate_blocks(const Call& call, const Context& context, const Settings& settings, std::int64_t block) {
  return for_scalar(call.scalar,
                    [&](auto zero) { return Level3<decltype(zero)>(call, context, settings, block).run(); });
}

Allowance allowance_of(const Call& call, const Blocks& blocks, Gauge gauge, std::int64_t i, std::int64_t j) {
  const bool has_native_products = blocks.num_native > 0;
  if (has_triangle(call.routine)) {
    const double native = native_roundings(call, call.k);
    if (is_in_diagonal_block(call, i, j)) return {0, gauge, kEpilogueRoundings + native};
    return {blocks.bound, gauge, kEpilogueRoundings + (has_native_products ? native : 0)};
  }
  // A block of cuBLAS', and the epilogues of what is added by halves, with twice the roundings for complex factors.
  const double native = native_roundings(call, has_native_products ? call.k : terms_of_block(call));
  const double halvings = 1 + std::log2(static_cast<double>(call.k) / static_cast<double>(block_of(call)));
  return {blocks.bound, gauge, native + 2 * kEpilogueRoundings * (1 + halvings)};
}

}  // namespace kizami::dropin::cublas
