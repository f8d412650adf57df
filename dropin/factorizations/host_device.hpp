// SPDX-License-Identifier: MIT
// Functions that a kernel's threads call on a device, and a test's loops on a host.
#pragma once

#if defined(__CUDACC__)
#define FACTORIZATIONS_BOTH __host__ __device__
#else
#define FACTORIZATIONS_BOTH
#endif
#if defined(__CUDA_ARCH__)
#define FACTORIZATIONS_UNROLL _Pragma("unroll")
#else
#define FACTORIZATIONS_UNROLL
#endif
