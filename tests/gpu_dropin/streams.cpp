// SPDX-License-Identifier: MIT
#include <array>
#include <memory>
#include <thread>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// Two threads, each with a handle, four streams and products that follow each other: D = C B' needs the C of its
/// stream.
template <class T>
void check_streams_of(int thread) {
  const Shape shape{kN, kT, 400 + 100 * thread, 500, 600};
  const std::string name = name_of<T>(("streams of thread " + std::to_string(thread)).c_str(), shape);
  guarded(name, [&] {
    const Handle handle;
    constexpr int kStreams = 4, kRounds = 3;
    const T alpha = make<T>(1.25, -0.5), beta = make<T>(-0.75, 0.25);
    std::array<cudaStream_t, kStreams> streams{};
    std::vector<std::unique_ptr<OnDevice<T>>> x;
    for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    for (int i = 0; i < kStreams * kRounds; ++i) x.push_back(std::make_unique<OnDevice<T>>(shape, 100 * thread + i));
    for (int i = 0; i < kStreams * kRounds; ++i) {
      check(cublasSetStream(handle.get(), streams[std::size_t(i % kStreams)]), "cublasSetStream");
      check(x[std::size_t(i)]->multiply(handle.get(), &alpha, &beta), "product in a stream");
    }
    Judgement worst;
    std::vector<std::vector<T>> results;
    for (const auto stream : streams) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (const auto& one : x) {
      results.push_back(one->c.download());
      const Judgement judgement = one->problem.judge(results.back(), alpha, beta);
      if (!judgement.error.empty() || judgement.ratio > worst.ratio) worst = judgement;
      if (!judgement.error.empty()) break;
    }
    report(name, worst);
    check(cublasSetStream(handle.get(), handle.stream()), "cublasSetStream");
    for (std::size_t i = 0; i < results.size() && expects_kizami; i += 5) {
      x[i]->reset_c();
      check(x[i]->multiply(handle.get(), &alpha, &beta), "product alone");
      expect_same_bits(name + ", product " + std::to_string(i), results[i], x[i]->c.download());
    }
    for (const auto stream : streams) check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  });
}

/// The default stream of a handle that was given none.
void check_default_stream() {
  const Shape shape{kN, kN, 700, 800, 900};
  guarded("default stream", [&] {
    cublasHandle_t handle{};
    check(cublasCreate(&handle), "cublasCreate");
    OnDevice<double> x(shape, 9);
    const double one = 1, zero = 0;
    check(x.multiply(handle, &one, &zero), "product");
    report(name_of<double>("default stream", shape), x.problem.judge(x.c.download(), one, zero));
    check(cublasDestroy(handle), "cublasDestroy");
  });
}

/// A product returns while what is before it in the stream goes on.
void check_that_nothing_waits() {
  guarded("nothing waits", [&] {
    const Handle handle;
    OnDevice<double> x({kN, kN, 1024, 1024, 1024}, 31);
    const double one = 1, zero = 0;
    check(x.multiply(handle.get(), &one, &zero), "first product");  // plans, loads kernels
    check(cudaStreamSynchronize(handle.stream()), "cudaStreamSynchronize");
    Gate gate;
    check(cudaLaunchHostFunc(handle.stream(), Gate::wait, &gate), "cudaLaunchHostFunc");
    check(x.multiply(handle.get(), &one, &zero), "product behind a gate");
    const cudaError_t query = cudaStreamQuery(handle.stream());
    gate.is_open = true;
    report("a product waits for nothing", query == cudaErrorNotReady ? "" : "its stream is done when it returns");
    report("the product behind a gate", x.problem.judge(x.c.download(), one, zero));
  });
}

void check_that_nothing_is_allocated_again() {
  guarded("nothing is allocated again", [&] {
    const Handle handle;
    OnDevice<double> x({kN, kN, 1024, 1024, 1024}, 32);
    const double one = 1, zero = 0;
    std::size_t before = 0, after = 0, total = 0;
    check(x.multiply(handle.get(), &one, &zero), "first product");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemGetInfo(&before, &total), "cudaMemGetInfo");
    for (int i = 0; i < 20; ++i) check(x.multiply(handle.get(), &one, &zero), "product");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
    report("20 products more allocate nothing",
           before == after ? "" : std::to_string(before - after) + " bytes less are free");
  });
}

}  // namespace

void check_streams(bool is_monitored) {
  std::thread other([] {
    check_streams_of<double>(1);
    check_streams_of<std::complex<float>>(1);
  });
  check_streams_of<std::complex<double>>(0);
  check_streams_of<double>(0);
  other.join();
  check_default_stream();
  if (!is_monitored) check_that_nothing_waits();
  check_that_nothing_is_allocated_again();
}

void check_second_device() {
  int num_devices = 0;
  check(cudaGetDeviceCount(&num_devices), "cudaGetDeviceCount");
  if (num_devices < 2) return;
  guarded("second device", [] {
    check(cudaSetDevice(1), "cudaSetDevice");
    {
      const Handle handle;
      OnDevice<double> x({kN, kT, 1024, 1024, 1024}, 33);
      const double alpha = 1.5, beta = -0.5;
      check(x.multiply(handle.get(), &alpha, &beta), "product");
      report("second device", x.problem.judge(x.c.download(), alpha, beta));
    }
    check(cudaSetDevice(0), "cudaSetDevice");
  });
}

}  // namespace preload_check
