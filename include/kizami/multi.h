/* SPDX-License-Identifier: MIT
 * One product on several CUDA devices, for C: the bits and the bound of the call on one (kizami_cuda_gemm), whatever the
 * devices and wherever the matrices lie; and one triangle of a matrix times itself. The rules of kizami.h hold here. */
#ifndef KIZAMI_MULTI_H
#define KIZAMI_MULTI_H

#include <stdint.h>

#include "kizami/export.h"
#include "kizami/kizami.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most devices that share a product or a triangle. */
#define KIZAMI_MOST_DEVICES 8

/* C <- alpha op(A) op(B) + beta C on 1 to KIZAMI_MOST_DEVICES devices, by CUDA's numbers; one that is named several
 * times is taken for as many. Each matrix lies in one piece, in the memory of any device or of the host; page-locked
 * memory of the host travels while devices compute. alpha and beta are in host memory. Begins after what the default
 * streams of the devices have, and returns when C is written. policy and outcome may be NULL.
 * KIZAMI_UNSUPPORTED: no such device, a library without CUDA, or a scheme that takes one device. An error of a device
 * names it, and C may then be written in part. */
KIZAMI_API kizami_status kizami_multi_gemm(const int* devices, int num_devices, kizami_scalar scalar,
                                           kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n,
                                           int64_t k, const void* alpha, const void* a, int64_t lda, const void* b,
                                           int64_t ldb, const void* beta, void* c, int64_t ldc,
                                           const kizami_policy* policy, kizami_outcome* outcome);

/* One triangle of C <- alpha op(A) op(A)^T + beta C, what BLAS calls syrk, or of alpha op(A) op(A)^H + beta C, herk, on
 * devices as above. op(A) is n x k, with any of the four op; C is n x n. The bits and the outcome that kizami_cuda_gemm()
 * gives the product by KIZAMI_SCHEME_OZAKI2.
 * is_lower: 1: the elements C(i, j) with i >= j; 0: those with i <= j. The others are neither read nor written.
 * is_hermitian: 1: op(A)^H; imaginary parts of alpha and beta must be 0, those of the diagonal of C count as 0 and become
 *   0. Real types: as 0.
 * Matrices, factors, policy, outcome, order and errors as kizami_multi_gemm(). KIZAMI_INVALID_ARGUMENT also: is_lower or
 *   is_hermitian is neither 0 nor 1. KIZAMI_UNSUPPORTED also: another scheme than KIZAMI_SCHEME_OZAKI2, which
 *   KIZAMI_SCHEME_AUTO means here, or an engine that leaves no triangle out (KIZAMI_ENGINE_HOPPER does). */
KIZAMI_API kizami_status kizami_multi_syrk(const int* devices, int num_devices, kizami_scalar scalar,
                                           kizami_layout layout, int is_lower, int is_hermitian, kizami_op op,
                                           int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                                           const void* beta, void* c, int64_t ldc, const kizami_policy* policy,
                                           kizami_outcome* outcome);

#ifdef __cplusplus
}
#endif

#endif
