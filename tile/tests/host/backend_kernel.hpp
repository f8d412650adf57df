// SPDX-License-Identifier: MIT
// One kernel that three units of this program compile, each in another mode, and what a unit tells about itself.
#pragma once

#include <string>
#include <vector>

#include "kizami/tile.hpp"

#define KIZAMI_TEST_TEXT(name) #name
#define KIZAMI_TEST_EXPAND(name) KIZAMI_TEST_TEXT(name)

namespace kizami::tile_test {

struct BackendReport {
  std::string backend;
  bool checks = false;         ///< whether the unit has the checks of the debug mode
  Status status;               ///< of a launch that loads beyond its span
  std::vector<float> results;  ///< of the part inside
};
BackendReport plain_report();
BackendReport debug_report();
BackendReport own_formats_report();

inline namespace KIZAMI_TILE_BACKEND {

template <class T>
__tile_global__ void scale(const T* in, float* out, int n) {
  namespace ct = cuda::tiles;
  const ct::partition_view source{ct::tensor_span{in, ct::extents{n}}, ct::shape<4>{}};
  const ct::partition_view target{ct::tensor_span{out, ct::extents{n}}, ct::shape<4>{}};
  const auto x = ct::bid().x;
  target.store_masked(ct::element_cast<float>(source.load(x) * T(2.0F)), x);
}

}  // namespace KIZAMI_TILE_BACKEND

/// Runs the kernel of the calling unit on six numbers, whose last tile it loads without a mask. The memory behind is
/// there.
inline namespace KIZAMI_TILE_BACKEND {
inline BackendReport make_report() {
  std::vector<__half> in;
  for (int i = 0; i < 8; ++i) in.push_back(__half(static_cast<float>(i) + 0.5F));
  std::vector<float> out(6);
  BackendReport report;
  report.backend = KIZAMI_TEST_EXPAND(KIZAMI_TILE_BACKEND);
  report.checks = cuda::tiles::kDebug;
  report.status = KIZAMI_TILE_LAUNCH((scale<__half>), 2, nullptr, in.data(), out.data(), 6);
  report.results = out;
  return report;
}
}  // namespace KIZAMI_TILE_BACKEND

}  // namespace kizami::tile_test
