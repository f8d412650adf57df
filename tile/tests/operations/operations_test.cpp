// SPDX-License-Identifier: MIT
// Every operation of the list runs on the host, changes its result, and gives the same again.
#include "operations_cases.hpp"
