// SPDX-License-Identifier: MIT
#include "exec/product_benchmark.hpp"

#include <chrono>
#include <string>

#include "base/int_math.hpp"
#include "exec/environment.hpp"
#include "num/crt_table.hpp"
#include "num/moduli.hpp"

namespace kizami::exec {
namespace {

/// Symmetric residues modulo 251: full-range bytes without the -128 that only modulus 256 has.
void fill_random(const base::AlignedBuffer& buffer, std::int64_t k, std::int64_t row_stride, std::uint64_t seed) {
  auto* const bytes = reinterpret_cast<std::int8_t*>(buffer.data());
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto residue = static_cast<int>((state >> 33) % 251) - 125;
    bytes[i] = static_cast<std::int64_t>(i) % row_stride < k ? static_cast<std::int8_t>(residue) : std::int8_t{0};
  }
}

}  // namespace

Status make_product_bench(EngineName engine, std::int64_t m, std::int64_t n, std::int64_t k, int num_products,
                          int threads, ProductBench& bench) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t max) -> Status {
    if (value >= 1 && value <= max) return {};
    return {StatusCode::kInvalidArgument,
            std::string(name) + " = " + std::to_string(value) + ", must be in 1.." + std::to_string(max)};
  };
  KIZAMI_RETURN_IF_ERROR(check("m", m, product::kBlockMaxI8));
  KIZAMI_RETURN_IF_ERROR(check("n", n, product::kBlockMaxI8));
  KIZAMI_RETURN_IF_ERROR(check("k", k, product::kBlockMaxI8));
  KIZAMI_RETURN_IF_ERROR(check("num_products", num_products, num::kMaxPlanes));
  KIZAMI_RETURN_IF_ERROR(check("threads", threads, 1 << 16));

  plan::Environment machine = environment();
  machine.facts.num_threads = threads;
  product::ProductDesc& desc = bench.desc;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.num_products = num_products;
  for (int l = 0; l < num_products; ++l)
    desc.moduli[static_cast<std::size_t>(l)] = num::kRealModuli[static_cast<std::size_t>(l) % num::kRealModuli.size()];
  desc.a_row_stride = desc.b_row_stride = base::round_up(k, product::kPadBytes);
  desc.a_plane_stride = m * desc.a_row_stride;
  desc.b_plane_stride = n * desc.b_row_stride;
  desc.c_col_stride = base::round_up(m, product::kPadBytes);
  desc.c_plane_stride = n * desc.c_col_stride;

  std::string reasons;
  for (const product::Engine* candidate : machine.engines) {
    if (engine != EngineName::kAuto && to_string(engine) != candidate->name()) continue;
    const auto answer = candidate->query(desc, machine.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      reasons += "; " + std::string(candidate->name()) + ": " + refusal->reason;
      continue;
    }
    bench.engine = candidate;
    bench.offer = std::get<product::Offer>(answer);
    break;
  }
  if (bench.engine == nullptr) {
    return {StatusCode::kUnsupported,
            "no engine named " + std::string(to_string(engine)) + " here multiplies bytes" + reasons};
  }
  bench.a = base::AlignedBuffer(static_cast<std::size_t>(num_products * desc.a_plane_stride));
  bench.b = base::AlignedBuffer(static_cast<std::size_t>(num_products * desc.b_plane_stride));
  bench.c = base::AlignedBuffer(static_cast<std::size_t>(num_products * desc.c_plane_stride));
  bench.workspace = base::AlignedBuffer(bench.offer.workspace_bytes);
  if (!bench.a.ok() || !bench.b.ok() || !bench.c.ok() || !bench.workspace.ok()) {
    return {StatusCode::kOutOfMemory, "operands of " +
                                          std::to_string(bench.a.size() + bench.b.size() + bench.c.size()) +
                                          " bytes refused by the system"};
  }
  fill_random(bench.a, k, desc.a_row_stride, 1);
  fill_random(bench.b, k, desc.b_row_stride, 2);
  return {};
}

Status run_product_bench(const ProductBench& bench, double& seconds) {
  const product::Pointers pointers{reinterpret_cast<const std::int8_t*>(bench.a.data()),
                                   reinterpret_cast<const std::int8_t*>(bench.b.data()), bench.c.data()};
  const auto start = std::chrono::steady_clock::now();
  const Status status = bench.engine->run(bench.desc, bench.offer, pointers, bench.workspace.data());
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

}  // namespace kizami::exec
