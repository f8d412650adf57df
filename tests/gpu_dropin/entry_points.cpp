// SPDX-License-Identifier: MIT
#include <memory>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// What one type is called by the functions of cuBLAS that come by types.
template <class T>
struct Types {
  static constexpr bool kIsF64 = sizeof(typename PartOf<T>::Type) == 8;
  static constexpr cudaDataType kData =
      kIsComplex<T> ? (kIsF64 ? CUDA_C_64F : CUDA_C_32F) : (kIsF64 ? CUDA_R_64F : CUDA_R_32F);
  static constexpr cublasComputeType_t kCompute = kIsF64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
};

/// Three problems of one shape, and where their matrices are in arrays of pointers. Those of problem i lie i strides
/// behind those of the first, in three arrays.
template <class T>
class Batch {
 public:
  using E = typename Blas<T>::Element;
  static constexpr int kProducts = 3;

  explicit Batch(const Shape& shape) {
    for (int i = 0; i < kProducts; ++i) problems_.emplace_back(shape, 40 + i);
    for (Problem<T>& problem : problems_) {
      append(a_values_, problem.a());
      append(b_values_, problem.b());
      append(c_values_, problem.c());
    }
    a_ = std::make_unique<DeviceArray<T>>(a_values_);
    b_ = std::make_unique<DeviceArray<T>>(b_values_);
    c_ = std::make_unique<DeviceArray<T>>(c_values_);
    as_ = pointers(a(), stride_a());
    bs_ = pointers(b(), stride_b());
    cs_ = pointers(c(), stride_c());
  }

  [[nodiscard]] const Problem<T>& first() const { return problems_[0]; }
  [[nodiscard]] E* a() const { return reinterpret_cast<E*>(a_->data()); }
  [[nodiscard]] E* b() const { return reinterpret_cast<E*>(b_->data()); }
  [[nodiscard]] E* c() const { return reinterpret_cast<E*>(c_->data()); }
  [[nodiscard]] std::int64_t stride_a() const { return static_cast<std::int64_t>(a_values_.size()) / kProducts; }
  [[nodiscard]] std::int64_t stride_b() const { return static_cast<std::int64_t>(b_values_.size()) / kProducts; }
  [[nodiscard]] std::int64_t stride_c() const { return static_cast<std::int64_t>(c_values_.size()) / kProducts; }
  [[nodiscard]] E** as() const { return as_->data(); }
  [[nodiscard]] E** bs() const { return bs_->data(); }
  [[nodiscard]] E** cs() const { return cs_->data(); }
  [[nodiscard]] std::vector<T> results() const { return c_->download(); }
  void reset_c() { c_->upload(c_values_); }

  /// Of the first `num_products`; the others must be as they were.
  [[nodiscard]] Judgement judge(const std::vector<T>& got, int num_products, T alpha, T beta) {
    Judgement worst;
    const auto stride = static_cast<std::ptrdiff_t>(stride_c());
    for (std::ptrdiff_t i = 0; i < kProducts; ++i) {
      const std::vector<T> one(got.begin() + i * stride, got.begin() + (i + 1) * stride);
      if (i >= num_products) {
        if (std::memcmp(one.data(), problems_[static_cast<std::size_t>(i)].c().data(), one.size() * sizeof(T)) != 0)
          return {"product " + std::to_string(i) + " was not asked for, and is written", 0};
        continue;
      }
      const Judgement judgement = problems_[static_cast<std::size_t>(i)].judge(one, alpha, beta);
      if (!judgement.error.empty()) return {"product " + std::to_string(i) + ": " + judgement.error, judgement.ratio};
      worst.ratio = std::max(worst.ratio, judgement.ratio);
    }
    return worst;
  }

 private:
  static void append(std::vector<T>& all, const std::vector<T>& one) { all.insert(all.end(), one.begin(), one.end()); }
  static std::unique_ptr<DeviceArray<E*>> pointers(E* first, std::int64_t stride) {
    std::vector<E*> addresses;
    for (int i = 0; i < kProducts; ++i) addresses.push_back(first + i * stride);
    return std::make_unique<DeviceArray<E*>>(addresses);
  }

  std::vector<Problem<T>> problems_;
  std::vector<T> a_values_, b_values_, c_values_;
  std::unique_ptr<DeviceArray<T>> a_, b_, c_;
  std::unique_ptr<DeviceArray<E*>> as_, bs_, cs_;
};

