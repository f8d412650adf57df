// SPDX-License-Identifier: MIT
// kizami.h from C++: the same test, compiled as that language.
#include "c_api_test.c"  // NOLINT(bugprone-suspicious-include)
