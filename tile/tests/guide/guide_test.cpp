// SPDX-License-Identifier: MIT
// The guide's kernels as users compile them.
#include "tile/tests/guide/guide_cases.hpp"