/// Calls of one type by all entry points. Each must be within its bound, and have the bits of all others.
template <class T>
class EntryPoints {
 public:
  EntryPoints(const Handle& handle, const Shape& shape) : handle_(handle), s_(shape), x_(shape) {
    const Problem<T>& problem = x_.first();
    lda_ = problem.lda();
    ldb_ = problem.ldb();
    ldc_ = problem.ldc();
  }

  void check_all() {
    handle_.set(CUBLAS_POINTER_MODE_HOST);
    check_single();
    check_batches();
    if constexpr (!kIsComplex<T>) check_groups();
    if constexpr (kIsComplex<T>) check_3m();
    check_of_float();
    check_other_arithmetic();
  }

 private:
  using E = typename Blas<T>::Element;

  /// `call` writes the first `num_products` matrices C.
  template <class Call>
  void expect(const char* what, int num_products, const Call& call) {
    const std::string name = name_of<T>(what, s_);
    guarded(name, [&] {
      x_.reset_c();
      check(call(), what);
      const std::vector<T> got = x_.results();
      report(name, x_.judge(got, num_products, alpha_, beta_));
      if (first_.empty()) first_ = got;
      const auto end = static_cast<std::ptrdiff_t>(x_.stride_c());
      expect_same_bits(name, std::vector<T>(first_.begin(), first_.begin() + end),
                       std::vector<T>(got.begin(), got.begin() + end));
    });
  }

  void check_single() {
    const cublasHandle_t h = handle_.get();
    expect("gemm", 1, [&] {
      return Blas<T>::kGemm(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), lda_, x_.b(), ldb_, beta(), x_.c(),
                            ldc_);
    });
    expect("GemmEx", 1, [&] {
      return cublasGemmEx(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_, x_.b(), kData, ldb_,
                          beta(), x_.c(), kData, ldc_, kCompute, CUBLAS_GEMM_DEFAULT);
    });
    expect("GemmEx_64", 1, [&] {
      return cublasGemmEx_64(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_, x_.b(), kData, ldb_,
                             beta(), x_.c(), kData, ldc_, kCompute, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
    });
  }

