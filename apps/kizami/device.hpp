// SPDX-License-Identifier: MIT
// What --device means: the calling thread's current CUDA device, or one by its number, as the commands see it. No CUDA header is needed to
// include this, and a build without CUDA has all of it. Everything here throws Failure kRefused where there is no
// device, or the program was built without CUDA; kInternal where the device fails; kOutOfMemory where its memory is
// short.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "device_room.hpp"
#include "kizami/outcome.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::cli {

/// What --device of commands that take a processor, too, calls it.
inline constexpr std::string_view kProcessor = "cpu";

/// Of the toolkit that the program was built with, "12.8"; empty: without CUDA.
[[nodiscard]] std::string cuda_version();
/// How many this machine has.
[[nodiscard]] int device_count();
struct DeviceNames {
  std::string device;
  std::string driver;
};
[[nodiscard]] DeviceNames device_names();
/// What the driver calls device `number` of this machine.
[[nodiscard]] std::string device_name(int number);

/// Makes device `number` the current one of this thread.
void use_device(int number);
/// The memory of the current device, as it is now.
[[nodiscard]] DeviceRoom device_room();

/// @status as cuda::make_plan()
[[nodiscard]] Result<Plan> device_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                       const Policy& policy);

/// The matrices of one product in device memory, and a workspace for whatever plan multiplies them. Memory is kept from
/// one product to the next.
template <class T>
class DeviceProduct {
 public:
  DeviceProduct() = default;
  DeviceProduct(const DeviceProduct&) = delete;
  DeviceProduct& operator=(const DeviceProduct&) = delete;
  virtual ~DeviceProduct() = default;

  /// Copies the operands from host memory. @param reads_c  whether C is one: for beta = 0 it is not
  virtual void load(MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> c, bool reads_c) = 0;
  /// C <- alpha A B + beta C, so many times, one call behind the other. @range calls >= 1
  /// @status as cuda::run(). @return seconds of one call, by the clock of the device; `outcome` is that of the last
  [[nodiscard]] virtual Result<double> run(const Plan& plan, T alpha, T beta, int calls, Outcome& outcome) = 0;
  /// Copies C to host memory. @shape as in load()
  virtual void store(MatrixView<T> c) = 0;
};

/// With a stream of its own. @range T is float, double or a complex type of them
template <class T>
[[nodiscard]] std::unique_ptr<DeviceProduct<T>> device_product();

}  // namespace kizami::cli
