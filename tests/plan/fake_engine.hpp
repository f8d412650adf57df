// SPDX-License-Identifier: MIT
// Engines without arithmetic: they offer or refuse what a test says, and remember what they were asked.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engines/cublas/cublas_seconds.hpp"
#include "engines/native/native_blas.hpp"
#include "exec/schemes.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::plan {

class FakeEngine : public product::Engine {
 public:
  using Answer = std::variant<product::Offer, product::Refusal>;
  using Query = std::function<Answer(const product::ProductDesc&)>;

  explicit FakeEngine(
      std::string name, Query query = [](const product::ProductDesc&) { return Answer(product::Offer{}); })
      : name_(std::move(name)), query_(std::move(query)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] Answer query(const product::ProductDesc& desc, const product::DeviceFacts& facts) const override {
    asked.push_back(desc);
    threads_seen = facts.num_threads;
    return query_(desc);
  }
  [[nodiscard]] Status run(const product::ProductDesc&, const product::Offer&, const product::Pointers&, std::byte*,
                           product::Queue) const override {
    std::abort();  // a planner that runs something is no planner
  }

  mutable std::vector<product::ProductDesc> asked;
  mutable int threads_seen = 0;

 private:
  std::string name_;
  Query query_;
};

[[nodiscard]] inline FakeEngine::Query refusing(std::string reason) {
  return [reason = std::move(reason)](const product::ProductDesc&) {
    return FakeEngine::Answer(product::Refusal{reason});
  };
}
[[nodiscard]] inline FakeEngine::Query offering(double seconds, std::size_t bytes = 0) {
  return [=](const product::ProductDesc&) { return FakeEngine::Answer(product::Offer{bytes, seconds, 1}); };
}

/// cuBLAS without a device: it predicts.
class FakeCublas : public product::NativeDeviceEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cublas"; }
  [[nodiscard]] double seconds(const problem::Shape& shape, const product::DeviceFacts& facts,
                               std::int64_t num_products) const override {
    return engines::cublas_seconds(shape, num_products, facts.rates);
  }
  [[nodiscard]] std::size_t scratch_bytes() const override { return engines::kCublasScratchBytes; }
  [[nodiscard]] Status run(int, const product::NativeProducts<float>&, std::span<std::byte>,
                           product::Queue) const override {
    std::abort();
  }
  [[nodiscard]] Status run(int, const product::NativeProducts<double>&, std::span<std::byte>,
                           product::Queue) const override {
    std::abort();
  }
  [[nodiscard]] Status run(int, const product::NativeProducts<std::complex<float>>&, std::span<std::byte>,
                           product::Queue) const override {
    std::abort();
  }
  [[nodiscard]] Status run(int, const product::NativeProducts<std::complex<double>>&, std::span<std::byte>,
                           product::Queue) const override {
    std::abort();
  }
};

/// A machine of some engines.
class FakeMachine {
 public:
  explicit FakeMachine(std::vector<const product::Engine*> engines, bool has_native_blas = true, int threads = 4)
      : engines_(std::move(engines)), has_native_blas_(has_native_blas), threads_(threads) {}
  [[nodiscard]] Environment environment() const {
    Environment e;
    e.schemes = exec::schemes();
    e.facts.num_threads = threads_;
    e.engines = engines_;
    e.native_engine = has_native_blas_ ? &engines::native_blas_engine() : nullptr;
    return e;
  }

 private:
  std::vector<const product::Engine*> engines_;
  bool has_native_blas_;
  int threads_;
};

}  // namespace kizami::plan
