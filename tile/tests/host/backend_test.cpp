// SPDX-License-Identifier: MIT
// One kernel source in three units of one program: plain, with the checks of the debug mode, and with Kizami's own
// formats. Each runs what its unit compiled, not what the linker happened to keep.
#include <gtest/gtest.h>

#include "tile/tests/host/backend_kernel.hpp"

namespace kizami::tile_test {

BackendReport plain_report() { return make_report(); }

namespace {

TEST(Backends, OfOneProgramAreApart) {
  const BackendReport plain = plain_report();
  const BackendReport debug = debug_report();
  const BackendReport own = own_formats_report();
  EXPECT_NE(plain.backend, debug.backend);
  EXPECT_NE(own.backend, debug.backend);
  EXPECT_EQ(own.backend, "cpu_own");
  EXPECT_FALSE(plain.checks);
  EXPECT_TRUE(debug.checks);
  EXPECT_FALSE(own.checks);
  EXPECT_TRUE(plain.status.ok()) << plain.status.reason();
  EXPECT_TRUE(own.status.ok()) << own.status.reason();
  EXPECT_EQ(
      debug.status.reason(),
      "kernel scale<__half>, block (1, 0, 0): load: tile<__half, 4>, element (2): index (6) is outside the extents (6) "
      "(2 faults in this launch)");
  const std::vector<float> expected{1, 3, 5, 7, 9, 11};
  EXPECT_EQ(plain.results, expected);
  EXPECT_EQ(debug.results, expected);
  EXPECT_EQ(own.results, expected);
}

}  // namespace
}  // namespace kizami::tile_test
