// SPDX-License-Identifier: MIT
#define KIZAMI_TILE_DEBUG
#include "tile/tests/host/backend_kernel.hpp"

namespace kizami::tile_test {
BackendReport debug_report() { return make_report(); }
}  // namespace kizami::tile_test
