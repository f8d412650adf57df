// SPDX-License-Identifier: MIT
#include "engines/cpu_simd/cpu_simd.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "base/fork_safe.hpp"
#include "engines/cpu_simd/blocked_product.hpp"
#include "engines/cpu_simd/micro_kernel.hpp"
#include "engines/desc_check.hpp"

namespace kizami::engines {

std::span<const MicroKernel> compiled_kernels() {
  static constinit base::MadeOnce<std::vector<MicroKernel>> kernels;
  return kernels.get([] {
    std::vector<MicroKernel> list;
#if defined(__x86_64__)
    list.push_back(avx512_vnni_kernel());
#endif
    for (const MicroKernel& kernel : highway_kernels()) list.push_back(kernel);
    list.push_back(portable_kernel());
    return list;
  });
}

namespace {

using product::DeviceFacts;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;

bool has_isa(const DeviceFacts& facts, Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return facts.has_avx2;
    case Isa::kAvx512:
      return facts.has_avx512;
    case Isa::kAvx512Vnni:
      return facts.has_avx512 && facts.has_avx512_vnni;
    case Isa::kNeon:
      return facts.has_neon;
  }
  return false;
}

double num_macs(const ProductDesc& d) {
  return static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * d.num_products;
}

/// Threads that pay: each must have twice as much work as waking a sleeping one takes.
int useful_threads(const ProductDesc& d, const MicroKernel& kernel, const DeviceFacts& facts) {
  const double seconds_per_thread = 2 * facts.processor.thread_start_seconds;
  const double limit = num_macs(d) / (kernel.macs_per_second * facts.processor.cpu_simd) / seconds_per_thread;
  return static_cast<int>(std::clamp(limit, 1.0, static_cast<double>(std::max(1, facts.num_threads))));
}

/// Multiply-adds at the kernel's rate with whole tiles, bytes packed and elements reduced at their rates, a start-up
/// time. Within a factor of 2 of the measured time from 128^3 to 2048^3, of 3 at 32^3; docs/perf/cpu_int8.md.
/// @param share  of these rates that the processor reaches
double predicted_seconds(const ProductDesc& d, const MicroKernel& kernel, int threads, double share) {
  constexpr double kPackedPerSecond = 8e9;
  constexpr double kReducedPerSecond = 3e9;
  constexpr double kStartSeconds = 1e-6;
  const auto rows = static_cast<double>(base::round_up(d.m, kernel.tile_rows));
  const auto cols = static_cast<double>(base::round_up(d.n, kernel.tile_cols));
  const double planes = d.num_products;
  const double multiply = rows * cols * static_cast<double>(d.k) * planes / kernel.macs_per_second;
  const double pack = (rows + cols) * static_cast<double>(d.k) * planes / kPackedPerSecond;
  const double reduce = rows * cols * planes / kReducedPerSecond;
  return kStartSeconds + (multiply + pack + reduce) / (threads * share);
}

Offer make_offer(const ProductDesc& d, const MicroKernel& kernel, const DeviceFacts& facts) {
  const int threads = useful_threads(d, kernel, facts);
  return {.workspace_bytes = static_cast<std::size_t>(make_blocking(d, kernel).total_bytes),
          .seconds = predicted_seconds(d, kernel, threads, facts.processor.cpu_simd),
          .threads = threads};
}

Status run_checked(const ProductDesc& d, const MicroKernel& kernel, const Offer& offer, const Pointers& pointers,
                   std::byte* workspace) {
  if (auto reason = why_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  if (auto reason = why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
  const Blocking blocking = make_blocking(d, kernel);
  const auto needed = static_cast<std::size_t>(blocking.total_bytes);
  if (offer.workspace_bytes < needed) {
    return {StatusCode::kInvalidArgument, "workspace_bytes = " + std::to_string(offer.workspace_bytes) +
                                              " in the offer, must be " + std::to_string(needed) + " as query() said"};
  }
  if (needed > 0 && (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % product::kPadBytes != 0)) {
    return {StatusCode::kInvalidArgument, "workspace is null or not aligned to 64 bytes"};
  }
  run_blocked(d, kernel, blocking, std::max(1, offer.threads), pointers, workspace);
  return {};
}

class BoundEngine final : public product::Engine {
 public:
  explicit BoundEngine(const MicroKernel& kernel) : kernel_(kernel), name_("cpu_simd/" + std::string(kernel.name)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (!has_isa(facts, kernel_.isa)) return Refusal{name_ + ": the processor lacks the instruction set"};
    if (auto reason = why_refused(d)) return Refusal{*std::move(reason)};
    return make_offer(d, kernel_, facts);
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& offer, const Pointers& pointers, std::byte* workspace,
                           product::Queue /*queue*/) const override {
    if (!kernel_.is_supported) return {StatusCode::kUnsupported, name_ + ": this processor lacks the instruction set"};
    return run_checked(d, kernel_, offer, pointers, workspace);
  }

 private:
  const MicroKernel& kernel_;
  const std::string name_;
};

/// query() reads the facts only, and they may describe another machine; run() takes the best kernel of this one. The
/// workspace offered is enough for every kernel.
class BestEngine final : public product::Engine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cpu_simd"; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_refused(d)) return Refusal{*std::move(reason)};
    const auto kernels = compiled_kernels();
    const auto likely =
        std::find_if(kernels.begin(), kernels.end(), [&](const MicroKernel& k) { return has_isa(facts, k.isa); });
    Offer offer = make_offer(d, *likely, facts);
    for (const MicroKernel& kernel : kernels) {
      offer.workspace_bytes =
          std::max(offer.workspace_bytes, static_cast<std::size_t>(make_blocking(d, kernel).total_bytes));
    }
    return offer;
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& offer, const Pointers& pointers, std::byte* workspace,
                           product::Queue /*queue*/) const override {
    return run_checked(d, best_kernel(), offer, pointers, workspace);
  }

  [[nodiscard]] static const MicroKernel& best_kernel() {
    const auto kernels = compiled_kernels();
    return *std::find_if(kernels.begin(), kernels.end(), [](const MicroKernel& k) { return k.is_supported; });
  }
};

}  // namespace

const product::Engine& cpu_simd_engine() {
  static constinit base::MadeOnce<BestEngine> engine;
  return engine.get();
}

std::string_view cpu_simd_kernel_name() { return BestEngine::best_kernel().name; }

std::span<const CpuSimdVariant> cpu_simd_variants() {
  struct Variants {
    std::deque<BoundEngine> engines;  // stable addresses
    std::vector<CpuSimdVariant> list;
  };
  static constinit base::MadeOnce<Variants> variants;
  return variants
      .get([] {
        Variants made;
        for (const MicroKernel& kernel : compiled_kernels()) {
          made.list.push_back(
              {.name = kernel.name, .is_supported = kernel.is_supported, .engine = &made.engines.emplace_back(kernel)});
        }
        return made;
      })
      .list;
}

}  // namespace kizami::engines
