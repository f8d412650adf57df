// SPDX-License-Identifier: MIT
// What every engine for signed bytes demands of a ProductDesc: the @range of product.hpp, each limit with its reason.
// Also the sizes that follow from it. An engine may demand more, never less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/int_math.hpp"
#include "engines/modulus_constants.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// The largest offset (planes - 1) * plane_stride + (lines - 1) * line_stride + elems, or nothing if it leaves int64.
/// @range every argument >= 0
[[nodiscard]] inline std::optional<std::int64_t> extent(std::int64_t planes, std::int64_t plane_stride,
                                                        std::int64_t lines, std::int64_t line_stride,
                                                        std::int64_t elems) {
  if (planes == 0 || lines == 0) return 0;
  std::int64_t plane_part = 0;
  std::int64_t line_part = 0;
  std::int64_t sum = 0;
  if (__builtin_mul_overflow(planes - 1, plane_stride, &plane_part) ||
      __builtin_mul_overflow(lines - 1, line_stride, &line_part) ||
      __builtin_add_overflow(plane_part, line_part, &sum) || __builtin_add_overflow(sum, elems, &sum)) {
    return std::nullopt;
  }
  return sum;
}

/// What not every engine does.
struct Abilities {
  bool compares = false;          ///< the epilogue kCompare
  bool takes_windows = false;     ///< ProductDesc::windows
  bool takes_floats = false;      ///< floating-point formats; an engine may refuse some
  bool promotes_sums = false;     ///< Engine::promotes_sums()
  bool repeats_moduli = false;    ///< ProductDesc::planes_of_modulus beyond 1
  bool takes_unsigned = false;    ///< ProductDesc::has_unsigned_bytes
  bool needs_odd_moduli = false;  ///< but for 256: modulus_constants.hpp
};

