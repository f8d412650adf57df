// SPDX-License-Identifier: MIT
// What decides the layout and meaning of the host implementation of cuda::tiles in one translation unit, folded into
// the name of an inline namespace: units that differ in one of these never share a symbol.
//   KIZAMI_TILE_DEBUG         defined by the user: tiles carry which elements are defined, and everything is checked
//   KIZAMI_TILE_OWN_FORMATS   defined by the user: __half and its kin are Kizami's even where CUDA's headers are found
#pragma once

#if !defined(KIZAMI_TILE_OWN_FORMATS) && defined(__has_include)
#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp8.h>)
#define KIZAMI_TILE_HAS_CUDA_FORMATS 1
#if __has_include(<cuda_tf32.h>)  // CUDA 13.3 and newer
#define KIZAMI_TILE_HAS_CUDA_TF32 1
#endif
#endif
#endif

#if defined(KIZAMI_TILE_DEBUG)
#if defined(KIZAMI_TILE_HAS_CUDA_TF32)
#define KIZAMI_TILE_ABI cpu_debug_cuda_tf32
#elif defined(KIZAMI_TILE_HAS_CUDA_FORMATS)
#define KIZAMI_TILE_ABI cpu_debug_cuda
#else
#define KIZAMI_TILE_ABI cpu_debug_own
#endif
#else
#if defined(KIZAMI_TILE_HAS_CUDA_TF32)
#define KIZAMI_TILE_ABI cpu_cuda_tf32
#elif defined(KIZAMI_TILE_HAS_CUDA_FORMATS)
#define KIZAMI_TILE_ABI cpu_cuda
#else
#define KIZAMI_TILE_ABI cpu_own
#endif
#endif

/// The inline namespace in which users put their kernels, for the same reason.
#define KIZAMI_TILE_BACKEND KIZAMI_TILE_ABI

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

/// Whether this unit is compiled with the checks of the debug mode (tile/docs/debug.md).
#if defined(KIZAMI_TILE_DEBUG)
inline constexpr bool kDebug = true;
#else
inline constexpr bool kDebug = false;
#endif

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
