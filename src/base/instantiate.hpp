// SPDX-License-Identifier: MIT
// The types of elements, of templates that are compiled in one unit:
//   #define KIZAMI_INSTANTIATE(T) template Status scale<T>(MatrixView<T>)
//   KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
//   #undef KIZAMI_INSTANTIATE
// Units that CMake makes, one a type, take them from cmake/instantiate.cmake.
#pragma once

#include <complex>

#define KIZAMI_FOR_EACH_ELEMENT(macro) \
  macro(float);                        \
  macro(double);                       \
  macro(std::complex<float>);          \
  macro(std::complex<double>)
