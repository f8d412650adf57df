// SPDX-License-Identifier: MIT
// The first thing that every header of C++ includes: says in one line what a compiler of an older standard would say in hundreds.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "Kizami's C++ headers need C++20: compile with -std=c++20, or include kizami/kizami.h, which is C99 and C++98"
#endif
