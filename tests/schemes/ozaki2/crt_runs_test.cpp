// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/crt_runs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/int_math.hpp"

namespace kizami::ozaki2 {
namespace {

TEST(TriangleRuns, TakeEveryBlockOfTheTriangleOnceAndNoOther) {
  for (const std::int64_t n : {1, 3, 4, 127, 128, 129, 131, 132, 256, 260, 383, 1000, 1024, 2050}) {
    const std::int64_t blocks = base::ceil_div(n, std::int64_t{kWarpRows});
    for (const bool is_lower : {true, false}) {
      const TriangleRuns runs(n, is_lower);
      std::vector<int> visits(static_cast<std::size_t>(blocks * n));
      for (std::uint32_t number = 0; number < runs.count(); ++number) {
        const auto run = runs[number];
        ASSERT_TRUE(run.rows >= 0 && run.rows < blocks && run.column >= 0 && run.left >= 1 &&
                    run.left <= static_cast<int>(kRunColumns) && run.column + run.left <= n)
            << number << " of " << n << ": " << run.rows << ", " << run.column << ", " << run.left;
        for (int c = 0; c < run.left; ++c) ++visits[static_cast<std::size_t>(run.rows * n + run.column + c)];
      }
      for (std::int64_t rows = 0; rows < blocks; ++rows) {
        for (std::int64_t j = 0; j < n; ++j) {
          const bool is_wanted = is_lower ? rows >= j / kWarpRows : rows <= j / kWarpRows;
          ASSERT_EQ(visits[static_cast<std::size_t>(rows * n + j)], is_wanted ? 1 : 0)
              << rows << ", " << j << " of " << n << ", lower " << is_lower;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::ozaki2
