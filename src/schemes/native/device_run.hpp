// SPDX-License-Identifier: MIT
// Scheme native on a device: one call of the vendor's library for all products of a plan.
#pragma once

#include <cstddef>
#include <span>

#include "device/problem.hpp"
#include "kizami/batch.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::native {

/// @range  a plan of scheme native, and problems that validate_device_problem() lets pass, with elements and terms
/// @status kUnsupported: no library, a first call while the queue is captured, or matrices that no BLAS takes
/// @queue  asynchronous, capturable
template <class T>
Status run_device_native(const plan::Plan& plan, std::span<const device::DeviceProblem<T>> problems,
                         std::byte* workspace, product::Queue queue);

/// The same for matrices that arrays in device memory point to. @param layouts one product, whose addresses do not matter
template <class T>
Status run_device_native(const plan::Plan& plan, const device::DeviceProblem<T>& layouts, const T* const* a,
                         const T* const* b, T* const* c, std::byte* workspace, product::Queue queue);

}  // namespace kizami::native
