// SPDX-License-Identifier: MIT
#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// A product captured into a graph, replayed with other elements and, by device pointers, other factors.
template <class T>
void check_graph(const Handle& handle, cublasPointerMode_t mode, const Shape& shape, const char* what) {
  const std::string name =
      name_of<T>(what, shape) + (mode == CUBLAS_POINTER_MODE_HOST ? ", host pointers" : ", device pointers");
  guarded(name, [&] {
    OnDevice<T> x(shape, 5);
    std::vector<T> factors{make<T>(0.5, 2), make<T>(-1, 0.125)};
    DeviceArray<T> device_factors(factors);
    const bool is_host = mode == CUBLAS_POINTER_MODE_HOST;
    handle.set(mode);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaDeviceSynchronize(), "before capture");
    check(cudaStreamBeginCapture(handle.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    const cublasStatus_t status = x.multiply(handle.get(), is_host ? &factors[0] : device_factors.data(),
                                             is_host ? &factors[1] : device_factors.data() + 1);
    const cudaError_t end = cudaStreamEndCapture(handle.stream(), &graph);
    check(status, "captured product");
    check(end, "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    report(name + ", C untouched by the capture", same_bits(x.c.download(), x.problem.c()) ? "" : "it changed");
    for (int replay = 0; replay < 3; ++replay) {
      x.problem.fill(static_cast<std::uint64_t>(10 + replay));
      x.a.upload(x.problem.a());
      x.b.upload(x.problem.b());
      x.reset_c();
      if (!is_host) {
        factors = {make<T>(1 + replay, -0.5), make<T>(0.5, replay)};
        device_factors.upload(factors);
      }
      check(cudaGraphLaunch(executable, handle.stream()), "cudaGraphLaunch");
      const std::vector<T> replayed = x.c.download();
      const std::string replay_name = name + ", replay " + std::to_string(replay);
      report(replay_name, x.problem.judge(replayed, factors[0], factors[1]));
      x.reset_c();
      handle.set(CUBLAS_POINTER_MODE_HOST);
      check(x.multiply(handle.get(), &factors[0], &factors[1]), "product without a graph");
      expect_same_bits(replay_name, replayed, x.c.download());
    }
    check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  });
}

template <class T>
void check_graphs_of(const Handle& handle) {
  check_graph<T>(handle, CUBLAS_POINTER_MODE_HOST, {kN, kN, 513, 511, 509}, "graph, first call of its shape");
  check_graph<T>(handle, CUBLAS_POINTER_MODE_HOST, {kT, kN, 513, 1025, 640}, "graph");
  check_graph<T>(handle, CUBLAS_POINTER_MODE_DEVICE, {kN, kC, 1024, 512, 800}, "graph");
}

/// What a product returns where its capture is no longer valid, and how the capture ends.
struct BrokenCapture {
  cublasStatus_t status;
  cudaError_t end;
};
BrokenCapture multiply_in_broken_capture(const Handle& handle, OnDevice<double>& x, Function<double> gemm) {
  const double one = 1, zero = 0;
  BrokenCapture result{};
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(handle.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  static_cast<void>(cudaStreamSynchronize(handle.stream()));  // is not allowed now
  result.status = x.multiply(handle.get(), &one, &zero, gemm);
  result.end = cudaStreamEndCapture(handle.stream(), &graph);
  static_cast<void>(cudaGetLastError());
  return result;
}

/// A refused call leaves a capture as it is; in a broken one the status is that of cuBLAS, and the next call works.
void check_errors_while_capturing(const Handle& handle) {
  guarded("errors while capturing", [&] {
    OnDevice<double> x({kN, kN, 640, 512, 700}, 21);
    const double one = 1, zero = 0;
    handle.set(CUBLAS_POINTER_MODE_HOST);
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(handle.stream(), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    const cublasStatus_t refused =
        cublasDgemm(handle.get(), kN, kN, 640, 512, 700, &one, x.a.data(), 1, x.b.data(), 700, &zero, x.c.data(), 640);
    const cublasStatus_t captured = x.multiply(handle.get(), &one, &zero);
    check(cudaStreamEndCapture(handle.stream(), &graph), "cudaStreamEndCapture");
    check(captured, "captured product after a refused one");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    report("a refused call in a capture",
           refused == CUBLAS_STATUS_INVALID_VALUE ? "" : "status " + std::to_string(refused));

    const BrokenCapture native = multiply_in_broken_capture(handle, x, native_gemm<double>());
    const BrokenCapture linked = multiply_in_broken_capture(handle, x, linked_gemm<double>());
    const std::string detail =
        "status " + std::to_string(linked.status) + ", of cuBLAS " + std::to_string(native.status);
    report("a product in a broken capture",
           linked.status != native.status || linked.end != native.end || linked.end == cudaSuccess ? detail : "",
           detail);
    x.reset_c();
    check(x.multiply(handle.get(), &one, &zero), "product after a broken capture");
    report("a product after a broken capture", x.problem.judge(x.c.download(), one, zero));
  });
}

}  // namespace

void check_graphs(const Handle& handle) {
  check_graphs_of<float>(handle);
  check_graphs_of<double>(handle);
  check_graphs_of<std::complex<float>>(handle);
  check_graphs_of<std::complex<double>>(handle);
  check_errors_while_capturing(handle);
}

}  // namespace preload_check