namespace detail {

[[nodiscard]] inline std::string wrong(const std::string& argument, std::int64_t value, const std::string& limit) {
  return argument + " = " + std::to_string(value) + ", must be " + limit;
}

[[nodiscard]] inline std::optional<std::string> why_operand_refused(const std::string& letter,
                                                                    const product::ProductDesc& d, std::int64_t rows,
                                                                    std::int64_t row_stride, std::int64_t plane_stride,
                                                                    std::int64_t num_planes) {
  const std::int64_t padded_k = base::round_up(d.k, product::kPadBytes);
  if (row_stride < padded_k || row_stride % product::kPadBytes != 0) {
    return wrong(letter + "_row_stride", row_stride,
                 "a multiple of 64 and at least round_up(k, 64) = " + std::to_string(padded_k));
  }
  if (plane_stride < 0 || plane_stride % product::kPadBytes != 0) {
    return wrong(letter + "_plane_stride", plane_stride, "a multiple of 64 and not negative");
  }
  if (!extent(num_planes, plane_stride, rows, row_stride, padded_k)) {
    return "the planes of " + letter + " do not fit in 64-bit offsets";
  }
  return std::nullopt;
}

[[nodiscard]] inline std::optional<std::string> why_windows_refused(const product::ProductDesc& d) {
  if (d.num_windows < d.num_products || d.num_windows > product::kMaxWindows) {
    return wrong("num_windows", d.num_windows,
                 "in num_products..32 = " + std::to_string(d.num_products) + "..32 (kMaxWindows)");
  }
  if (d.epilogue != product::Epilogue::kStoreAcc) return "windows need the epilogue kStoreAcc";
  int planes = 0;
  std::int64_t plane_k = 0;
  for (int l = 0; l < d.num_windows; ++l) {
    const product::Window& w = d.windows[static_cast<std::size_t>(l)];
    const std::string name = "windows[" + std::to_string(l) + "].";
    if (l == 0 && w.is_added) return name + "is_added = true, must be false: no window is before it";
    planes += w.is_added ? 0 : 1;
    plane_k = w.k + (w.is_added ? plane_k : 0);
    if (w.k < 1 || w.k > d.k) return wrong(name + "k", w.k, "in 1..k = " + std::to_string(d.k));
    if (w.a_plane < 0) return wrong(name + "a_plane", w.a_plane, "not negative");
    if (w.b_plane < 0) return wrong(name + "b_plane", w.b_plane, "not negative");
    const std::int64_t padded_k = base::round_up(w.k, product::kWindowPad);
    const auto is_inside = [&](std::int64_t first, std::int64_t row_stride) {
      return first >= 0 && first % product::kWindowPad == 0 && first <= row_stride - padded_k;
    };
    const std::string limit = "a multiple of 128, with the window inside its row";
    if (!is_inside(w.a_first, d.a_row_stride)) return wrong(name + "a_first", w.a_first, limit);
    if (!is_inside(w.b_first, d.b_row_stride)) return wrong(name + "b_first", w.b_first, limit);
    if (plane_k > product::kBlockMaxI8) {
      return wrong(name + "k", w.k,
                   "such that its plane has at most 2^17 = 131072 elements of k (kBlockMaxI8), got " +
                       std::to_string(plane_k) + ": beyond it a sum of signed bytes leaves INT32");
    }
  }
  if (planes != d.num_products)
    return wrong("num_products", d.num_products, "the windows that are not added, " + std::to_string(planes));
  return std::nullopt;
}

[[nodiscard]] inline std::optional<std::string> why_floats_refused(const product::ProductDesc& d,
                                                                   const Abilities& abilities) {
  const std::string format(to_string(d.format));
  if (!abilities.takes_floats) return "format = " + format + ", must be int8 for this engine";
  if (d.num_windows == 0) return "format = " + format + " needs windows";
  if (d.exact_k < product::kPadBytes || (d.exact_k & (d.exact_k - 1)) != 0)
    return wrong("exact_k", d.exact_k, "a power of two and at least 64");
  if (d.num_windows != d.num_products)
    return wrong("num_windows", d.num_windows, "num_products for format = " + format + ": only int8 adds windows");
  if (!abilities.promotes_sums && d.k > d.exact_k) {
    return wrong("k", d.k,
                 "at most exact_k = " + std::to_string(d.exact_k) + ": beyond it the FP32 sums of " + format +
                     " products round");
  }
  return std::nullopt;
}

/// Elements of C must be distinct: planes one after another, or columns of all planes interleaved.
[[nodiscard]] inline std::optional<std::string> why_result_refused(const product::ProductDesc& d) {
  if (d.c_col_stride < d.m) return wrong("c_col_stride", d.c_col_stride, "at least m = " + std::to_string(d.m));
  if (d.c_plane_stride < 0) return wrong("c_plane_stride", d.c_plane_stride, "not negative");
  const auto plane_elems = extent(1, 0, d.n, d.c_col_stride, d.m);
  const auto column_elems = extent(1, 0, d.num_products, d.c_plane_stride, d.m);
  if (!plane_elems || !column_elems || !extent(d.num_products, d.c_plane_stride, d.n, d.c_col_stride, d.m)) {
    return "the planes of C do not fit in 64-bit offsets";
  }
  const bool is_consecutive = d.num_products <= 1 || d.c_plane_stride >= *plane_elems;
  const bool is_interleaved = d.n <= 1 || (d.c_plane_stride >= d.m && d.c_col_stride >= *column_elems);
  if (!is_consecutive && !is_interleaved) {
    return wrong(
        "c_plane_stride", d.c_plane_stride,
        "at least (n - 1) * c_col_stride + m = " + std::to_string(*plane_elems) + ", for planes of C may not overlap");
  }
  return std::nullopt;
}

}  // namespace detail

/// Planes of an operand that a product reads.
struct NumPlanes {
  std::int64_t a = 0;
  std::int64_t b = 0;
};
[[nodiscard]] inline NumPlanes num_planes_read(const product::ProductDesc& d) {
  if (d.num_windows == 0) return {d.num_products, d.num_products};
  NumPlanes planes;
  for (int l = 0; l < d.num_windows; ++l) {
    const product::Window& w = d.windows[static_cast<std::size_t>(l)];
    planes.a = std::max<std::int64_t>(planes.a, w.a_plane + std::int64_t{1});
    planes.b = std::max<std::int64_t>(planes.b, w.b_plane + std::int64_t{1});
  }
  return planes;
}

