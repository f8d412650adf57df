// SPDX-License-Identifier: MIT
// Bounds as docs/dropin.md has them: that of the accuracy asked for, of level 3 beside what cuBLAS guarantees of its
// diagonal blocks.
#include "gpu_soak/judged.hpp"

#include <algorithm>
#include <cmath>

#include "num/bounds.hpp"

namespace gpu_soak {
namespace {

using kizami::Accuracy;
using kizami::Op;
using kizami::Scalar;

/// @param terms real terms of a sum
Allowed allowed_of(const Case& x, const Section& s, std::int64_t terms, const Standard& standard) {
  const int bits = standard.bits;
  namespace num = kizami::num;
  const double u = num::unit_roundoff(x.scalar);
  // What a type has not the bits for is cuBLAS', whose sums have the bound of any order.
  const bool is_native = bits > num::significand_bits_guaranteed(x.scalar);
  const Accuracy accuracy = bits == 0 || is_native ? Accuracy::native() : Accuracy::at_bits(bits);
  const auto k = std::max<std::int64_t>(terms, 1);
  double relative = num::target_bound(accuracy, x.scalar, k);
  if (is_native || is_level3(x.routine)) relative = std::max(relative, num::dot_bound(k, u));
  Allowed allowed;
  allowed.tiny = num::epilogue_bound(x.scalar, 0, 0);
  const double epilogue = num::epilogue_bound(x.scalar, 1, 0);
  const bool has_epilogue = std::abs(s.alpha.real()) != 1 || s.alpha.imag() != 0 || s.beta != 0.0;
  if (is_level3(x.routine)) {  // by halves, at most down to single elements
    const auto order = static_cast<double>(std::max<std::int64_t>({s.m, s.n, 2}));
    allowed.rounding = 2 * std::ceil(std::log2(order)) * epilogue;
    relative += allowed.rounding;  // of what is added up on the way, too
  } else if (has_epilogue) {
    // cuBLAS may add pieces of k to C one after another: cublasSgemm errs by 1.8 (cn 67x483x599) and 2.2 times
    // (95x130x534, beta = 1) the roundings of one sum.
    allowed.rounding = standard.is_emulated ? epilogue : 4 * epilogue;
  }
  // The reference errs, too: its gauge by `terms` roundings to FP64, its sums by those to FP64 (of FP32), or to twice
  // that.
  const double n = static_cast<double>(k) + 8;
  const double of_sums = kizami::real_of(x.scalar) == Scalar::kF32 ? n * 0x1p-53 : n * n * 0x1p-105;
  allowed.relative = relative * (1 + n * 0x1p-51) + of_sums;
  // cublasLtMatmul of cuBLAS 13 errs so, unlike its gemm.
  allowed.mixes_parts = x.routine == Routine::kLt && kizami::is_complex(x.scalar) && !standard.is_emulated;
  return allowed;
}

Operand operand_of(const void* data, const Matrix& matrix, Op op = Op::kNone) {
  Operand x;
  x.data = data;
  x.ld = matrix.ld;
  x.offset = matrix.offset;
  x.stride = matrix.stride;
  x.rotation = matrix.rotation;
  x.is_transposed = op == Op::kTranspose || op == Op::kConjTranspose;
  x.is_conjugated = op == Op::kConjTranspose;
  return x;
}

/// X' beside an X of a rank update: transposed, conjugated if Hermitian.
Operand beside(Operand x, bool is_hermitian) {
  x.is_transposed ^= true;
  x.is_conjugated ^= is_hermitian;
  return x;
}

Judged judged_section(const Case& x, const Section& s, const Buffers& buffers, const Standard& standard) {
  Judged j;
  j.m = s.m;
  j.n = s.n;
  j.k = s.k;
  j.num_products = s.num_products;
  j.c = operand_of(buffers.c, s.c);
  j.c0 = buffers.c0;
  j.factors = {{s.alpha.real(), s.alpha.imag()}, {s.beta.real(), s.beta.imag()}};
  const Operand a = operand_of(buffers.a, s.a, s.op_a);
  const Operand b = operand_of(buffers.b, s.b, s.op_b);
  j.terms[0] = {a, b};
  if (is_rank_update(x.routine)) {
    const bool is_hermitian = x.routine == Routine::kHerk;
    j.written = x.is_lower ? Triangle::kLower : Triangle::kUpper;
    j.has_real_diagonal = is_hermitian;
    j.terms[0].right = beside(a, is_hermitian);
    if (x.routine == Routine::kSyr2k) {
      j.num_terms = 2;
      j.terms[0].right = beside(b, false);
      j.terms[1] = {b, beside(a, false)};
    }
  } else if (is_level3(x.routine)) {
    Operand structured = a;
    structured.is_lower = x.is_lower;
    structured.structure = x.routine == Routine::kSymm   ? Structure::kSymmetric
                           : x.routine == Routine::kHemm ? Structure::kHermitian
                           : x.is_unit                   ? Structure::kUnitTriangular
                                                         : Structure::kTriangular;
    const Operand other = x.routine == Routine::kTrsm ? operand_of(buffers.x, s.c)
                          : x.is_in_place             ? operand_of(buffers.c0, s.c)
                                                      : b;
    j.terms[0] = x.is_left ? Judged::Term{structured, other} : Judged::Term{other, structured};
    j.is_residual = x.routine == Routine::kTrsm;
  }
  const std::int64_t terms = s.k * j.num_terms * (kizami::is_complex(x.scalar) ? 2 : 1);
  j.allowed = allowed_of(x, s, terms, standard);
  return j;
}

}  // namespace

std::vector<Judged> judged_of(const Case& x, const Buffers& buffers, const Standard& standard) {
  std::vector<Judged> all;
  for (const Section& s : x.sections) all.push_back(judged_section(x, s, buffers, standard));
  return all;
}

}  // namespace gpu_soak
