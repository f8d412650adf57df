// SPDX-License-Identifier: MIT
#include "device/problem.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>

namespace kizami::device {
namespace {

template <class T>
const T* at(const std::byte* address) {
  return reinterpret_cast<const T*>(address);
}

/// Real elements may begin on any of their own boundaries, which is for the caller to keep.
TEST(DeviceProblem, ComplexElementsBeginOnABoundaryOfTheirSize) {
  alignas(16) const std::byte memory[32] = {};
  EXPECT_TRUE(validate_alignment("A", at<std::complex<float>>(memory + 8)).ok());
  EXPECT_TRUE(validate_alignment("A", at<std::complex<double>>(memory + 16)).ok());
  EXPECT_TRUE(validate_alignment("A", at<double>(memory + 8)).ok());
  EXPECT_TRUE(validate_alignment("A", at<float>(memory + 4)).ok());
  EXPECT_EQ(validate_alignment("B", at<std::complex<float>>(memory + 4)).reason(),
            "B does not begin on a 8-byte boundary, as complex elements in device memory must");
  const Status off = validate_alignment("A", at<std::complex<double>>(memory + 8));
  EXPECT_EQ(off.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(off.reason(), "A does not begin on a 16-byte boundary, as complex elements in device memory must");
}

}  // namespace
}  // namespace kizami::device
