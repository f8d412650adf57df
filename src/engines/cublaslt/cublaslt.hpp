// SPDX-License-Identifier: MIT
// Engine cublaslt: the vendor's INT8 product, planes in one strided batch where that is faster, and a kernel of ours
// that reduces INT32 accumulators to residues. Windows of FP16 and BF16 by the vendor's product with FP32 sums, which
// are whole numbers, and a kernel that makes them INT32. libcublasLt is opened at run time: without it the engine
// refuses.
#pragma once

#include <cstddef>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// @range  device memory; rows of A and B on 16-byte boundaries; rows up to round_up(m, 16) and round_up(n, 16)
///         readable, columns of C up to round_up(m, 16) writable: what lies there is not looked at. INT32 results: c on
///         16 bytes, strides multiples of 4. FP16 and BF16: k <= exact_k; FP8 is refused
/// Makes all desc.num_products planes, whatever Pointers::num_products says.
[[nodiscard]] const product::Engine& cublaslt_engine();

/// Opens the library and makes its handle for a device, so that run() need not (a captured stream forbids it).
/// @status kUnsupported: no libcublasLt of a known version, or it refuses
[[nodiscard]] Status prepare_cublaslt(int device);

/// Algorithms that are kept for products to come; the least recently used goes first.
inline constexpr std::size_t kMostAlgorithms = 1024;
/// As many are kept now, of all devices.
[[nodiscard]] std::size_t num_known_algorithms();

}  // namespace kizami::engines
