// SPDX-License-Identifier: MIT
// The products that every engine of its own kernels is tried with in device memory. Each function hands them to
// `expect`, which runs one and compares it, and stops at the first failure.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/product_on_device.hpp"

namespace kizami::engines {

/// All pairs of lengths with every epilogue. The axes that a shape does not decide take turns; k takes every value with
/// every m.
template <class Expect>
void expect_tile_edges(const std::vector<std::int64_t>& lengths, const Expect& expect) {
  const std::vector<std::int64_t> ks = {1, 2, 16, 63, 64, 65, 127, 128, 129, 300};
  int i_case = 0;
  for (const auto m : lengths) {
    for (const auto n : lengths) {
      for (const Epilogue epilogue : kEpilogues) {
        const int i = i_case++;
        expect(
            HostProduct({.m = m,
                         .n = n,
                         .k = ks[static_cast<std::size_t>(i) % ks.size()],
                         .moduli = i % 2 == 0 ? std::vector<std::int16_t>{256, 255}
                                              : std::vector<std::int16_t>{static_cast<std::int16_t>(3 + 2 * (i % 127))},
                         .epilogue = epilogue,
                         .fill = i % 5 == 0 ? Fill::kBytes : Fill::kResidues,
                         .extra_k = i % 7 == 0 ? 64 : 0,
                         .extra_rows = i % 4 == 0 ? (16 - m % 16) % 16 : i % 4,
                         .interleaves_planes = i % 11 == 0}));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

template <class Expect>
void expect_alignments_of_columns(const Expect& expect) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const std::int64_t extra : {0, 1, 2, 4, 8, 12, 16, 17}) {
      expect(HostProduct(
          {.m = 144, .n = 70, .k = 100, .moduli = {256, 253, 251}, .epilogue = epilogue, .extra_rows = extra}));
      HostProduct shifted({.m = 144, .n = 70, .k = 100, .moduli = {256, 253}, .epilogue = epilogue});
      // The storage ends with a guard of 64 bytes.
      shifted.c_offset += epilogue == Epilogue::kStoreAcc ? 4 : static_cast<std::size_t>(extra);
      expect(std::as_const(shifted));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// visit(moduli): fifty or so at a time, all that the engine has. @param is_taken(p)  whether it has p
template <class IsTaken, class Visit>
void for_every_modulus(const IsTaken& is_taken, const Visit& visit) {
  for (int first = 2; first <= 256; first += 51) {
    std::vector<std::int16_t> moduli;
    for (int p = first; p < first + 51; ++p) {
      if (is_taken(p)) moduli.push_back(static_cast<std::int16_t>(p));
    }
    visit(moduli);
    if (::testing::Test::HasFailure()) return;
  }
}

template <class Expect, class IsTaken>
void expect_every_modulus(const Expect& expect, const IsTaken& is_taken) {
  for (const Epilogue epilogue : {Epilogue::kReduce, Epilogue::kReduceAdd}) {
    for (const Fill fill : {Fill::kResidues, Fill::kLowest, Fill::kHighest, Fill::kBytes}) {
      for_every_modulus(is_taken, [&](const std::vector<std::int16_t>& moduli) {
        expect(HostProduct({.m = 80, .n = 33, .k = 201, .moduli = moduli, .epilogue = epilogue, .fill = fill}));
      });
    }
  }
}

template <class Expect>
void expect_numbers_of_planes(const Expect& expect) {
  for (const std::size_t planes : {1U, 2U, 3U, 14U, 17U, 49U, 64U}) {
    for (const Epilogue epilogue : kEpilogues) {
      const std::vector<std::int16_t> moduli = first_moduli(planes);
      expect(HostProduct({.m = 200, .n = 130, .k = 65, .moduli = moduli, .epilogue = epilogue}));
      expect(HostProduct(
          {.m = 272, .n = 257, .k = 300, .moduli = moduli, .epilogue = epilogue, .interleaves_planes = true}));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// More tiles than a device works on at a time, and rows of tiles of one column.
template <class Expect>
void expect_many_tiles(const Expect& expect) {
  for (const Epilogue epilogue : kEpilogues) {
    expect(HostProduct({.m = 1000, .n = 900, .k = 500, .moduli = first_moduli(14), .epilogue = epilogue}));
    expect(HostProduct({.m = 1936, .n = 1600, .k = 384, .moduli = first_moduli(5), .epilogue = epilogue}));
  }
  expect(HostProduct({.m = 4999, .n = 3, .k = 67, .moduli = first_moduli(14)}));
  expect(HostProduct({.m = 3, .n = 4999, .k = 67, .moduli = first_moduli(14)}));
}

template <class Expect>
void expect_empty_dimensions(const Expect& expect) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{0, 5, 7}, {5, 0, 7}, {5, 7, 0}, {0, 0, 0}, {64, 9, 0}, {300, 200, 0}}) {
      expect(HostProduct({.m = m, .n = n, .k = k, .moduli = {256, 13}, .epilogue = epilogue, .extra_rows = 2}));
    }
    expect(HostProduct({.m = 3, .n = 4, .k = 5, .moduli = {}, .epilogue = epilogue}));
  }
}

/// Planes that share their lines, and planes side by side: every line of a case without extra_k is as good as any
/// other.
template <class Expect>
void expect_shared_and_interleaved_operands(const Expect& expect) {
  HostProduct shared({.m = 272, .n = 140, .k = 128, .moduli = {256, 255, 253}});
  shared.desc.b_plane_stride = 0;  // every plane has the lines of plane 0
  shared.name += " shared B";
  expect(std::as_const(shared));
  shared.desc.a_plane_stride = 0;
  expect(std::as_const(shared));
  HostProduct interleaved({.m = 272, .n = 140, .k = 128, .moduli = {256, 255, 253}});
  interleaved.name += " operands interleaved";
  for (auto* const strides : {&interleaved.desc.a_row_stride, &interleaved.desc.b_row_stride}) *strides = 3 * 128;
  for (auto* const strides : {&interleaved.desc.a_plane_stride, &interleaved.desc.b_plane_stride}) *strides = 128;
  expect(std::as_const(interleaved));
}

}  // namespace kizami::engines
