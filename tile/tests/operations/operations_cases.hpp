// SPDX-License-Identifier: MIT
// What the host does with the list. Included by a unit with and one without the checks of the debug mode.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "tile/tests/operations/operations.hpp"

#if defined(KIZAMI_TILE_DEBUG)
#define OPERATIONS_SUITE OperationsInDebugMode
#else
#define OPERATIONS_SUITE Operations
#endif

namespace kizami::tile_operations {
inline namespace KIZAMI_TILE_BACKEND {

TEST(OPERATIONS_SUITE, RunOnTheHostAndChangeTheirResult) {
  std::set<std::string> names;
  for (const Operation& operation : operations()) {
    EXPECT_TRUE(names.insert(operation.name).second) << operation.name << " is there twice";
    Bytes z = operation.z;
    const Status status = operation.run_on_host(operation.x, operation.y, z);
    EXPECT_TRUE(status.ok()) << operation.name << ": " << status.reason();
    EXPECT_NE(z, operation.z) << operation.name << " does nothing";
    EXPECT_NE(operation.difference(z, operation.z), "") << operation.name << ": no difference is seen";
    EXPECT_EQ(operation.difference(z, z), "") << operation.name;
  }
  EXPECT_GT(names.size(), 300U);
}

}  // namespace KIZAMI_TILE_BACKEND
}  // namespace kizami::tile_operations
