// SPDX-License-Identifier: MIT
#include "kizami/measure.hpp"

#include <memory>
#include <utility>

#include "exec/product_benchmark.hpp"

namespace kizami {

struct ProductBenchmark::Impl {
  exec::ProductBench bench;
};

Result<ProductBenchmark> ProductBenchmark::make(EngineName engine, std::int64_t m, std::int64_t n, std::int64_t k,
                                                int num_products, int threads) {
  auto impl = std::make_unique<Impl>();
  KIZAMI_RETURN_IF_ERROR(exec::make_product_bench(engine, m, n, k, num_products, threads, impl->bench));
  return ProductBenchmark(impl.release());
}

Result<ProductTiming> ProductBenchmark::run() {
  ProductTiming timing;
  KIZAMI_RETURN_IF_ERROR(exec::run_product_bench(impl_->bench, timing.seconds));
  const product::ProductDesc& desc = impl_->bench.desc;
  timing.multiply_adds =
      static_cast<double>(desc.m) * static_cast<double>(desc.n) * static_cast<double>(desc.k) * desc.num_products;
  return timing;
}

ProductBenchmark::ProductBenchmark(ProductBenchmark&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
ProductBenchmark& ProductBenchmark::operator=(ProductBenchmark&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
ProductBenchmark::~ProductBenchmark() { delete impl_; }

}  // namespace kizami
