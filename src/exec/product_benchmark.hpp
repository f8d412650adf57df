// SPDX-License-Identifier: MIT
// One engine's INT8 products on random bytes, timed. @see kizami::ProductBenchmark
#pragma once

#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::exec {

struct ProductBench {
  const product::Engine* engine = nullptr;
  product::ProductDesc desc;
  product::Offer offer;
  base::AlignedBuffer a;
  base::AlignedBuffer b;
  base::AlignedBuffer c;
  base::AlignedBuffer workspace;
};

/// Chooses the engine, describes the product and fills the operands. @status see kizami::ProductBenchmark::make
Status make_product_bench(EngineName engine, std::int64_t m, std::int64_t n, std::int64_t k, int num_products,
                          int threads, ProductBench& bench);

/// One launch; `seconds` of wall time.
Status run_product_bench(const ProductBench& bench, double& seconds);

}  // namespace kizami::exec
