// SPDX-License-Identifier: MIT
// The same in the debug mode: the language defines all that the list does, so that a device may not differ.
#define KIZAMI_TILE_DEBUG
#include "operations_cases.hpp"
