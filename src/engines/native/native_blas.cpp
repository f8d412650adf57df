// SPDX-License-Identifier: MIT
#include "engines/native/native_blas.hpp"

#include <cblas.h>
#include <pthread.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>
#include <mutex>
#include <optional>
#include <string>

#include "base/fork_safe.hpp"
#include "base/instantiate.hpp"

// OpenBLAS only; another BLAS leaves them null.
extern "C" {
void openblas_set_num_threads(int num_threads) __attribute__((weak));
int openblas_get_num_threads(void) __attribute__((weak));
}

namespace kizami::engines {
namespace {

/// The process-wide number of threads of OpenBLAS, borrowed. Concurrent calls that want the same number share the loan,
/// and the last one restores what the first one found; a call that wants another number meanwhile runs with the one in
/// force, rather than wait for a product that may take seconds.
class ThreadCountLoan {
 public:
  /// True if give_back() must follow.
  bool borrow(int threads) {
    const std::lock_guard lock(mutex_);
    if (users_ == 0) {
      const int found = openblas_get_num_threads();
      if (found == threads && !is_overdue_) return false;
      if (!is_overdue_) saved_ = found;
      is_overdue_ = false;
      current_ = threads;
      openblas_set_num_threads(threads);
    } else if (current_ != threads) {
      return false;
    }
    ++users_;
    return true;
  }

  void give_back() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) openblas_set_num_threads(saved_);
  }

  /// No fork happens while a loan begins or ends, for the child inherits the state of the BLAS. There the users are
  /// gone, and the next loan restores what they would have restored.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child) {
    is_overdue_ = is_overdue_ || (is_child && users_ > 0);
    if (is_child) users_ = 0;
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  int users_ = 0;
  int current_ = 0;
  int saved_ = 0;
  bool is_overdue_ = false;
};

constinit ThreadCountLoan thread_count_loan;

/// When the library is loaded. The BLAS was loaded before: its own preparations for a fork come after these.
[[gnu::constructor]] void prepare_for_forks() {
  pthread_atfork([] { thread_count_loan.before_fork(); }, [] { thread_count_loan.after_fork(false); },
                 [] { thread_count_loan.after_fork(true); });
}

class ThreadCountGuard {
 public:
  explicit ThreadCountGuard(int threads) {
    const bool can_set = &openblas_set_num_threads != nullptr && &openblas_get_num_threads != nullptr;
    has_loan_ = threads >= 1 && can_set && thread_count_loan.borrow(threads);
  }
  ~ThreadCountGuard() {
    if (has_loan_) thread_count_loan.give_back();
  }
  ThreadCountGuard(const ThreadCountGuard&) = delete;
  ThreadCountGuard& operator=(const ThreadCountGuard&) = delete;

 private:
  bool has_loan_ = false;
};

/// A view as BLAS knows it: does the contiguous direction run down the columns, and the leading dimension.
struct BlasMatrix {
  bool is_col_major = true;
  int ld = 1;
};

std::string strides_of(const char* name, std::int64_t row_stride, std::int64_t col_stride) {
  return std::string(name) + " has row_stride = " + std::to_string(row_stride) +
         " and col_stride = " + std::to_string(col_stride);
}

/// The leading dimension if the view is column-major, nothing otherwise.
std::optional<std::int64_t> col_major_ld(std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                                         std::int64_t col_stride) {
  if (row_stride != 1 && rows > 1) return std::nullopt;
  const std::int64_t least = std::max<std::int64_t>(1, rows);
  const std::int64_t ld = cols <= 1 ? least : col_stride;
  return ld >= least ? std::optional(ld) : std::nullopt;
}

