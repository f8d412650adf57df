// SPDX-License-Identifier: MIT
#include "gpu_soak/calls.hpp"

#include <array>

namespace gpu_soak {
namespace {

using kizami::Op;
using kizami::Scalar;

/// What one type is called in cuBLAS.
template <class E>
struct Blas;
#define GPU_SOAK_FUNCTION(name) [](auto... x) { return name(x...); }
#define GPU_SOAK_BLAS(E, R, Letter, ...)                                                    \
  template <>                                                                               \
  struct Blas<E> {                                                                          \
    using Real = R;                                                                         \
    static constexpr auto kGemm = GPU_SOAK_FUNCTION(cublas##Letter##gemm_v2);               \
    static constexpr auto kStrided = GPU_SOAK_FUNCTION(cublas##Letter##gemmStridedBatched); \
    static constexpr auto kBatched = GPU_SOAK_FUNCTION(cublas##Letter##gemmBatched);        \
    static constexpr auto kSyrk = GPU_SOAK_FUNCTION(cublas##Letter##syrk_v2);               \
    static constexpr auto kSyr2k = GPU_SOAK_FUNCTION(cublas##Letter##syr2k_v2);             \
    static constexpr auto kSymm = GPU_SOAK_FUNCTION(cublas##Letter##symm_v2);               \
    static constexpr auto kTrmm = GPU_SOAK_FUNCTION(cublas##Letter##trmm_v2);               \
    static constexpr auto kTrsm = GPU_SOAK_FUNCTION(cublas##Letter##trsm_v2);               \
    __VA_ARGS__                                                                             \
  };
#define GPU_SOAK_HERMITIAN(Letter)                                          \
  static constexpr auto kHerk = GPU_SOAK_FUNCTION(cublas##Letter##herk_v2); \
  static constexpr auto kHemm = GPU_SOAK_FUNCTION(cublas##Letter##hemm_v2);
GPU_SOAK_BLAS(float, float, S)
GPU_SOAK_BLAS(double, double, D)
GPU_SOAK_BLAS(cuComplex, float, C, GPU_SOAK_HERMITIAN(C))
GPU_SOAK_BLAS(cuDoubleComplex, double, Z, GPU_SOAK_HERMITIAN(Z))
#undef GPU_SOAK_BLAS
#undef GPU_SOAK_HERMITIAN
#undef GPU_SOAK_FUNCTION

cublasOperation_t to_cublas(Op op) {
  return op == Op::kNone ? CUBLAS_OP_N : op == Op::kTranspose ? CUBLAS_OP_T : CUBLAS_OP_C;
}
cudaDataType data_type(Scalar s) {
  return std::array{CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F}[static_cast<std::size_t>(s)];
}
cublasComputeType_t compute_type(Scalar s) {
  return kizami::real_of(s) == Scalar::kF32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
}
int to_int(std::int64_t x) { return static_cast<int>(x); }

template <class E>
class Call {
 public:
  using R = typename Blas<E>::Real;

  Call(const Case& x, const Arguments& y)
      : x_(x),
        y_(y),
        s_(x.first()),
        op_a_(to_cublas(s_.op_a)),
        op_b_(to_cublas(s_.op_b)),
        m_(to_int(s_.m)),
        n_(to_int(s_.n)),
        k_(to_int(s_.k)),
        lda_(to_int(s_.a.ld)),
        ldb_(to_int(s_.b.ld)),
        ldc_(to_int(s_.c.ld)),
        a_(static_cast<E*>(y.a) + s_.a.offset),
        b_(static_cast<E*>(y.b) + s_.b.offset),
        c_(static_cast<E*>(y.c) + s_.c.offset),
        alpha_(static_cast<const E*>(y.alpha)),
        beta_(static_cast<const E*>(y.beta)) {}

  cublasStatus_t make() {
    switch (x_.routine) {
      case Routine::kGemm:
        return Blas<E>::kGemm(y_.handle, op_a_, op_b_, m_, n_, k_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
      case Routine::kGemmEx: {
        const cudaDataType type = data_type(x_.scalar);
        return cublasGemmEx(y_.handle, op_a_, op_b_, m_, n_, k_, alpha_, a_, type, lda_, b_, type, ldb_, beta_, c_,
                            type, ldc_, compute_type(x_.scalar), CUBLAS_GEMM_DEFAULT);
      }
      case Routine::kStrided:
        return Blas<E>::kStrided(y_.handle, op_a_, op_b_, m_, n_, k_, alpha_, a_, lda_, s_.a.stride, b_, ldb_,
                                 s_.b.stride, beta_, c_, ldc_, s_.c.stride, s_.num_products);
      case Routine::kBatched:
        return Blas<E>::kBatched(y_.handle, op_a_, op_b_, m_, n_, k_, alpha_, reinterpret_cast<E**>(y_.as), lda_,
                                 reinterpret_cast<E**>(y_.bs), ldb_, beta_, reinterpret_cast<E**>(y_.cs), ldc_,
                                 s_.num_products);
      case Routine::kGrouped:
        return grouped();
      case Routine::kLt:
        return lt_matmul();
      default:
        return level3();
    }
  }

 private:
  cublasStatus_t level3() {
    const auto uplo = x_.is_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const auto side = x_.is_left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const auto diag = x_.is_unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    switch (x_.routine) {
      case Routine::kSyrk:
        return Blas<E>::kSyrk(y_.handle, uplo, op_a_, n_, k_, alpha_, a_, lda_, beta_, c_, ldc_);
      case Routine::kSyr2k:
        return Blas<E>::kSyr2k(y_.handle, uplo, op_a_, n_, k_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
      case Routine::kSymm:
        return Blas<E>::kSymm(y_.handle, side, uplo, m_, n_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
      case Routine::kTrmm:
        return Blas<E>::kTrmm(y_.handle, side, uplo, op_a_, diag, m_, n_, alpha_, a_, lda_, x_.is_in_place ? c_ : b_,
                              x_.is_in_place ? ldc_ : ldb_, c_, ldc_);
      case Routine::kTrsm:
        return Blas<E>::kTrsm(y_.handle, side, uplo, op_a_, diag, m_, n_, alpha_, a_, lda_, c_, ldc_);
      default:
        break;
    }
    if constexpr (sizeof(E) != sizeof(R)) {
      if (x_.routine == Routine::kHerk) {
        return Blas<E>::kHerk(y_.handle, uplo, op_a_, n_, k_, static_cast<const R*>(y_.alpha), a_, lda_,
                              static_cast<const R*>(y_.beta), c_, ldc_);
      }
      return Blas<E>::kHemm(y_.handle, side, uplo, m_, n_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }

  cublasStatus_t grouped() {
#if CUBLAS_VERSION >= 120500
    std::vector<cublasOperation_t> op_a, op_b;
    std::vector<int> m, n, k, lda, ldb, ldc, sizes;
    for (const Section& s : x_.sections) {
      op_a.push_back(to_cublas(s.op_a));
      op_b.push_back(to_cublas(s.op_b));
      m.push_back(to_int(s.m));
      n.push_back(to_int(s.n));
      k.push_back(to_int(s.k));
      lda.push_back(to_int(s.a.ld));
      ldb.push_back(to_int(s.b.ld));
      ldc.push_back(to_int(s.c.ld));
      sizes.push_back(s.num_products);
    }
    const cudaDataType type = data_type(x_.scalar);
    return cublasGemmGroupedBatchedEx(y_.handle, op_a.data(), op_b.data(), m.data(), n.data(), k.data(), y_.alpha,
                                      y_.as, type, lda.data(), y_.bs, type, ldb.data(), y_.beta, y_.cs, type,
                                      ldc.data(), static_cast<int>(sizes.size()), sizes.data(),
                                      compute_type(x_.scalar));
#else
    return CUBLAS_STATUS_NOT_SUPPORTED;
#endif
  }

  cublasStatus_t lt_matmul() {
    const cudaDataType type = data_type(x_.scalar);
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    const auto pointers = x_.has_device_factors ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST;
    cublasStatus_t status = cublasLtMatmulDescCreate(&product, compute_type(x_.scalar), type);
    const auto then = [&](auto&& step) {
      if (status == CUBLAS_STATUS_SUCCESS) status = step();
    };
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      then([&] { return cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value); });
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, op_a_);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op_b_);
    set(CUBLASLT_MATMUL_DESC_POINTER_MODE, pointers);
    const auto lay_out = [&](cublasLtMatrixLayout_t* layout, const Matrix& matrix) {
      then([&] {
        return cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(matrix.rows),
                                          static_cast<std::uint64_t>(matrix.cols), matrix.ld);
      });
    };
    lay_out(&a, s_.a);
    lay_out(&b, s_.b);
    lay_out(&c, s_.c);
    then([&] {
      return cublasLtMatmul(y_.lt, product, y_.alpha, a_, a, b_, b, y_.beta, c_, c, c_, c, nullptr, nullptr, 0,
                            y_.stream);
    });
    for (cublasLtMatrixLayout_t layout : {a, b, c}) {
      if (layout != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(layout));
    }
    if (product != nullptr) static_cast<void>(cublasLtMatmulDescDestroy(product));
    return status;
  }

  const Case& x_;
  const Arguments& y_;
  const Section& s_;
  cublasOperation_t op_a_, op_b_;
  int m_, n_, k_, lda_, ldb_, ldc_;
  E *a_, *b_, *c_;
  const E *alpha_, *beta_;
};

}  // namespace

cublasStatus_t call(const Case& x, const Arguments& arguments) {
  switch (x.scalar) {
    case Scalar::kF32:
      return Call<float>(x, arguments).make();
    case Scalar::kF64:
      return Call<double>(x, arguments).make();
    case Scalar::kC64:
      return Call<cuComplex>(x, arguments).make();
    default:
      return Call<cuDoubleComplex>(x, arguments).make();
  }
}

}  // namespace gpu_soak
