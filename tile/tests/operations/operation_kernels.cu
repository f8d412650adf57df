// SPDX-License-Identifier: MIT
// The operations under NVIDIA's compiler.
#include "operations.hpp"