/// Prefers `prefer_col_major` where a view is both, as one with a single row or column may be.
template <class T>
Result<BlasMatrix> as_blas(const char* name, const MatrixView<T>& v, bool prefer_col_major) {
  const auto col_major = col_major_ld(v.rows, v.cols, v.row_stride, v.col_stride);
  const auto row_major = col_major_ld(v.cols, v.rows, v.col_stride, v.row_stride);
  if (!col_major && !row_major) {
    return Status(StatusCode::kUnsupported, strides_of(name, v.row_stride, v.col_stride) +
                                                ", one must be 1 and the other at least the length of a column or row");
  }
  const bool is_col_major = col_major && (prefer_col_major || !row_major);
  const std::int64_t ld = is_col_major ? *col_major : *row_major;
  // A single column or row needs no larger leading dimension than its length, which splitting keeps in range.
  const bool is_single = is_col_major ? v.cols <= 1 : v.rows <= 1;
  if (ld > INT_MAX && !is_single) {
    return Status(StatusCode::kUnsupported, strides_of(name, v.row_stride, v.col_stride) +
                                                ", the BLAS takes leading dimensions up to INT_MAX = 2147483647");
  }
  return BlasMatrix{is_col_major, static_cast<int>(std::min<std::int64_t>(ld, INT_MAX))};
}

