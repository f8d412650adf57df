// SPDX-License-Identifier: MIT
// Compiled, never run: shows that nvcc accepts the headers of num/ which host and device share, in device code.
#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/error_free.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "num/modular.hpp"
#include "num/rung.hpp"
#include "num/scaled.hpp"

namespace kizami {

/// Error-free transformations and exponents: split[i] = the error of x[i] + y[i], scaled by 2^s.
__global__ void split_sum_smxx(const double* x, const double* y, int s, double* split, int num_elems) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < num_elems && num::is_finite(x[i])) split[i] = num::ldexp(num::two_sum(x[i], y[i]).lo, s);
}

/// Modular reduction of an accumulator.
__global__ void reduce_i32_smxx(const std::int32_t* acc, int p, std::int8_t* residue, int num_elems) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < num_elems) residue[i] = static_cast<std::int8_t>(num::reduce_i32(acc[i], p, num::reduce_i32_multiplier(p)));
}

/// Rung selection from statistics in device memory.
__global__ void select_rung_smxx(const num::Ladder* ladder, const num::Statistics* statistics,
                                 num::Selection* selection) {
  *selection = num::select(*ladder, *statistics);
}

/// The shared epilogue.
__global__ void finish_smxx(const num::Scaled* p, double alpha, double beta, double* c, int num_elems) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < num_elems) c[i] = num::finish(p[i], alpha, beta, c[i]);
}

}  // namespace kizami