/// The sentence that says why `d` breaks the @range of ProductDesc or wants what the engine has not, or nothing.
[[nodiscard]] inline std::optional<std::string> why_refused(const product::ProductDesc& d,
                                                            const Abilities& abilities = {}) {
  using detail::wrong;
  if (d.m < 0) return wrong("m", d.m, "not negative");
  if (d.n < 0) return wrong("n", d.n, "not negative");
  if (d.k < 0 || d.k > product::kBlockMaxI8) {
    return wrong("k", d.k, "in 0..2^17 = 131072 (kBlockMaxI8): beyond it a sum of signed bytes leaves INT32");
  }
  if (d.planes_of_modulus != 1) {
    if (!abilities.repeats_moduli) return wrong("planes_of_modulus", d.planes_of_modulus, "1 for this engine");
    if (d.planes_of_modulus < 1 || d.planes_of_modulus > product::kMaxPlanesOfModulus)
      return wrong("planes_of_modulus", d.planes_of_modulus, "in 1..7 (kMaxPlanesOfModulus)");
    if (d.epilogue != product::Epilogue::kReduce || d.num_windows != 0)
      return wrong("planes_of_modulus", d.planes_of_modulus, "1 but for the epilogue kReduce without windows");
  }
  if (d.num_products < 0 || d.num_products > product::kMaxProducts * d.planes_of_modulus) {
    return wrong("num_products", d.num_products,
                 "in 0.." + std::to_string(product::kMaxProducts * d.planes_of_modulus) +
                     " (kMaxProducts planes, each of another modulus)");
  }
  switch (d.epilogue) {
    case product::Epilogue::kStoreAcc:
      break;
    case product::Epilogue::kReduce:
    case product::Epilogue::kReduceAdd:
      for (int l = 0; l * d.planes_of_modulus < d.num_products; ++l) {
        const int modulus = d.moduli[static_cast<std::size_t>(l)];
        if (modulus < 2 || modulus > 256) return wrong("moduli[" + std::to_string(l) + "]", modulus, "in 2..256");
        if (abilities.needs_odd_moduli && !has_modulus_constants(modulus))
          return wrong("moduli[" + std::to_string(l) + "]", modulus, "256 or odd for this engine");
      }
      break;
    case product::Epilogue::kCompare:
      if (!abilities.compares) return "epilogue = kCompare, which this engine does not have";
      if (d.k < 1) return wrong("k", d.k, "at least 1 for the epilogue kCompare");
      break;
    default:
      return wrong("epilogue", static_cast<int>(d.epilogue), "kStoreAcc, kReduce, kReduceAdd or kCompare");
  }
  if (d.num_windows != 0) {
    if (!abilities.takes_windows)
      return "num_windows = " + std::to_string(d.num_windows) + ", which this engine does not have";
    if (auto reason = detail::why_windows_refused(d)) return reason;
  }
  if (d.format != SliceFormat::kInt8) {
    if (auto reason = detail::why_floats_refused(d, abilities)) return reason;
  }
  if (d.has_unsigned_bytes) {
    if (!abilities.takes_unsigned) return "has_unsigned_bytes = true, must be false for this engine";
    if (d.epilogue != product::Epilogue::kReduce || d.num_windows != 0 || d.format != SliceFormat::kInt8)
      return "has_unsigned_bytes = true, must be false but for the epilogue kReduce of int8 without windows";
    if (d.k > product::kBlockMaxU8) {
      return wrong("k", d.k,
                   "at most " + std::to_string(product::kBlockMaxU8) +
                       " (kBlockMaxU8): beyond it a sum of bytes without sign leaves INT32");
    }
  }
  const NumPlanes planes = num_planes_read(d);
  if (auto reason = detail::why_operand_refused("a", d, d.m, d.a_row_stride, d.a_plane_stride, planes.a)) return reason;
  if (auto reason = detail::why_operand_refused("b", d, d.n, d.b_row_stride, d.b_plane_stride, planes.b)) return reason;
  return d.epilogue == product::Epilogue::kCompare ? std::nullopt : detail::why_result_refused(d);
}

/// The same for the pointers of a call whose description is in range.
[[nodiscard]] inline std::optional<std::string> why_refused(const product::ProductDesc& d,
                                                            const product::Pointers& pointers) {
  if (d.m == 0 || d.n == 0 || d.num_products == 0) return std::nullopt;
  const auto is_aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % product::kPadBytes == 0; };
  if (pointers.c == nullptr) return "c is null";
  if (d.k == 0) return std::nullopt;
  if (pointers.a == nullptr || !is_aligned(pointers.a)) return "a is null or not aligned to 64 bytes";
  if (pointers.b == nullptr || !is_aligned(pointers.b)) return "b is null or not aligned to 64 bytes";
  if (d.epilogue == product::Epilogue::kCompare) {
    if (pointers.a_weights == nullptr || reinterpret_cast<std::uintptr_t>(pointers.a_weights) % 16 != 0)
      return "a_weights is null or not aligned to 16 bytes";
    if (pointers.b_weights == nullptr || reinterpret_cast<std::uintptr_t>(pointers.b_weights) % 16 != 0)
      return "b_weights is null or not aligned to 16 bytes";
  }
  return std::nullopt;
}

}  // namespace kizami::engines
