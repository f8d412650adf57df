// SPDX-License-Identifier: MIT
// One idea: tiles that overlap.  The loudest sample of each window of 64 samples, a window every 16 samples.
//
//   samples   |----|----|----|----|----|----|----|...      strided_view: tile i starts at element 16 i. Its shape is
//   64, window 0  [===================]                        so that neighbours share 48 elements.
//   window 1       [===================]
//   window 2            [===================]
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kizami/tile.hpp"
#include "support.hpp"

namespace ct = cuda::tiles;
using namespace ct::literals;

/// @shape samples: [n]; peaks: [ceil(n / 16)]; grid: ceil(n / 16)
__tile_global__ void window_peaks(const std::int32_t* samples, std::int32_t* peaks, int n) {
  const auto i = ct::bid().x;
  const ct::strided_view windows{ct::tensor_span{samples, ct::extents{n}}, ct::shape<64>{}, ct::strides{16_ic}};
  auto peak = ct::reduce_max(ct::abs(windows.load_masked(i)), 0_ic);  // (1); beyond the end there is silence
  peaks[i] = static_cast<std::int32_t>(peak);  // a tile of one element becomes a number; nvcc casts no const tile
}

int main() {
  const int n = 1000;
  example::Array<std::int32_t> samples(n), peaks(example::tiles(n, 16));
  for (int i = 0; i < n; ++i) samples[i] = (i * 7919 % 2003) - 1001;
  if (!example::ran(KIZAMI_TILE_LAUNCH(window_peaks, example::tiles(n, 16), nullptr, samples.data(), peaks.data(), n)))
    return 1;

  example::Checks checks;
  for (int i = 0; i * 16 < n; ++i) {
    std::int32_t expected = 0;
    for (int s = 16 * i; s < 16 * i + 64 && s < n; ++s)
      if (std::abs(samples[s]) > expected) expected = std::abs(samples[s]);
    checks.expect(peaks[i] == expected);
  }
  std::printf("%zu windows, the first peaks at %d\n", peaks.size(), peaks[0]);
  return checks.result();
}