  void check_batches() {
    const cublasHandle_t h = handle_.get();
    const auto* as = reinterpret_cast<const void* const*>(x_.as());
    const auto* bs = reinterpret_cast<const void* const*>(x_.bs());
    auto* cs = reinterpret_cast<void* const*>(x_.cs());
    expect("gemmStridedBatched", kProducts, [&] {
      return Blas<T>::kStrided(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), lda_, x_.stride_a(), x_.b(),
                               ldb_, x_.stride_b(), beta(), x_.c(), ldc_, x_.stride_c(), kProducts);
    });
    expect("GemmStridedBatchedEx", kProducts, [&] {
      return cublasGemmStridedBatchedEx(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_,
                                        x_.stride_a(), x_.b(), kData, ldb_, x_.stride_b(), beta(), x_.c(), kData, ldc_,
                                        x_.stride_c(), kProducts, kCompute, CUBLAS_GEMM_DEFAULT);
    });
    expect("GemmStridedBatchedEx_64, two of three", 2, [&] {
      return cublasGemmStridedBatchedEx_64(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_,
                                           x_.stride_a(), x_.b(), kData, ldb_, x_.stride_b(), beta(), x_.c(), kData,
                                           ldc_, x_.stride_c(), 2, kCompute, CUBLAS_GEMM_DEFAULT);
    });
    expect("gemmBatched", kProducts, [&] {
      return Blas<T>::kBatched(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.as(), lda_, x_.bs(), ldb_, beta(),
                               x_.cs(), ldc_, kProducts);
    });
    expect("GemmBatchedEx", kProducts, [&] {
      return cublasGemmBatchedEx(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), as, kData, lda_, bs, kData, ldb_,
                                 beta(), cs, kData, ldc_, kProducts, kCompute, CUBLAS_GEMM_DEFAULT);
    });
    expect("GemmBatchedEx_64", kProducts, [&] {
      return cublasGemmBatchedEx_64(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), as, kData, lda_, bs, kData, ldb_,
                                    beta(), cs, kData, ldc_, kProducts, kCompute, CUBLAS_GEMM_DEFAULT);
    });
  }

  /// The first problem as one group, the other two as another.
  void check_groups() {
    const cublasOperation_t op_a[]{s_.op_a, s_.op_a}, op_b[]{s_.op_b, s_.op_b};
    const int m[]{s_.m, s_.m}, n[]{s_.n, s_.n}, k[]{s_.k, s_.k}, lda[]{lda_, lda_}, ldb[]{ldb_, ldb_},
        ldc[]{ldc_, ldc_};
    const int sizes[]{1, 2};
    const T alphas[]{alpha_, alpha_}, betas[]{beta_, beta_};
    const auto* as = reinterpret_cast<const void* const*>(x_.as());
    const auto* bs = reinterpret_cast<const void* const*>(x_.bs());
    auto* cs = reinterpret_cast<void* const*>(x_.cs());
    expect("gemmGroupedBatched", kProducts, [&] {
      return Blas<T>::kGrouped(handle_.get(), op_a, op_b, m, n, k, alphas, x_.as(), lda, x_.bs(), ldb, betas, x_.cs(),
                               ldc, 2, sizes);
    });
    expect("GemmGroupedBatchedEx", kProducts, [&] {
      return cublasGemmGroupedBatchedEx(handle_.get(), op_a, op_b, m, n, k, alphas, as, kData, lda, bs, kData, ldb,
                                        betas, cs, kData, ldc, 2, sizes, kCompute);
    });
  }

  void check_3m() {
    const cublasHandle_t h = handle_.get();
    expect("gemm3m", 1, [&] {
      return Blas<T>::k3m(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), lda_, x_.b(), ldb_, beta(), x_.c(),
                          ldc_);
    });
    if constexpr (!Types<T>::kIsF64) {
      expect("gemm3mBatched", kProducts, [&] {
        return cublasCgemm3mBatched(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.as(), lda_, x_.bs(), ldb_,
                                    beta(), x_.cs(), ldc_, kProducts);
      });
      expect("gemm3mStridedBatched", kProducts, [&] {
        return cublasCgemm3mStridedBatched(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), lda_, x_.stride_a(),
                                           x_.b(), ldb_, x_.stride_b(), beta(), x_.c(), ldc_, x_.stride_c(), kProducts);
      });
      expect("gemm3mEx", 1, [&] {
        return cublasCgemm3mEx(h, s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_, x_.b(), kData, ldb_,
                               beta(), x_.c(), kData, ldc_);
      });
    }
  }

  /// cublasSgemmEx, cublasCgemmEx.
  void check_of_float() {
    if constexpr (!Types<T>::kIsF64) {
      expect("gemmEx", 1, [&] {
        return Blas<T>::kEx(handle_.get(), s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_, x_.b(),
                            kData, ldb_, beta(), x_.c(), kData, ldc_);
      });
    }
  }

  /// A certain arithmetic is that of cuBLAS, with its bits.
  void check_other_arithmetic() {
    const auto pedantic = Types<T>::kIsF64 ? CUBLAS_COMPUTE_64F_PEDANTIC : CUBLAS_COMPUTE_32F_PEDANTIC;
    const std::string name = name_of<T>("GemmEx, pedantic", s_);
    guarded(name, [&] {
      const auto result_of = [&](auto* gemm_ex) {
        x_.reset_c();
        check(gemm_ex(handle_.get(), s_.op_a, s_.op_b, s_.m, s_.n, s_.k, alpha(), x_.a(), kData, lda_, x_.b(), kData,
                      ldb_, beta(), x_.c(), kData, ldc_, pedantic, CUBLAS_GEMM_DEFAULT),
              "product");
        return x_.results();
      };
      const auto linked = static_cast<GemmEx*>(cublasGemmEx);
      const auto native = reinterpret_cast<GemmEx*>(native_function("cublasGemmEx"));
      report(name, same_bits(result_of(linked), result_of(native)) ? "" : "other bits than cuBLAS");
    });
  }

  using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  static constexpr int kProducts = Batch<T>::kProducts;
  static constexpr cudaDataType kData = Types<T>::kData;
  static constexpr cublasComputeType_t kCompute = Types<T>::kCompute;

  [[nodiscard]] const E* alpha() const { return reinterpret_cast<const E*>(&alpha_); }
  [[nodiscard]] const E* beta() const { return reinterpret_cast<const E*>(&beta_); }

  const Handle& handle_;
  Shape s_;
  int lda_ = 0, ldb_ = 0, ldc_ = 0;
  T alpha_ = make<T>(1.25, -0.5), beta_ = make<T>(-0.75, 0.25);
  Batch<T> x_;
  std::vector<T> first_;  ///< the results of the first entry point
};

}  // namespace

void check_entry_points(const Handle& handle) {
  const Shape shape{kN, kT, 300, 200, 400};
  guarded("entry points", [&] {
    EntryPoints<float>(handle, shape).check_all();
    EntryPoints<double>(handle, shape).check_all();
    EntryPoints<std::complex<float>>(handle, shape).check_all();
    EntryPoints<std::complex<double>>(handle, shape).check_all();
  });
}

}  // namespace preload_check
