// SPDX-License-Identifier: MIT
#include "schemes/ec/float_sums.hpp"

#include <complex>

#include "base/parallel.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"

namespace kizami::ec {

template <class T>
void reconstruct_float(const FloatSums& sums, const std::int32_t* row_scale, const std::int32_t* col_scale, T alpha,
                       T beta, int threads, MatrixView<T> c, ComplexSums complex_sums) {
  base::parallel_for(c.cols, threads, [&](std::int64_t j, int) {
    if (col_scale[j] == num::kSkipLine) return;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      if (row_scale[i] == num::kSkipLine) continue;
      const int exponent = -(row_scale[i] + col_scale[j]);
      const float* const sum = sums.data + j * sums.col_stride + i;
      T& out = c(i, j);
      const T old = beta == T{0} ? T{0} : out;
      if constexpr (kIsComplex<T>) {
        double re = static_cast<double>(sum[0]);
        double im = static_cast<double>(sum[sums.form_stride]);
        if (complex_sums == ComplexSums::kKaratsuba) {
          const double p3 = static_cast<double>(sum[2 * sums.form_stride]);
          const double both = re + im;
          re -= im;
          im = p3 - both;
        }
        out = num::finish(num::ScaledComplex{num::make_scaled(re, exponent), num::make_scaled(im, exponent)}, alpha,
                          beta, old);
      } else {
        out = num::finish(num::make_scaled(static_cast<double>(*sum), exponent), alpha, beta, old);
      }
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                               \
  template void reconstruct_float<T>(const FloatSums&, const std::int32_t*, const std::int32_t*, T, T, int, \
                                     MatrixView<T>, ComplexSums)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(std::complex<float>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ec
