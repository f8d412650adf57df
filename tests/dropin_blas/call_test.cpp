// SPDX-License-Identifier: MIT
#include "dropin/blas/call.hpp"

#include <gtest/gtest.h>

#include "dropin/level3/native_function.hpp"

namespace kizami::dropin::blas {
namespace {

TEST(Call, RowMajorIsTheTransposedCall) {
  Call<std::complex<double>> x;
  x.routine = Routine::kHer2k;
  x.alpha = {1, 2};
  x.uplo = 'U';
  turn_row_major(x);
  EXPECT_EQ(x.uplo, 'L');
  EXPECT_EQ(x.op_a, 'C');
  EXPECT_EQ(x.alpha, std::complex<double>(1, -2));
  Call<double> y;
  y.routine = Routine::kSyrk;
  y.op_a = 'C';
  turn_row_major(y);
  EXPECT_EQ(y.op_a, 'N') << "for real types ^H is ^T";
}

TEST(Call, AKnownFunctionStaysKnown) {
  static void* (*find)(const char*) = nullptr;  // a library is loaded while a thread looks in vain
  static level3::NativeFunction native([](const char* name) { return find(name); }, "dgemm_");
  static char function = 0;
  find = [](const char*) -> void* {
    find = [](const char*) -> void* { return &function; };
    EXPECT_NE(native.as<void()>(), nullptr);  // of another thread
    return nullptr;
  };
  EXPECT_NE(native.as<void()>(), nullptr);
  EXPECT_NE(native.known<void()>(), nullptr);
}

TEST(Call, LeadingDimensionsAreThoseOfTheReference) {
  Call<double> x;
  x.routine = Routine::kTrsm;
  x.side = 'R';
  x.m = 5;
  x.n = 7;
  x.k = 7;
  x.lda = 7;
  x.ldc = 5;
  EXPECT_TRUE(is_valid(x));
  x.lda = 6;
  EXPECT_FALSE(is_valid(x));
  x.lda = 7;
  x.op_a = 'X';
  EXPECT_FALSE(is_valid(x));
  Call<std::complex<float>> y;
  y.routine = Routine::kSyrk;
  y.lda = y.ldc = 1;
  EXPECT_TRUE(is_valid(y));
  y.op_a = 'C';
  EXPECT_FALSE(is_valid(y)) << "csyrk does not conjugate";
}

}  // namespace
}  // namespace kizami::dropin::blas
