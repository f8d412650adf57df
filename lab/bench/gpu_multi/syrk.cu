// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu_multi/ways.cuh"
#include "harness/spread.hpp"
#include "kizami/cuda_triangle.hpp"

namespace bench::shared {
namespace {

/// syrk of cuBLAS for the lower triangle, with 64-bit extents.
template <class T>
[[nodiscard]] auto native_syrk(const Cublas& cublas) {
  using Function = cublasStatus_t (*)(cublasHandle_t, cublasFillMode_t, cublasOperation_t, std::int64_t, std::int64_t,
                                      const T*, const T*, std::int64_t, const T*, T*, std::int64_t);
  const char* const name = std::is_same_v<T, float>                 ? "cublasSsyrk_v2_64"
                           : std::is_same_v<T, double>              ? "cublasDsyrk_v2_64"
                           : std::is_same_v<T, std::complex<float>> ? "cublasCsyrk_v2_64"
                                                                    : "cublasZsyrk_v2_64";
  const auto function = reinterpret_cast<Function>(dlsym(cublas.library, name));
  if (function == nullptr) throw std::runtime_error(std::string("cuBLAS has no ") + name);
  return function;
}

}  // namespace

template <class T>
void measure_syrk(const Options& options, std::int64_t n, std::int64_t k, char type, double phi,
                  const Records& records) {
  const double flops =
      (kizami::kIsComplex<T> ? 4.0 : 1.0) * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
  std::vector<Way> ways;
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kOzaki2;
  const std::vector<int> of_one = {options.from == "host" ? -1 : 0};
  Matrix<T> a(n, k, of_one);
  Matrix<T> c(n, n, of_one);
  a.fill(1, phi);
  c.clear();
  std::unique_ptr<Matrix<T>> on_device, one_c;
  const T* x = a.pieces()[0].view.data;
  if (options.has_one || options.has_native) {
    one_c = std::make_unique<Matrix<T>>(n, n, std::vector<int>{0});
    one_c->clear();
    if (options.from == "host") {
      on_device = std::make_unique<Matrix<T>>(n, k, std::vector<int>{0});
      on_device->take(a);
      x = on_device->pieces()[0].view.data;
    }
  }
  if (options.has_one) {
    T* const z = one_c->pieces()[0].view.data;
    kizami::Policy of_one_call = policy;
    const auto call = [=](const kizami::Policy& by) {
      return kizami::cuda::gemmt<T>(nullptr, kizami::Layout::kColMajor, {.is_lower = true}, kizami::Op::kNone,
                                    kizami::Op::kTranspose, n, k, T{1}, x, n, x, n, T{0}, z, n, by);
    };
    const kizami::Status as_given = call(of_one_call);
    if (as_given.code() == kizami::StatusCode::kUnsupported) {  // a plan takes a quarter of the memory by itself
      std::size_t free = 0;
      std::size_t total = 0;
      check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
      of_one_call.workspace_limit_bytes = total / 10 * 7;
      check(call(of_one_call), "one device");
    } else {
      check(as_given, "one device");
    }
    check(cudaDeviceSynchronize(), "one device");
    ways.push_back({"kizami syrk", {0}, 0, [=] {
                      check(call(of_one_call), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
  }

  struct Shared {
    std::shared_ptr<Matrix<T>> a, c;  ///< in pieces, of all ways with these devices
    kizami::Outcome outcome;
  };
  std::vector<std::unique_ptr<Shared>> shared;
  for (const std::vector<int>& devices : options.devices) {
    Shared pieces;
    if (options.from == "pieces") {
      pieces.a = std::make_shared<Matrix<T>>(n, k, devices);
      pieces.c = std::make_shared<Matrix<T>>(n, n, devices);
      pieces.a->take(a);
    }
    for (const int parts : options.parts) {
      shared.push_back(std::make_unique<Shared>());
      Shared& mine = *shared.back();
      mine.a = pieces.a;
      mine.c = pieces.c;
      const Matrix<T>* const of_a = mine.a ? mine.a.get() : &a;
      Matrix<T>* const of_c = mine.c ? mine.c.get() : &c;
      of_c->clear();
      Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      if (options.speeds.size() == devices.size()) placement.speeds = options.speeds;
      if (options.measures_speeds) placement.speeds = measured_speeds<T>(devices);
      auto plan = kizami::multi::make_syrk_plan(kizami::kScalarOf<T>, {.is_lower = true}, n, k, policy, placement);
      check(plan.status(), "the plan of several devices");
      ways.push_back({"kizami::multi syrk", devices, parts,
                      [=, &mine, plan = plan.value(), from = of_a->const_pieces(), to = of_c->pieces()] {
                        check(kizami::multi::run_syrk<T>(plan, T{1}, std::span<const Piece<const T>>(from), T{0},
                                                         std::span<const Piece<T>>(to), {}, &mine.outcome),
                              "several devices");
                      }});
      ways.back().call();  // workspaces come from a pool, streams are made
      ways.back().plan = "rung " + std::to_string(mine.outcome.rung) + ", " + std::to_string(mine.outcome.moduli) +
                         " moduli, " + std::to_string(mine.outcome.repaired) + " repairs";
      if (options.has_one)
        ways.back().differences = static_cast<long long>(differences_of(*of_c, one_c->pieces()[0].view.data));
    }
  }

  std::unique_ptr<Cublas> cublas;
  alignas(16) const T one{1.0F};
  alignas(16) const T zero{0.0F};
  if (options.has_native) {
    check(cudaSetDevice(0), "cudaSetDevice");
    cublas = std::make_unique<Cublas>();
    const auto function = native_syrk<T>(*cublas);
    T* const z = one_c->pieces()[0].view.data;
    ways.push_back({"cublas syrk", {0}, 0, [&one, &zero, function, n, k, x, z, handle = cublas->handle] {
                      if (function(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one, x, n, &zero, z, n) !=
                          CUBLAS_STATUS_SUCCESS)
                        throw std::runtime_error("syrk of cuBLAS failed");
                      check(cudaDeviceSynchronize(), "cuBLAS");
                    }});
    ways.back().call();
  }

  time_all(ways, options.rounds);
  record_timelines(ways, std::string(1, type) + " syrk " + std::to_string(n) + "x" + std::to_string(k),
                   options.timeline);
  const Gauges gauges;
  const double of_one_device = options.has_one ? flops / spread(ways[0].milliseconds).median * 1e-9 : 0;
  for (const Way& way : ways) {
    const Spread ms = spread(way.milliseconds);
    const double tflops = flops / ms.median * 1e-9;
    const double efficiency =
        of_one_device == 0 ? 0 : tflops / (of_one_device * static_cast<double>(way.devices.size()));
    std::fprintf(
        stderr,
        "%csyrk %lldx%lld  %-18s devices %-8s parts %d  from %-7s %9.3f ms %8.1f TFLOPS %5.1f %% of one  %s%s\n", type,
        static_cast<long long>(n), static_cast<long long>(k), way.who.c_str(), text_of(way.devices).c_str(), way.parts,
        options.from.c_str(), ms.median, tflops, 100 * efficiency, way.plan.c_str(),
        way.differences < 0    ? ""
        : way.differences == 0 ? "  equal bits"
                               : "  BITS DIFFER");
    records.append(Json{{"date", today()},
                        {"commit", options.commit},
                        {"device", device_name()},
                        {"driver", gauges.driver},
                        {"operation", "syrk"},
                        {"devices", way.devices.size()},
                        {"which", text_of(way.devices)},
                        {"from", options.from},
                        {"case", std::string(1, type) + " syrk lower " + std::to_string(n) + "x" + std::to_string(k) +
                                     " phi=" + to_text(phi)},
                        {"who", way.who},
                        {"parts", way.parts},
                        {"plan", way.plan},
                        {"ms_median", ms.median},
                        {"ms_min", ms.min},
                        {"ms_max", ms.max},
                        {"tflops", tflops},
                        {"efficiency", efficiency},
                        {"different_words", way.differences}});
    if (way.differences > 0) throw std::runtime_error("bits of several devices differ from those of one");
  }
}

template void measure_syrk<float>(const Options&, std::int64_t, std::int64_t, char, double, const Records&);
template void measure_syrk<double>(const Options&, std::int64_t, std::int64_t, char, double, const Records&);
template void measure_syrk<std::complex<float>>(const Options&, std::int64_t, std::int64_t, char, double,
                                                const Records&);
template void measure_syrk<std::complex<double>>(const Options&, std::int64_t, std::int64_t, char, double,
                                                 const Records&);

}  // namespace bench::shared
