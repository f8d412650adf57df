// SPDX-License-Identifier: MIT
// The platform BLAS through CBLAS, for strided views: the scheme `native`, and the FP64 arithmetic of last resort where
// its bound is enough. It rounds as it likes, so it is not a product::Engine.
#pragma once

#include <type_traits>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "product/native_engine.hpp"

namespace kizami::engines {

/// C = alpha A B + beta C by the platform BLAS.
/// @shape  A: m x k, B: k x n, C: m x n; each view is column-major (row_stride 1) or row-major (col_stride 1), and may
///         be the transpose of what was stored. The stride of a dimension of one element or none does not matter.
/// @range  threads >= 1, or 0 to leave the BLAS's own number; strides up to INT_MAX. Dimensions above INT_MAX are
///         split. beta = 0 does not read C. m, n, k may be 0; k = 0 gives C = beta C.
/// @status kOk; kInvalidArgument (shapes differ, a negative dimension or thread count); kUnsupported (a view without
///         unit stride, overlapping elements, a stride above INT_MAX), with the reason
/// @alias  C overlaps neither A nor B.
/// @queue  safe from several threads and after fork. The number of threads is a setting of the whole process in
///         OpenBLAS: it is set for the call and then restored; of concurrent calls that ask for different numbers, the
///         first decides. A BLAS without openblas_set_num_threads uses as many threads as it likes.
template <class T>
[[nodiscard]] Status native_gemm(std::type_identity_t<MatrixView<const T>> A,
                                 std::type_identity_t<MatrixView<const T>> B, std::type_identity_t<T> alpha,
                                 std::type_identity_t<T> beta, MatrixView<T> C, int threads);

/// The same as scheme native sees it.
[[nodiscard]] const product::NativeEngine& native_blas_engine();

namespace detail {

/// The same with dimensions split at max_dim instead of INT_MAX, so that a test can reach the splitting.
[[nodiscard]] Status native_gemm_split(MatrixView<const double> A, MatrixView<const double> B, double alpha,
                                       double beta, MatrixView<double> C, int threads, int max_dim);

}  // namespace detail
}  // namespace kizami::engines
