/* SPDX-License-Identifier: MIT
 * One product on several CUDA devices, for C: the bits and the bound of the call on one (kizami_cuda_gemm), whatever the
 * devices and wherever the matrices lie. The rules of kizami.h hold here. */
#ifndef KIZAMI_MULTI_H
#define KIZAMI_MULTI_H

#include <stdint.h>

#include "kizami/export.h"
#include "kizami/kizami.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most devices that share a product. */
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

#ifdef __cplusplus
}
#endif

#endif
