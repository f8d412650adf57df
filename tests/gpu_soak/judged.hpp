// SPDX-License-Identifier: MIT
// A case as sums of products for the judge, and what it allows.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_soak/case.hpp"
#include "gpu_soak/reference.hpp"

namespace gpu_soak {

/// The products of a section: each element of C is a sum over its terms' left(i, l) right(l, j).
struct Judged {
  struct Term {
    Operand left, right;
  };
  Term terms[2];
  int num_terms = 1;
  std::int64_t m = 0, n = 0, k = 0;
  int num_products = 1;
  Operand c;                 ///< of the result, and of C0 (but for `data`)
  const void* c0 = nullptr;  ///< the buffer of C as it was before
  Triangle written = Triangle::kAll;
  bool has_real_diagonal = false;  ///< of a Hermitian result
  bool is_residual = false;        ///< trsm: terms are op(A) X, and beside them stands alpha C0
  Factors factors;
  Allowed allowed;
};

/// Where the buffers are. `x`: a copy of the results, which trsm's residual is made of.
struct Buffers {
  const void *a = nullptr, *b = nullptr, *c0 = nullptr, *x = nullptr;
  void* c = nullptr;
};

/// One for each section. @param bits the accuracy that was asked for, 2^-bits; 0: native
[[nodiscard]] std::vector<Judged> judged_of(const Case& x, const Buffers& buffers, int bits);

}  // namespace gpu_soak
