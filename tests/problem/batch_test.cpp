// SPDX-License-Identifier: MIT
// Strides of batches: what is refused, against a search for common elements.
#include "problem/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace kizami::problem {
namespace {

/// Whether two of the matrices C share an element.
bool have_common_element(Layout layout, std::int64_t m, std::int64_t n, std::int64_t ldc, std::int64_t stride,
                         std::int64_t num_products) {
  std::set<std::int64_t> seen;
  for (std::int64_t p = 0; p < num_products; ++p) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t at = p * stride + (layout == Layout::kColMajor ? j * ldc + i : i * ldc + j);
        if (!seen.insert(at).second) return true;
      }
    }
  }
  return false;
}

TEST(BatchStrides, NeverLetElementsOfCBeWrittenTwice) {
  int num_allowed = 0, num_refused = 0;
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    for (std::int64_t m = 1; m <= 4; ++m) {
      for (std::int64_t n = 1; n <= 4; ++n) {
        const std::int64_t least = layout == Layout::kColMajor ? m : n;
        for (std::int64_t ldc = least; ldc <= least + 9; ++ldc) {
          for (std::int64_t stride = 0; stride <= 45; ++stride) {
            for (const std::int64_t num_products : {2, 3, 5}) {
              const bool is_allowed = validate_batch_strides(layout, m, n, ldc, {0, 0, stride}, num_products).ok();
              ++(is_allowed ? num_allowed : num_refused);
              ASSERT_FALSE(is_allowed && have_common_element(layout, m, n, ldc, stride, num_products))
                  << m << " x " << n << ", ldc = " << ldc << ", stride = " << stride << ", " << num_products;
              const std::int64_t stored = ldc * (layout == Layout::kColMajor ? n : m);
              const bool is_beside = stride >= least && (num_products - 1) * stride + least <= ldc;
              if (stride >= stored || is_beside) {
                ASSERT_TRUE(is_allowed) << m << " x " << n << ", ldc = " << ldc << ", stride = " << stride;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(num_allowed, 1000);
  EXPECT_GT(num_refused, 1000);
}

TEST(BatchStrides, OfOneProductOrOfNoElementsMayBeAnything) {
  EXPECT_TRUE(validate_batch_strides(Layout::kColMajor, 4, 5, 4, {0, 0, 0}, 1).ok());
  EXPECT_TRUE(validate_batch_strides(Layout::kColMajor, 4, 5, 4, {0, 0, 0}, 0).ok());
  EXPECT_TRUE(validate_batch_strides(Layout::kColMajor, 0, 5, 4, {0, 0, 0}, 7).ok());
  EXPECT_TRUE(validate_batch_strides(Layout::kRowMajor, 4, 0, 1, {0, 0, 0}, 7).ok());
}

TEST(BatchStrides, AreNamedWhereTheyAreNegativeOrLeadNowhere) {
  const auto reason = [](const BatchStrides& strides) {
    const Status status = validate_batch_strides(Layout::kColMajor, 4, 5, 4, strides, 3);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.reason();
  };
  EXPECT_EQ(reason({-1, 0, 20}), "stride_a = -1, must be >= 0");
  EXPECT_EQ(reason({0, -7, 20}), "stride_b = -7, must be >= 0");
  EXPECT_EQ(reason({0, 0, -20}), "stride_c = -20, must be >= 0");
  EXPECT_EQ(reason({0, INT64_MAX, 20}), "stride_b = 9223372036854775807 for 3 products leads beyond 2^58 elements");
  EXPECT_EQ(reason({0, 0, 0}), "stride_c = 0 lets two matrices C of the batch overlap");
  EXPECT_TRUE(validate_batch_strides(Layout::kColMajor, 4, 5, 4, {std::int64_t{1} << 57, 0, 20}, 3).ok());
  EXPECT_EQ(validate_num_products(-1).reason(), "num_products = -1, must be >= 0");
  EXPECT_TRUE(validate_num_products(0).ok());
}

}  // namespace
}  // namespace kizami::problem
