// SPDX-License-Identifier: MIT
// Routines of level 3 but gemm. symm and hemm are one product, of A written out in full (attempt.hpp). A triangle of C
// that one product updates is one product of Kizami, where its engine can leave the other triangle out. All else is made
// by halves (dropin/level3/halves.hpp): what lies beside the diagonal of a triangle is a product of Kizami, diagonal
// blocks are cuBLAS', on the handle of the call, or, of trsm in real numbers, solved by substitution here
// (solve_block.hpp).
#pragma once

#include <cstddef>

#include "dropin/cublas/call.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/policy/sample.hpp"
#include "dropin/policy/settings.hpp"

namespace kizami::dropin::cublas {

/// What became of a call.
struct Blocks {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  ///< the first error of cuBLAS or of CUDA; C is then undefined
  bool is_whole = false;                          ///< one product of Kizami made all of it
  Choice whole{};                                 ///< of that product
  std::int64_t block = 0;                         ///< the order of the largest diagonal block
  int num_emulated = 0;
  int num_solved = 0;               ///< diagonal blocks by substitution
  int num_native = 0;               ///< products that the planner prefers native, or Kizami refused
  int num_short_of_memory = 0;      ///< of those
  std::size_t workspace_limit = 0;  ///< the least that a product was left with for lack of memory; 0: none was
  double bound = 0;                 ///< the largest one of the products
  double seconds = 0;               ///< of the products, as predicted
};

/// The largest product that a call is made of, for the planner; with a size of 0 where there is none.
[[nodiscard]] Call largest_product(const Call& call);

/// Why cuBLAS answers all of such a call, or null. With default settings that is where no gain is predicted
/// (level3_seconds.hpp): not by blocks and products, of which the largest must be emulated but for solutions, nor by one
/// product of a triangle.
/// @range  a valid call with m, n, k >= 1, not a product
[[nodiscard]] const char* why_whole_is_native(const Call& call, const Context& context, const Settings& settings);

/// @range  one for which why_whole_is_native() is null, not symm or hemm; block: the order of the largest native block,
///         by halves whatever the engine; 0: the quickest, or where a scheme is asked for one that depends on the call
///         alone, where there is no product of all of it
/// @bound  b(k) of the products, with the native bound of the diagonal blocks: see docs/dropin.md
/// @queue  asynchronous and capturable
[[nodiscard]] Blocks emulate_blocks(const Call& call, const Context& context, const Settings& settings,
                                    std::int64_t block = 0);

/// How far C(i, j), of trsm its residual, may be from what it should be after `blocks`, whose products have that gauge.
[[nodiscard]] Allowance allowance_of(const Call& call, const Blocks& blocks, Gauge gauge, std::int64_t i,
                                     std::int64_t j);

}  // namespace kizami::dropin::cublas
