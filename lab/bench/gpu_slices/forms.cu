// SPDX-License-Identifier: MIT
#include "gpu_slices/forms.hpp"

#include "device_bench.cuh"
#include "kizami/cuda.hpp"

namespace bench {
namespace {

/// Column-major [Re X, -Im X; Im X, Re X] of a column-major X of `rows` rows.
__global__ void enlarge(const double2* x, std::int64_t rows, std::int64_t count, double* out) {
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < count;
       at += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const double2 value = x[at];
    const std::int64_t left = at / rows * 2 * rows + at % rows;
    const std::int64_t right = left + 2 * count;
    out[left] = out[right + rows] = value.x;
    out[left + rows] = value.y;
    out[right] = -value.y;
  }
}

/// The complex matrix of `rows` rows whose parts lie above each other in x.
__global__ void gather(const double* x, std::int64_t rows, std::int64_t count, double2* out) {
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < count;
       at += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t from = at / rows * 2 * rows + at % rows;
    out[at] = {x[from], x[from + rows]};
  }
}

}  // namespace

kizami::Result<Form> full_enlarged(std::int64_t m, std::int64_t n, std::int64_t k, const std::complex<double>* a,
                                   const std::complex<double>* b, std::complex<double>* c,
                                   const kizami::Policy& policy) {
  auto plan = kizami::cuda::make_plan(kizami::Scalar::kF64, 2 * m, 2 * n, 2 * k, policy);
  if (!plan.ok()) return plan.status();
  struct Matrices {
    DeviceBuffer<double> a, b, c;
  };
  const auto x = std::shared_ptr<Matrices>(
      new Matrices{DeviceBuffer<double>(4 * m * k), DeviceBuffer<double>(4 * k * n), DeviceBuffer<double>(4 * m * n)});
  const auto call = [=, plan = plan.value()](std::span<std::byte> workspace) {
    enlarge<<<2048, 256>>>(reinterpret_cast<const double2*>(a), m, m * k, x->a.data);
    enlarge<<<2048, 256>>>(reinterpret_cast<const double2*>(b), k, k * n, x->b.data);
    const auto view = [](const double* data, std::int64_t rows, std::int64_t cols) {
      return kizami::blas_view(data, rows, cols, rows);
    };
    check(kizami::cuda::run<double>(plan, 1.0, view(x->a.data, 2 * m, 2 * k), view(x->b.data, 2 * k, 2 * n), 0.0,
                                    kizami::blas_view(x->c.data, 2 * m, 2 * n, 2 * m), workspace, nullptr),
          "the enlarged product");
    gather<<<2048, 256>>>(x->c.data, m, m * n, reinterpret_cast<double2*>(c));
    check(cudaGetLastError(), "the enlarged product");
  };
  return Form{call, plan.value().workspace_bytes(), plan.value()};
}

}  // namespace bench
