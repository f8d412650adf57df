// SPDX-License-Identifier: MIT
// What is known of programs, apart from devices: how much of a roof their kernels reach. Every constant is fitted on one
// card and used on all (docs/predict.md has the fits); none is of a single card, and none is changed to meet a table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "model/roofs.hpp"

namespace kizami::model {

/// A form of a kernel that multiplies: its tile, and the share of the rate that a multiprocessor reaches in it.
struct TileForm {
  int i = 0;
  int j = 0;
  double share = 0;
  double uncovered_cycles = 0;  ///< of a tile, beside those of the program
};

/// How products reach their rate: tiles of a launch, or calls of a library by their size.
struct ProductModel {
  // Tiles, by the form that ends first, or by a rule of the program's. Equal ones go in rounds over the multiprocessors, those of unequal sums one after
  // another as multiprocessors are free: none ends before its longest tile does.
  std::span<const TileForm> forms = {};
  double few_bytes =
      0;  ///< not 0: the first form, but the second where lines are fewer than 129 or a plane's have fewer bytes
  double uncovered_cycles = 0;  ///< of a tile: its start and its store
  bool cuts_k = false;          ///< into 2, 4, 8 ... parts, where tiles are fewer than multiprocessors
  /// Not 0: the largest form of which a multiprocessor has so many tiles of one product, or one where k is longer than `long_k`, or else the last one.
  double least_rounds = 0;
  double long_k = 0;
  bool is_library = false;    ///< rates that were measured of it on a card stand for its shares there, and for `least`
  double result_bytes = 0;    ///< of an element of a result, stored when its tile is done
  double triangle_share = 1;  ///< of the share, of the kernel that walks one triangle in squares of tiles
  // Outside of tensor cores.
  double fp32_share = 1;           ///< of the share
  double fp32_slope = 0;           ///< instead of `slope`
  bool fp32_parts_launch = false;  ///< parts of k are added by a kernel of their own
  // The limit of power: beyond `cool_seconds` the rate falls by `slope` of itself for each factor e, to `least`.
  double cool_seconds = 1;
  double slope = 0;
  double least = 1;
  /// n of a square call and the share of the sheet's rate that it reaches, launch included; not empty: instead of tiles.
  std::span<const std::pair<double, double>> share_by_size = {};
};

inline constexpr double kMostOfLine = 1024;  ///< elements of a line that a block of a split has at most
/// Lines that are split whole lie in clusters of blocks: of 1, 2, 4, 8 or 16, with as many elements each. What clusters of each
/// size fill of the places that a device has for blocks.
using ClusterShares = std::array<double, 5>;
inline constexpr ClusterShares kNoClusters = {1, 1, 1, 1, 1};
/// That of the clusters that lines of k elements take.
[[nodiscard]] double cluster_share(const ClusterShares& shares, double k);
/// Elements that a block of it has of a line, at most kMostOfLine.
[[nodiscard]] double piece_of_line(double k);

/// Split and CRT of Strassen's products of quadrants, of one type.
struct QuadrantModel {
  double split_cycles = 0;  ///< of a plane of an element
  double crt_cycles = 0;    ///< likewise
  int moduli = 0;           ///< at most; 0: there are none
};

/// Scheme ozaki2. @units cycles of a multiprocessor and instructions, of an element and a plane of it
struct ResidueModel {
  bool reduces_in_product = false;  ///< else INT32 sums are read again, one launch a product
  double split_cycles = 0;
  double split_cycles_complex = 0;
  double split_cycles_fp32 = 0;  ///< of FP32 elements, which are other kernels; 0: as of FP64
  double split_cycles_fp32_complex = 0;
  /// At most so many moduli of complex FP32 numbers: integers of one word, which are split as those of complex FP64.
  int one_word_moduli = 0;
  ClusterShares clusters = kNoClusters;
  double longest_pass = 0;     ///< k, beyond which operands are read twice before, for statistics; 0: no such pass
  double split_fp64 = 0;       ///< instructions
  double split_fp64_weak = 0;  ///< where FP64 instructions are rare: another form of the kernel
  double reduce_cycles = 0;    ///< of an INT32 sum
  double crt_cycles = 0;
  double crt_cycles_complex = 0;
  double crt_cycles_fp32 = 0;  ///< of real types; 0: as of FP64
  double crt_fp64 = 0;
  double crt_fp64_weak = 0;
  double crt_int32_weak = 0;  ///< instructions, by limbs
  int complex_products = 0;   ///< real ones, of a modulus; 0: as num::num_planes() has it
  bool has_certificate = false;
  bool judges_lines = false;  ///< in one pass, so that ordinary ones are not sampled
  ProductModel sampled = {};  ///< its products, whose tiles are compared and not stored
  /// Not 0: sampled products are a library's, whose INT32 sums a kernel compares, in so many cycles of one.
  double compare_cycles = 0;
  double split_launches = 0;
  double rest_launches = 0;  ///< of kernels that begin a call or find nothing to do
  // Waits as long as one for memory, one behind another, until a kernel's first blocks are done: what a small call takes beside its work.
  double waits_of_split = 0;  ///< of a block that has kMostOfLine elements of a line, of shorter ones as much less
  double waits_of_crt = 0;    ///< of a plane
  double waits_of_crt_complex = 0;
  double waits_of_certificate = 0;
  // Strassen's products of quadrants, for k in one block.
  QuadrantModel quadrants = {};  ///< of FP64
  QuadrantModel quadrants_complex = {};
  QuadrantModel quadrants_fp32_complex = {};
  double quadrant_seconds = 0;  ///< of kernels that are not taken
  double most_batched_elements =
      0;  ///< of C, below which all products are one call, where they do not reduce their sums
};

/// Slices. @units cycles of an element and a slice, of an element and a sum
struct SliceModel {
  ClusterShares clusters = kNoClusters;
  double longest_pass = 0;  ///< k, beyond which operands are read twice before their digits; 0: they always are once
  double split_base_cycles = 0;     ///< of an element, whatever its digits
  double split_cycles = 0;          ///< truncated digits, one after another
  double split_byte_cycles = 0;     ///< digits that are the bytes of one integer, made at once
  double split_complex = 1;         ///< times as many cycles of numbers that are parts of complex ones
  double sum_base_cycles = 0;       ///< of an element of a real product, whatever its sums
  double sum_cycles = 0;            ///< all sums of an element in one pass
  double stored_bytes = 0;          ///< of a sum, behind its tile
  double sum_in_memory_cycles = 0;  ///< one sum after another, C in memory
  double waits_of_sum = 0;          ///< for memory, of fused sums: one behind another for each plane
  bool has_fused_sums = false;
  bool is_one_launch = false;  ///< of all products
  ProductModel products = {};  ///< of one launch, whose tiles are INT32 sums; without forms the program's
  ProductModel fused = {};     ///< products of up to so many slices in one kernel that sums, of real types
  int most_fused_slices = 0;
  double fused_share_of_most = 1;  ///< of the share, with as many slices
  double part_sum_cycles = 0;      ///< of a digit of a sum of two parts, and a slice
  /// Seconds that a kernel of ours leaves of the launch of sums behind it; 0: such launches are as all others.
  double hidden_launch = 0;
  double block_lines = 0;     ///< of EF_L; 0: as the document has it
  bool stacks_parts = false;  ///< enlarged form: a product for each part of C, not one of twice the columns
  double scaling_bytes = 0;   ///< of an element of C: a pass for alpha and beta
};

/// Scheme ec.
struct EcModel {
  ProductModel products = {};
  double split_cycles = 0;   ///< of a multiprocessor, of an FP32 element
  double extra_seconds = 0;  ///< of two kernels that find nothing to do
};

struct Program {
  double copy_share = 0;
  double launch_seconds = 0;
  ProductModel products = {};
  EcModel ec = {};
  ResidueModel residues;  ///< planes == 0: no such scheme
  SliceModel slices;
  bool has_residues = false;
  bool has_slices = false;
};

/// Tiles of a library are known on compute capability 9.0 alone: elsewhere program kPortable's products are calls by their size.
[[nodiscard]] const Program& program_of(ProgramName name, int compute_capability);
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
  double longest = 0;      ///< products of the plane that has most of them; 0: all have as many
  double num_calls = 1;    ///< of as much, one behind another: what power leaves is of all
  double element_bytes = 1;
  double stored_bytes = 0;  ///< of an element of a result, where that is more than the model's
  bool is_added = false;    ///< to sums in memory, which are read
  /// Of one triangle, m = n: tiles that have an element of it, in squares as wide as the longer side of a tile.
  bool is_triangle = false;

  [[nodiscard]] double operations() const { return (is_triangle ? 1 : 2) * m * n * k * num_products; }
};
/// The share of the rate that they reach. @param is_sustained  minutes into a run, at the limit of power
[[nodiscard]] double share_reached(const ProductModel& model, const Products& products, const Rates& rates,
                                   bool is_sustained);

/// Linear in log n between points; below the first in proportion to n, beyond the last as there. @range not empty
[[nodiscard]] double by_size(std::span<const std::pair<double, double>> points, double n);

}  // namespace kizami::model
