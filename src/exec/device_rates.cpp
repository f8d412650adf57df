// SPDX-License-Identifier: MIT
#include "exec/device_rates.hpp"

#include <algorithm>

namespace kizami::exec {
namespace {

using model::Device;
using model::Fact;

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
  const auto beside = [&](Fact fact) { return sheet_of(device, fact) / sheet_of(h200(), fact); };
  product::RelativeRates rates;
  rates.memory = beside(Fact::kBandwidthTbs);
  rates.int8 = library_tops(device) / library_tops(h200());
  rates.fp64 = beside(Fact::kFp64Tflops);
  rates.native_fp64 = native_fp64_tflops(device) / native_fp64_tflops(h200());
  rates.native_fp32 = beside(Fact::kFp32Tflops);
  return rates;
}

product::RelativeRates rates_by_attributes(const base::DeviceLimits& limits, double bytes_per_second) {
  constexpr double kTera = 1e12;
  const PerCycle here = per_cycle(limits.compute_capability);
  const double cycles = limits.num_sms * limits.clock_hz;  // of all multiprocessors, in a second
  product::RelativeRates rates;
  rates.memory = bytes_per_second / (kTera * sheet_of(h200(), Fact::kBandwidthTbs));
  rates.int8 = kLibraryShare * 2 * here.int8 * cycles / (kTera * library_tops(h200()));
  rates.fp64 = 2 * here.fp64 * cycles / (kTera * sheet_of(h200(), Fact::kFp64Tflops));
  rates.native_fp64 = 2 * here.native_fp64 * cycles / (kTera * native_fp64_tflops(h200()));
  rates.native_fp32 = 2 * here.fp32 * cycles / (kTera * sheet_of(h200(), Fact::kFp32Tflops));
  return rates;
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
