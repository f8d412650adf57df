// SPDX-License-Identifier: MIT
#include <cublasLt.h>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// A descriptor of cuBLASLt with attributes.
class Layout {
 public:
  Layout(cudaDataType type, int rows, int cols, int ld, bool is_by_rows) {
    check(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                                     ld),
          "cublasLtMatrixLayoutCreate");
    const std::int32_t order = is_by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order), "order");
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { static_cast<void>(cublasLtMatrixLayoutDestroy(layout_)); }
  [[nodiscard]] cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  Description(cublasComputeType_t compute, cudaDataType type, cublasOperation_t op_a, cublasOperation_t op_b) {
    check(cublasLtMatmulDescCreate(&description_, compute, type), "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op_b);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() { static_cast<void>(cublasLtMatmulDescDestroy(description_)); }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), "attribute");
  }
  [[nodiscard]] cublasLtMatmulDesc_t get() const { return description_; }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

cublasOperation_t other(cublasOperation_t op) { return op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N; }

/// The product of `x` by cublasLtMatmul, with the matrices by columns as they are, or taken for transposed ones by
/// rows.
template <class T>
cublasStatus_t matmul(cublasLtHandle_t lt, const Handle& handle, OnDevice<T>& x, T alpha, T beta, bool is_by_rows,
                      cublasLtEpilogue_t epilogue) {
  constexpr bool kIsF64 = sizeof(typename PartOf<T>::Type) == 8;
  const cudaDataType type = kIsComplex<T> ? (kIsF64 ? CUDA_C_64F : CUDA_C_32F) : (kIsF64 ? CUDA_R_64F : CUDA_R_32F);
  const Shape& s = x.problem.shape();
  const bool is_a_plain = s.op_a == CUBLAS_OP_N;
  const bool is_b_plain = s.op_b == CUBLAS_OP_N;
  const int rows_a = is_a_plain ? s.m : s.k, cols_a = is_a_plain ? s.k : s.m;
  const int rows_b = is_b_plain ? s.k : s.n, cols_b = is_b_plain ? s.n : s.k;
  Description description(kIsF64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, type, is_by_rows ? other(s.op_a) : s.op_a,
                          is_by_rows ? other(s.op_b) : s.op_b);
  description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  const Layout a = is_by_rows ? Layout(type, cols_a, rows_a, x.problem.lda(), true)
                              : Layout(type, rows_a, cols_a, x.problem.lda(), false);
  const Layout b = is_by_rows ? Layout(type, cols_b, rows_b, x.problem.ldb(), true)
                              : Layout(type, rows_b, cols_b, x.problem.ldb(), false);
  const Layout c(type, s.m, s.n, x.problem.ldc(), false);
  return cublasLtMatmul(lt, description.get(), &alpha, x.a.data(), a.get(), x.b.data(), b.get(), &beta, x.c.data(),
                        c.get(), x.c.data(), c.get(), nullptr, nullptr, 0, handle.stream());
}

template <class T>
void check_matmul(cublasLtHandle_t lt, const Handle& handle) {
  const Shape shape{CUBLAS_OP_N, CUBLAS_OP_T, 300, 200, 400};
  const T alpha = make<T>(1.25, -0.5), beta = make<T>(-0.75, 0.25);
  handle.set(CUBLAS_POINTER_MODE_HOST);
  OnDevice<T> x(shape, 51);
  check(x.multiply(handle.get(), &alpha, &beta), "gemm");
  const std::vector<T> by_gemm = x.c.download();
  for (const bool is_by_rows : {false, true}) {
    const std::string name = name_of<T>(is_by_rows ? "cublasLtMatmul, by rows" : "cublasLtMatmul", shape);
    guarded(name, [&] {
      x.reset_c();
      const cublasStatus_t status = matmul(lt, handle, x, alpha, beta, is_by_rows, CUBLASLT_EPILOGUE_DEFAULT);
      if (!expects_kizami && status == CUBLAS_STATUS_NOT_SUPPORTED) {
        report(name, "", "not supported by cuBLASLt");
        return;
      }
      check(status, "cublasLtMatmul");
      const std::vector<T> got = x.c.download();
      report(name, x.problem.judge(got, alpha, beta));
      expect_same_bits(name, by_gemm, got);
    });
  }
}

/// What is more than a product is left to cuBLASLt, with its status.
void check_epilogue(cublasLtHandle_t lt, const Handle& handle) {
  guarded("cublasLtMatmul, ReLU", [&] {
    OnDevice<float> x({CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256}, 52);
    check(matmul(lt, handle, x, 1.0F, 0.0F, false, CUBLASLT_EPILOGUE_RELU), "cublasLtMatmul");
    const std::vector<float> got = x.c.download();
    bool is_rectified = true;
    for (int j = 0; j < 256; ++j) {
      for (int i = 0; i < 256; ++i)
        is_rectified &= got[std::size_t(i) + std::size_t(j) * std::size_t(x.problem.ldc())] >= 0;
    }
    report("cublasLtMatmul, ReLU", is_rectified ? "" : "an element is negative");
  });
}

}  // namespace

void check_lt(const Handle& handle) {
  guarded("cuBLASLt", [&] {
    cublasLtHandle_t lt = nullptr;
    check(cublasLtCreate(&lt), "cublasLtCreate");
    check_matmul<float>(lt, handle);
    check_matmul<double>(lt, handle);
    check_matmul<std::complex<float>>(lt, handle);
    check_matmul<std::complex<double>>(lt, handle);
    check_epilogue(lt, handle);
    check(cublasLtDestroy(lt), "cublasLtDestroy");
  });
}

}  // namespace preload_check
