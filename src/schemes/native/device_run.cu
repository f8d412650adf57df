// SPDX-License-Identifier: MIT
#include "schemes/native/device_run.hpp"

#include <cuda_runtime_api.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/instantiate.hpp"
#include "base/overlapped_launch.hpp"
#include "base/phase_range.hpp"
#include "device/pointer_upload.hpp"
#include "device/writes_c.hpp"
#include "schemes/native/device_plan.hpp"

namespace kizami::native {
namespace {

using product::ColumnMajorForm;
using product::NativeProducts;

/// alpha and beta side by side, wherever they were.
template <class T>
__global__ void gather_factors(Factor<T> alpha, Factor<T> beta, T* factors) {
  base::follow_previous_kernel();
  factors[0] = alpha.load();
  factors[1] = beta.load();
}

/// Where all products find alpha and beta. Fills `products`, which may point into `problem`.
template <class T>
Status place_factors(const device::DeviceProblem<T>& problem, std::byte* room, product::Queue queue,
                     NativeProducts<T>& products) {
  if (problem.alpha.device == nullptr && problem.beta.device == nullptr) {
    products.alpha = &problem.alpha.value;
    products.beta = &problem.beta.value;
    return {};
  }
  products.are_factors_on_device = true;
  products.alpha = problem.alpha.device;
  products.beta = problem.beta.device;
  const auto is_usable = [](const T* factor) {
    return factor != nullptr && reinterpret_cast<std::uintptr_t>(factor) % sizeof(T) == 0;
  };
  if (is_usable(products.alpha) && is_usable(products.beta)) return {};
  T* const factors = reinterpret_cast<T*>(room);
  products.alpha = factors;
  products.beta = factors + 1;
  return base::launch_overlapped("gather_factors", gather_factors<T>, dim3(1), dim3(1), 0, queue, problem.alpha,
                                 problem.beta, factors);
}

/// Elements from each matrix to the next one, if that is the same for all and not negative.
template <class T, class MatrixOf>
[[nodiscard]] std::optional<std::int64_t> common_stride(std::span<const device::DeviceProblem<T>> problems,
                                                        const MatrixOf& matrix_of) {
  const auto address = [&](std::size_t i) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(matrix_of(problems[i]).data));
  };
  const std::int64_t bytes = problems.size() < 2 ? 0 : address(1) - address(0);
  if (bytes < 0 || bytes % static_cast<std::int64_t>(sizeof(T)) != 0) return std::nullopt;
  for (std::size_t i = 2; i < problems.size(); ++i) {
    if (address(i) - address(i - 1) != bytes) return std::nullopt;
  }
  return bytes / static_cast<std::int64_t>(sizeof(T));
}

template <class T>
[[nodiscard]] Result<ColumnMajorForm> form_of(const device::DeviceProblem<T>& problem) {
  return product::column_major_form<T>(problem.a, problem.b, problem.c);
}

}  // namespace

template <class T>
Status run_device_native(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                         std::byte* workspace, product::Queue queue) {
  const Result<ColumnMajorForm> form = form_of(problems[0]);
  if (!form.ok()) return form.status();
  for (std::size_t i = 1; i < problems.size(); ++i) {
    const Result<ColumnMajorForm> other = form_of(problems[i]);
    if (!other.ok()) return other.status();
    if (other.value() == form.value()) continue;
    return {StatusCode::kUnsupported, "scheme native: product " + std::to_string(i) +
                                          " of the batch is stored otherwise than the first, must have its strides"};
  }
  base::Carver carver(workspace);
  const DeviceNativeBuffers buffers = carve_device_native(carver, plan);
  const auto a_of = [](const device::DeviceProblem<T>& problem) { return problem.a; };
  const auto b_of = [](const device::DeviceProblem<T>& problem) { return problem.b; };
  const auto c_of = [](const device::DeviceProblem<T>& problem) { return MatrixView<const T>(problem.c); };
  const bool is_exchanged = form.value().is_exchanged;
  const device::DeviceProblem<T>& first = problems[0];
  NativeProducts<T> products;
  products.form = form.value();
  products.num_products = static_cast<std::int64_t>(problems.size());
  products.left = is_exchanged ? first.b.data : first.a.data;
  products.right = is_exchanged ? first.a.data : first.b.data;
  products.c = first.c.data;
  const auto a_stride = common_stride(problems, a_of);
  const auto b_stride = common_stride(problems, b_of);
  const auto c_stride = common_stride(problems, c_of);
  if (a_stride && b_stride && c_stride) {
    products.left_stride = is_exchanged ? *b_stride : *a_stride;
    products.right_stride = is_exchanged ? *a_stride : *b_stride;
    products.c_stride = *c_stride;
  } else {
    std::vector<void*> pointers;
    pointers.reserve(3 * problems.size());
    for (const device::DeviceProblem<T>& problem : problems) pointers.push_back(const_cast<T*>(problem.a.data));
    for (const device::DeviceProblem<T>& problem : problems) pointers.push_back(const_cast<T*>(problem.b.data));
    for (const device::DeviceProblem<T>& problem : problems) pointers.push_back(problem.c.data);
    KIZAMI_RETURN_IF_ERROR(device::upload_pointers(pointers, buffers.pointers, queue));
    const auto* const a = reinterpret_cast<const T* const*>(buffers.pointers);
    const auto* const b = a + problems.size();
    products.left_array = is_exchanged ? b : a;
    products.right_array = is_exchanged ? a : b;
    products.c_array = reinterpret_cast<T* const*>(buffers.pointers + 2 * problems.size());
  }
  KIZAMI_RETURN_IF_ERROR(place_factors(first, buffers.factors, queue, products));
  device::t_writes_c = true;  // the library does not tell
  const base::PhaseRange phase(base::Phase::kProduct);
  return native_of(plan).device_engine->run(plan.schedule.facts.device, products,
                                            {buffers.scratch, plan.schedule.product_bytes}, queue);
}

template <class T>
Status run_device_native(const plan::Plan& plan, const device::DeviceProblem<T>& layouts, const T* const* a,
                         const T* const* b, T* const* c, std::byte* workspace, product::Queue queue) {
  const Result<ColumnMajorForm> form = form_of(layouts);
  if (!form.ok()) return form.status();
  base::Carver carver(workspace);
  const DeviceNativeBuffers buffers = carve_device_native(carver, plan);
  NativeProducts<T> products;
  products.form = form.value();
  products.num_products = plan.schedule.batch.num_products;
  products.left_array = products.form.is_exchanged ? b : a;
  products.right_array = products.form.is_exchanged ? a : b;
  products.c_array = c;
  KIZAMI_RETURN_IF_ERROR(place_factors(layouts, buffers.factors, queue, products));
  device::t_writes_c = true;  // the library does not tell
  const base::PhaseRange phase(base::Phase::kProduct);
  return native_of(plan).device_engine->run(plan.schedule.facts.device, products,
                                            {buffers.scratch, plan.schedule.product_bytes}, queue);
}

#define KIZAMI_INSTANTIATE(T)                                                                                    \
  template Status run_device_native<T>(const plan::Plan&, std::span<const device::DeviceProblem<T>>, std::byte*, \
                                       product::Queue);                                                          \
  template Status run_device_native<T>(const plan::Plan&, const device::DeviceProblem<T>&, const T* const*,      \
                                       const T* const*, T* const*, std::byte*, product::Queue)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::native
