// SPDX-License-Identifier: MIT
// What is known of programs, apart from devices: how much of a roof their kernels reach. Every constant is fitted on one
// card and used on all (docs/predict.md has the fits); none is of a single card, and none is changed to meet a table.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "model/roofs.hpp"

namespace kizami::model {

/// How products of low precision reach their rate: tiles of one launch, or calls of a library by their size.
struct ProductModel {
  // Tiles, one after another on each multiprocessor: rounds * (operations / share of the rate + uncovered cycles).
  int tile_i = 0;
  int tile_j = 0;
  double share = 0;
  double uncovered_cycles = 0;  ///< of a tile: its start and its store
  // The limit of power: beyond `cool_seconds` the rate falls by `slope` of itself for each factor e, to `least`.
  double cool_seconds = 1;
  double slope = 0;
  double least = 1;
  /// n of a square call and the share of the sheet's rate that it reaches, launch included; not empty: instead of tiles.
  std::span<const std::pair<double, double>> share_by_size;
};

/// Scheme ozaki2. @units cycles of a multiprocessor and instructions, of an element and a plane of it
struct ResidueModel {
  bool reduces_in_product = false;  ///< else INT32 sums are read again, one launch a product
  double split_cycles = 0;
  double split_cycles_complex = 0;
  double split_fp64 = 0;       ///< instructions
  double split_fp64_weak = 0;  ///< where FP64 instructions are rare: another form of the kernel
  double reduce_cycles = 0;    ///< of an INT32 sum
  double crt_cycles = 0;
  double crt_cycles_complex = 0;
  double crt_fp64 = 0;
  double crt_fp64_weak = 0;
  double crt_int32_weak = 0;     ///< instructions, by limbs
  int complex_products = 0;      ///< real ones, of a modulus; 0: as num::num_planes() has it
  double certificate_share = 0;  ///< of the rate of products; 0: it has none
  double split_launches = 0;
  double extra_launches = 0;  ///< of small kernels around a call
};

/// Slices. @units cycles of an element and a slice, of an element and a sum
struct SliceModel {
  double split_cycles = 0;
  double sum_cycles = 0;            ///< all sums of an element in one pass
  double sum_in_memory_cycles = 0;  ///< one sum after another, C in memory
  bool has_fused_sums = false;
  bool is_one_launch = false;  ///< of all products
  double scaling_bytes = 0;    ///< of an element of C: a pass for alpha and beta
};

struct Program {
  double copy_share = 0;
  double launch_seconds = 0;
  ProductModel products;
  ResidueModel residues;  ///< planes == 0: no such scheme
  SliceModel slices;
  bool has_residues = false;
  bool has_slices = false;
};

[[nodiscard]] const Program& program_of(ProgramName name);
/// Products of cuBLAS in FP32 and FP64.
[[nodiscard]] const ProductModel& native_products();

/// Products of one shape that a phase does: `num_products` of m x n x k, summed into `num_results`.
struct Products {
  Format format = Format::kInt8;
  double m = 0;
  double n = 0;
  double k = 0;
  double num_products = 1;
  double num_results = 1;  ///< planes of sums
};
/// The share of the rate that they reach. @param is_sustained  minutes into a run, at the limit of power
[[nodiscard]] double share_reached(const ProductModel& model, const Products& products, const Rates& rates,
                                   bool is_sustained);

/// Linear in log n between points; below the first in proportion to n, beyond the last as there. @range not empty
[[nodiscard]] double by_size(std::span<const std::pair<double, double>> points, double n);

}  // namespace kizami::model
