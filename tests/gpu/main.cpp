// SPDX-License-Identifier: MIT
// The tests on the device as it is; or, with the name of a described card in KIZAMI_TEST_DEVICE, on one that is taken for
// that card: its kernels' shapes, plans and workspaces, as far as the device can run them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "exec/device_environment.hpp"

int main(int argc, char** argv) {
  if (const char* const name = std::getenv("KIZAMI_TEST_DEVICE"); name != nullptr) {
    const kizami::Status status = kizami::exec::assume_device(name);
    if (!status.ok()) {
      std::fprintf(stderr, "KIZAMI_TEST_DEVICE=%s: %s\n", name, status.reason().c_str());
      return 1;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
