// SPDX-License-Identifier: MIT
#include "problem/batch.hpp"

#include <algorithm>
#include <string>

namespace kizami::problem {
namespace {

constexpr std::int64_t kMaxStride = std::int64_t{1} << 58;  // elements of 16 bytes within 2^62 bytes

Status validate_stride(const char* name, std::int64_t stride, std::int64_t num_products) {
  const auto invalid = [&](const std::string& limit) {
    return Status(StatusCode::kInvalidArgument, std::string(name) + " = " + std::to_string(stride) + limit);
  };
  if (stride < 0) return invalid(", must be >= 0");
  if (num_products <= 1 || stride <= kMaxStride / (num_products - 1)) return {};
  return invalid(" for " + std::to_string(num_products) + " products leads beyond 2^58 elements");
}

}  // namespace

Status validate_num_products(std::int64_t num_products) {
  if (num_products >= 0) return {};
  return {StatusCode::kInvalidArgument, "num_products = " + std::to_string(num_products) + ", must be >= 0"};
}

Status validate_batch_strides(Layout layout, std::int64_t m, std::int64_t n, std::int64_t ldc,
                              const BatchStrides& strides, std::int64_t num_products) {
  KIZAMI_RETURN_IF_ERROR(validate_stride("stride_a", strides.a, num_products));
  KIZAMI_RETURN_IF_ERROR(validate_stride("stride_b", strides.b, num_products));
  KIZAMI_RETURN_IF_ERROR(validate_stride("stride_c", strides.c, num_products));
  if (num_products <= 1 || m == 0 || n == 0) return {};
  const bool is_col = layout == Layout::kColMajor;
  const std::int64_t line = is_col ? m : n;
  const std::int64_t num_lines = is_col ? n : m;
  const bool is_behind = ldc <= kMaxStride / std::max(m, n) && strides.c > (num_lines - 1) * ldc + line - 1;
  const bool is_beside = strides.c >= line && (num_products - 1) * strides.c + line <= ldc;
  if (is_behind || is_beside) return {};
  return {StatusCode::kInvalidArgument,
          "stride_c = " + std::to_string(strides.c) + " lets two matrices C of the batch overlap"};
}

}  // namespace kizami::problem