void cblas_gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, double alpha,
                const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void cblas_gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                std::complex<double> alpha, const std::complex<double>* a, int lda, const std::complex<double>* b,
                int ldb, std::complex<double> beta, std::complex<double>* c, int ldc) {
  cblas_zgemm(order, op_a, op_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void cblas_gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                std::complex<float> alpha, const std::complex<float>* a, int lda, const std::complex<float>* b, int ldb,
                std::complex<float> beta, std::complex<float>* c, int ldc) {
  cblas_cgemm(order, op_a, op_b, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

/// CBLAS itself can conjugate only what it transposes; OpenBLAS knows this one, too.
constexpr auto kConjugateOnly = static_cast<CBLAS_TRANSPOSE>(114);

/// One call of the BLAS. @range dimensions up to INT_MAX, not zero except k
template <class T>
Status call_blas(const MatrixView<const T>& A, const MatrixView<const T>& B, T alpha, T beta, const MatrixView<T>& C) {
  const auto c = as_blas("C", C, true);
  KIZAMI_RETURN_IF_ERROR(c.status());
  const bool is_col_major = c.value().is_col_major;
  const auto a = as_blas("A", A, is_col_major);
  KIZAMI_RETURN_IF_ERROR(a.status());
  const auto b = as_blas("B", B, is_col_major);
  KIZAMI_RETURN_IF_ERROR(b.status());
  const auto op = [&](const BlasMatrix& x, const MatrixView<const T>& v) {
    if (x.is_col_major == is_col_major) return v.is_conjugated ? kConjugateOnly : CblasNoTrans;
    return v.is_conjugated ? CblasConjTrans : CblasTrans;
  };
  const CBLAS_TRANSPOSE op_a = op(a.value(), A);
  const CBLAS_TRANSPOSE op_b = op(b.value(), B);
  if ((op_a == kConjugateOnly || op_b == kConjugateOnly) && &openblas_set_num_threads == nullptr) {
    return {StatusCode::kUnsupported, "scheme native: this BLAS conjugates only what it transposes"};
  }
  cblas_gemm(is_col_major ? CblasColMajor : CblasRowMajor, op_a, op_b, static_cast<int>(C.rows),
             static_cast<int>(C.cols), static_cast<int>(A.cols), alpha, A.data, a.value().ld, B.data, b.value().ld,
             beta, C.data, c.value().ld);
  return {};
}

template <class T>
Status gemm(const MatrixView<const T>& A, const MatrixView<const T>& B, T alpha, T beta, const MatrixView<T>& C,
            int threads, std::int64_t max_dim) {
  const std::int64_t m = C.rows;
  const std::int64_t n = C.cols;
  const std::int64_t k = A.cols;
  const auto shape = [](std::int64_t rows, std::int64_t cols) {
    return std::to_string(rows) + " x " + std::to_string(cols);
  };
  if (m < 0 || n < 0 || k < 0 || A.rows != m || B.rows != k || B.cols != n) {
    return {StatusCode::kInvalidArgument, "A is " + shape(A.rows, A.cols) + ", B is " + shape(B.rows, B.cols) +
                                              " and C is " + shape(m, n) + ", must be m x k, k x n and m x n"};
  }
  if (threads < 0)
    return {StatusCode::kInvalidArgument, "threads = " + std::to_string(threads) + ", must be at least 0"};
  if (m == 0 || n == 0) return {};

  // Refuse before anything is written. Blocks have the strides of the whole.
  KIZAMI_RETURN_IF_ERROR(as_blas("C", C, true).status());
  KIZAMI_RETURN_IF_ERROR(as_blas("A", A, true).status());
  KIZAMI_RETURN_IF_ERROR(as_blas("B", B, true).status());

  const ThreadCountGuard guard(threads);
  for (std::int64_t j = 0; j < n; j += max_dim) {
    const std::int64_t cols = std::min(max_dim, n - j);
    for (std::int64_t i = 0; i < m; i += max_dim) {
      const std::int64_t rows = std::min(max_dim, m - i);
      std::int64_t p = 0;
      do {  // once for k = 0, too: it scales C
        const std::int64_t depth = std::min(max_dim, k - p);
        KIZAMI_RETURN_IF_ERROR(call_blas(A.block(i, p, rows, depth), B.block(p, j, depth, cols), alpha,
                                         p == 0 ? beta : T{1}, C.block(i, j, rows, cols)));
        p += depth;
      } while (p < k);
    }
  }
  return {};
}

}  // namespace

template <class T>
Status native_gemm(std::type_identity_t<MatrixView<const T>> A, std::type_identity_t<MatrixView<const T>> B,
                   std::type_identity_t<T> alpha, std::type_identity_t<T> beta, MatrixView<T> C, int threads) {
  return gemm(A, B, alpha, beta, C, threads, INT_MAX);
}

namespace {

class NativeBlasEngine final : public product::NativeEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "native_blas"; }
  [[nodiscard]] double seconds(const problem::Shape& shape, const product::DeviceFacts& facts) const override {
    const bool is_f64 = real_of(shape.scalar) == Scalar::kF64;
    const product::NativeRates& rates = is_f64 ? facts.processor.native_f64 : facts.processor.native_f32;
    const double size =
        std::cbrt(static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k));
    const double rate = rates.at(size);
    const double terms = is_complex(shape.scalar) ? 2.0 : 1.0;
    return terms * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
           (terms * static_cast<double>(shape.k)) / (rate * facts.num_threads);
  }

  [[nodiscard]] Status run(MatrixView<const float> a, MatrixView<const float> b, float alpha, float beta,
                           MatrixView<float> c, int threads) const override {
    return native_gemm(a, b, alpha, beta, c, threads);
  }
  [[nodiscard]] Status run(MatrixView<const double> a, MatrixView<const double> b, double alpha, double beta,
                           MatrixView<double> c, int threads) const override {
    return native_gemm(a, b, alpha, beta, c, threads);
  }
  [[nodiscard]] Status run(MatrixView<const std::complex<float>> a, MatrixView<const std::complex<float>> b,
                           std::complex<float> alpha, std::complex<float> beta, MatrixView<std::complex<float>> c,
                           int threads) const override {
    return native_gemm(a, b, alpha, beta, c, threads);
  }
  [[nodiscard]] Status run(MatrixView<const std::complex<double>> a, MatrixView<const std::complex<double>> b,
                           std::complex<double> alpha, std::complex<double> beta, MatrixView<std::complex<double>> c,
                           int threads) const override {
    return native_gemm(a, b, alpha, beta, c, threads);
  }
};

}  // namespace

const product::NativeEngine& native_blas_engine() {
  static constinit base::MadeOnce<NativeBlasEngine> engine;
  return engine.get();
}

Status detail::native_gemm_split(MatrixView<const double> A, MatrixView<const double> B, double alpha, double beta,
                                 MatrixView<double> C, int threads, int max_dim) {
  return gemm(A, B, alpha, beta, C, threads, max_dim);
}

#define KIZAMI_INSTANTIATE(T)                                                                                          \
  template Status native_gemm<T>(std::type_identity_t<MatrixView<const T>>, std::type_identity_t<MatrixView<const T>>, \
                                 std::type_identity_t<T>, std::type_identity_t<T>, MatrixView<T>, int)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::engines
