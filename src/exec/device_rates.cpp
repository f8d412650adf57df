// SPDX-License-Identifier: MIT
#include "exec/device_rates.hpp"

#include <algorithm>

namespace kizami::exec {
namespace {

using model::Device;
using model::Fact;

constexpr double kTera = 1e12;
constexpr double kUnknownPower = 300;   // W; no choice hangs on it
constexpr double kLongProduct = 8192;   // n of it
constexpr double kLibraryShare = 0.65;  // of the sheet's rate, where nobody has measured

[[nodiscard]] double sheet_of(const Device& device, Fact fact) {
  const model::Quantity* const found = device.find_sheet(fact);
  return found == nullptr ? 0.0 : found->value;
}

/// INT8 operations of a long product by the vendor's library. @units 1e12 a second
[[nodiscard]] double library_tops(const Device& device) {
  const model::Quantity* const measured = device.find_measured(Fact::kInt8Tops);
  if (measured == nullptr) return kLibraryShare * sheet_of(device, Fact::kInt8Tops);
  for (const auto& [n, rate] : measured->by_size) {
    if (n >= kLongProduct) return rate;
  }
  return measured->value;
}

[[nodiscard]] double native_fp64_tflops(const Device& device) {
  return std::max(sheet_of(device, Fact::kFp64Tflops), sheet_of(device, Fact::kFp64TensorTflops));
}

[[nodiscard]] const Device& h200() { return *model::find_device("h200"); }

/// What a multiprocessor does in a cycle: products with an addition.
struct PerCycle {
  double int8;
  double fp64;
  double native_fp64;
  double fp32;
};
[[nodiscard]] PerCycle per_cycle(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return {2048, 32, 64, 64};
    case 90:
      return {4096, 64, 128, 128};
    case 100:
      return {8192, 64, 64, 128};
    case 103:
      return {256, 2, 2, 128};
    default:  // 8.6, 8.9, 12.x
      return {1024, 2, 2, 128};
  }
}

}  // namespace

product::RelativeRates rates_of(const Device& device) {
  // What an H200 reaches by the measure of kizami calibrate: src/engines/cublas/cublas_seconds.hpp.
  constexpr double kNativeFp64 = 54e12 / (1 + 18.0 / 4096) / kTera;
  constexpr double kNativeFp32 = 51.5e12 / (1 + 18.0 / 4096) / kTera;
  const auto beside = [&](Fact fact) { return sheet_of(device, fact) / sheet_of(h200(), fact); };
  const auto measured_beside = [&](Fact fact, double of_h200, double otherwise) {
    const model::Quantity* const measured = device.find_measured(fact);
    return measured == nullptr ? otherwise : measured->value / of_h200;
  };
  product::RelativeRates rates;
  rates.memory =
      measured_beside(Fact::kCopyTbs, h200().find_measured(Fact::kCopyTbs)->value, beside(Fact::kBandwidthTbs));
  rates.int8 = library_tops(device) / library_tops(h200());
  rates.fp64 = beside(Fact::kFp64Tflops);
  rates.native_fp64 =
      measured_beside(Fact::kFp64TensorTflops, kNativeFp64, native_fp64_tflops(device) / native_fp64_tflops(h200()));
  rates.native_fp32 = measured_beside(Fact::kFp32Tflops, kNativeFp32, beside(Fact::kFp32Tflops));
  rates.mma = measured_beside(Fact::kMmaShare, 1, 1);
  return rates;
}

Device description_by_attributes(const base::DeviceLimits& limits, double bytes_per_second, const std::string& title) {
  const PerCycle here = per_cycle(limits.compute_capability);
  const double cycles = limits.num_sms * limits.clock_hz;  // of all multiprocessors, in a second
  Device device;
  device.name = "attributes";
  device.title = title;
  device.compute_capability = limits.compute_capability;
  device.sources.emplace_back("A", "attributes of the driver, and what a multiprocessor of its kind does in a cycle");
  const auto set = [&](Fact fact, double value) {
    model::Quantity quantity;
    quantity.value = value;
    quantity.is_uncertain = true;
    quantity.source = "A";
    device.sheet[static_cast<std::size_t>(fact)] = quantity;
  };
  set(Fact::kSms, limits.num_sms);
  set(Fact::kClockGhz, 1e-9 * limits.clock_hz);
  set(Fact::kFp64Tflops, 2 * here.fp64 * cycles / kTera);
  if (here.native_fp64 > here.fp64) set(Fact::kFp64TensorTflops, 2 * here.native_fp64 * cycles / kTera);
  set(Fact::kFp32Tflops, 2 * here.fp32 * cycles / kTera);
  set(Fact::kInt8Tops, 2 * here.int8 * cycles / kTera);
  set(Fact::kBandwidthTbs, bytes_per_second / kTera);
  set(Fact::kL2Mb, static_cast<double>(limits.l2_bytes) / (1 << 20));
  set(Fact::kPowerW, kUnknownPower);
  set(Fact::kInt32PerSmCycle, 64);
  return device;
}

int shared_bytes_of(int compute_capability) {
  switch (compute_capability) {
    case 80:
    case 87:
      return 163 << 10;
    case 90:
    case 100:
    case 103:
      return 227 << 10;
    default:  // 8.6, 8.9, 12.x
      return 99 << 10;
  }
}

base::DeviceLimits limits_of(const Device& device) {
  base::DeviceLimits limits;
  limits.compute_capability = limits.code_capability = device.compute_capability;
  limits.num_sms = static_cast<int>(sheet_of(device, Fact::kSms));
  limits.shared_bytes = shared_bytes_of(device.compute_capability);
  limits.l2_bytes = static_cast<int>(sheet_of(device, Fact::kL2Mb) * (1 << 20));
  limits.clock_hz = 1e9 * sheet_of(device, Fact::kClockGhz);
  return limits;
}

}  // namespace kizami::exec
