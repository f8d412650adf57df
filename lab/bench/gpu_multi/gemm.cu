// SPDX-License-Identifier: MIT
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_multi/ways.cuh"
#include "harness/spread.hpp"

namespace bench::shared {
namespace {

/// Native cuBLAS on each device, of its columns alone.
template <class T>
struct NativeBlock {
  NativeBlock(const Shape& s, std::int64_t cols, int device_number, const Matrix<T>& a, const Matrix<T>& b)
      : device(device_number),
        current(device_number),
        shape{s.m, cols, s.k},
        x(s.m * s.k),
        y(s.k * cols),
        z(s.m * cols) {
    a.copy_to(x.data);
    const std::vector<Piece<const T>> pieces = b.const_pieces();  // any columns do: the first ones that are there
    check(
        cudaMemcpy(y.data, pieces[0].view.data,
                   static_cast<std::size_t>(s.k * std::min(cols, pieces[0].view.cols)) * sizeof(T), cudaMemcpyDefault),
        "columns of B");
  }
  void enqueue() const {
    check(cudaSetDevice(device), "cudaSetDevice");
    cublas.multiply(shape.m, shape.n, shape.k, x.data, y.data, z.data);
  }

  int device;
  OnDevice current;
  Shape shape;
  Cublas cublas;
  DeviceBuffer<T> x, y, z;
};

}  // namespace

template <class T>
void measure_gemm(const Options& options, const Shape& s, char type, double phi, const Records& records) {
  const bool is_on_host = options.from == "host";
  const double flops = (kizami::kIsComplex<T> ? 8.0 : 2.0) * static_cast<double>(s.m) * static_cast<double>(s.n) *
                       static_cast<double>(s.k);
  std::vector<Way> ways;
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kOzaki2;
  const std::vector<int> of_one = {is_on_host ? -1 : 0};
  Matrix<T> a(s.m, s.k, of_one);
  Matrix<T> b(s.k, s.n, of_one);
  Matrix<T> c(s.m, s.n, of_one);
  a.fill(1, phi);
  b.fill(1001, phi);

  // On the first device alone, by the call of one device: what all bits are compared with.
  std::unique_ptr<Matrix<T>> one_a, one_b, one_c;
  std::unique_ptr<DeviceBuffer<std::byte>> workspace;
  if (options.has_one) {
    one_c = std::make_unique<Matrix<T>>(s.m, s.n, std::vector<int>{0});
    if (is_on_host) {
      one_a = std::make_unique<Matrix<T>>(s.m, s.k, std::vector<int>{0});
      one_b = std::make_unique<Matrix<T>>(s.k, s.n, std::vector<int>{0});
      a.copy_to(one_a->pieces()[0].view.data);
      b.copy_to(one_b->pieces()[0].view.data);
    }
    const MatrixView<const T> x = (one_a ? *one_a : a).pieces()[0].view;
    const MatrixView<const T> y = (one_b ? *one_b : b).pieces()[0].view;
    const MatrixView<T> z = one_c->pieces()[0].view;
    auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy);
    check(plan.status(), "the plan of one device");
    workspace = std::make_unique<DeviceBuffer<std::byte>>(static_cast<std::int64_t>(plan.value().workspace_bytes()));
    const std::span<std::byte> memory(workspace->data, plan.value().workspace_bytes());
    ways.push_back({"kizami", {0}, 0, [=, plan = plan.value()] {
                      check(kizami::cuda::run<T>(plan, T{1}, x, y, T{0}, z, memory, nullptr), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
  }

  cudaStream_t stream = nullptr;
  if (options.has_one && options.has_variants) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    const MatrixView<const T> x = (one_a ? *one_a : a).pieces()[0].view;
    const MatrixView<const T> y = (one_b ? *one_b : b).pieces()[0].view;
    const MatrixView<T> z = one_c->pieces()[0].view;
    auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy);
    check(plan.status(), "the plan of one device");
    const std::span<std::byte> memory(workspace->data, plan.value().workspace_bytes());
    ways.push_back({"kizami, own stream", {0}, 0, [=, plan = plan.value()] {
                      check(kizami::cuda::run<T>(plan, T{1}, x, y, T{0}, z, memory, stream), "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
    ways.push_back({"kizami, pool", {0}, 0, [=] {
                      check(kizami::cuda::gemm<T>(nullptr, kizami::Layout::kColMajor, kizami::Op::kNone,
                                                  kizami::Op::kNone, s.m, s.n, s.k, T{1}, x.data, s.m, y.data, s.k,
                                                  T{0}, z.data, s.m, policy),
                            "one device");
                      check(cudaDeviceSynchronize(), "one device");
                    }});
    ways.back().call();
  }

  struct Shared {
    std::shared_ptr<Matrix<T>> a, b, c;  ///< in pieces, of all ways with these devices
    std::vector<std::unique_ptr<Memory<std::byte>>> workspaces;
    kizami::Outcome outcome;
  };
  std::vector<std::unique_ptr<Shared>> shared;
  for (const std::vector<int>& devices : options.devices) {
    Shared pieces;
    if (options.from == "pieces") {
      pieces.a = std::make_shared<Matrix<T>>(s.m, s.k, devices);
      pieces.b = std::make_shared<Matrix<T>>(s.k, s.n, devices);
      pieces.c = std::make_shared<Matrix<T>>(s.m, s.n, devices);
      pieces.a->take(a);
      pieces.b->take(b);
    }
    for (const int parts : options.parts) {
      shared.push_back(std::make_unique<Shared>());
      Shared& mine = *shared.back();
      mine.a = pieces.a;
      mine.b = pieces.b;
      mine.c = pieces.c;
      const Matrix<T>* const of_a = mine.a ? mine.a.get() : &a;
      const Matrix<T>* const of_b = mine.b ? mine.b.get() : &b;
      const Matrix<T>* const of_c = mine.c ? mine.c.get() : &c;
      if (mine.c) mine.c->clear();
      Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      if (options.speeds.size() == devices.size()) placement.speeds = options.speeds;
      if (options.measures_speeds) placement.speeds = measured_speeds<T>(devices);
      auto plan = kizami::multi::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy, placement);
      check(plan.status(), "the plan of several devices");
      ways.push_back(
          {"kizami::multi", devices, parts,
           [=, &mine, plan = plan.value(), x = of_a->const_pieces(), y = of_b->const_pieces(), z = of_c->pieces()] {
             check(kizami::multi::run<T>(plan, T{1}, std::span<const Piece<const T>>(x),
                                         std::span<const Piece<const T>>(y), T{0}, std::span<const Piece<T>>(z), {},
                                         &mine.outcome),
                   "several devices");
           }});
      ways.back().call();  // workspaces come from a pool, streams are made
      ways.back().plan = "rung " + std::to_string(mine.outcome.rung) + ", " + std::to_string(mine.outcome.moduli) +
                         " moduli, " + std::to_string(mine.outcome.repaired) + " repairs";
      if (options.has_one) {
        ways.front().call();
        ways.back().differences = static_cast<long long>(differences_of(*of_c, one_c->pieces()[0].view.data));
      }
    }
  }

  if (options.has_variants) {
    const std::size_t num_shared = shared.size();
    for (std::size_t i = 0; i < num_shared; ++i) {
      Shared& mine = *shared[i];
      const Matrix<T>& of_a = mine.a ? *mine.a : a;
      const Matrix<T>& of_b = mine.b ? *mine.b : b;
      const Matrix<T>& of_c = mine.c ? *mine.c : c;
      const std::vector<int>& devices = options.devices[i / options.parts.size()];
      const int parts = options.parts[i % options.parts.size()];
      const Placement placement{.devices = devices, .speeds = {}, .parts = parts};
      auto plan = kizami::multi::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy, placement);
      check(plan.status(), "the plan of several devices");
      std::vector<std::span<std::byte>> spans;
      for (int d = 0; d < plan.value().num_devices(); ++d) {
        const auto bytes = static_cast<std::int64_t>(plan.value().workspace_bytes(d));
        mine.workspaces.push_back(std::make_unique<Memory<std::byte>>(bytes, plan.value().device(d)));
        spans.emplace_back(mine.workspaces.back()->data(), static_cast<std::size_t>(bytes));
      }
      ways.push_back({"kizami::multi, own memory", devices, parts,
                      [=, plan = plan.value(), x = of_a.const_pieces(), y = of_b.const_pieces(), z = of_c.pieces()] {
                        check(kizami::multi::run<T>(
                                  plan, T{1}, std::span<const Piece<const T>>(x), std::span<const Piece<const T>>(y),
                                  T{0}, std::span<const Piece<T>>(z), std::span<const std::span<std::byte>>(spans)),
                              "several devices");
                      }});
      ways.back().call();
    }
  }

  std::vector<std::unique_ptr<NativeBlock<T>>> native;
  if (options.has_native) {
    for (const std::vector<int>& devices : options.devices) {
      std::vector<const NativeBlock<T>*> blocks;
      for (const int device : devices) {
        native.push_back(
            std::make_unique<NativeBlock<T>>(s, s.n / static_cast<std::int64_t>(devices.size()), device, a, b));
        blocks.push_back(native.back().get());
      }
      check(cudaSetDevice(0), "cudaSetDevice");
      ways.push_back({"cublas", devices, 0, [=] {
                        for (const NativeBlock<T>* block : blocks) block->enqueue();
                        wait_for(devices);
                      }});
      ways.back().call();
    }
  }

  time_all(ways, options.rounds);
  record_timelines(ways, std::string(1, type) + " nn " + to_string(s), options.timeline);
  if (stream != nullptr) check(cudaStreamDestroy(stream), "a stream");
  const Gauges gauges;
  for (const Way& way : ways) {
    const Spread ms = spread(way.milliseconds);
    const double tflops = flops / ms.median * 1e-9;
    std::fprintf(stderr, "%cgemm %s  %-14s devices %-8s parts %d  from %-7s %9.3f ms %8.1f TFLOPS  %s%s\n", type,
                 to_string(s).c_str(), way.who.c_str(), text_of(way.devices).c_str(), way.parts, options.from.c_str(),
                 ms.median, tflops, way.plan.c_str(),
                 way.differences < 0    ? ""
                 : way.differences == 0 ? "  equal bits"
                                        : "  BITS DIFFER");
    records.append(Json{{"date", today()},
                        {"commit", options.commit},
                        {"device", device_name()},
                        {"driver", gauges.driver},
                        {"devices", way.devices.size()},
                        {"which", text_of(way.devices)},
                        {"from", options.from},
                        {"case", std::string(1, type) + " nn " + to_string(s) + " phi=" + to_text(phi)},
                        {"who", way.who},
                        {"parts", way.parts},
                        {"plan", way.plan},
                        {"ms_median", ms.median},
                        {"ms_min", ms.min},
                        {"ms_max", ms.max},
                        {"tflops", tflops},
                        {"different_words", way.differences}});
    if (way.differences > 0) throw std::runtime_error("bits of several devices differ from those of one");
  }
}

template void measure_gemm<float>(const Options&, const Shape&, char, double, const Records&);
template void measure_gemm<double>(const Options&, const Shape&, char, double, const Records&);
template void measure_gemm<std::complex<float>>(const Options&, const Shape&, char, double, const Records&);
template void measure_gemm<std::complex<double>>(const Options&, const Shape&, char, double, const Records&);

}  // namespace bench::shared
