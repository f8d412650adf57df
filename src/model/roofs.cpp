// SPDX-License-Identifier: MIT
#include "model/roofs.hpp"

#include <algorithm>
#include <limits>

namespace kizami::model {
namespace {

/// Bytes that the L2 cache gives a multiprocessor each cycle. Unmeasured here: published loops on cards of compute
/// capability 8.0 to 9.0 reach 15 to 30.
constexpr double kL2BytesPerSmCycle = 20;

/// From a load to its element in memory. Unmeasured here: published loops on cards of compute capability 8.0 to 9.0 find 460
/// to 550 cycles.
constexpr double kLatencyCycles = 500;

[[nodiscard]] const Quantity* find(const Device& device, Basis basis, Fact fact) {
  if (basis == Basis::kCalibrated) {
    if (const Quantity* const measured = device.find_measured(fact)) return measured;
  }
  return device.find_sheet(fact);
}

[[nodiscard]] double value_of(const Device& device, Basis basis, Fact fact, double otherwise = 0) {
  const Quantity* const found = find(device, basis, fact);
  return found == nullptr ? otherwise : found->value;
}

}  // namespace

Rates rates_of(const Device& device, Basis basis, double copy_share, double launch_seconds) {
  constexpr double kTera = 1e12;
  Rates rates;
  rates.sms = value_of(device, basis, Fact::kSms);
  rates.clock_hz = value_of(device, basis, Fact::kClockGhz) * 1e9;
  const double copy = copy_share * value_of(device, basis, Fact::kBandwidthTbs);
  rates.memory = value_of(device, basis, Fact::kCopyTbs, copy) * kTera;
  rates.l2 = std::max(kL2BytesPerSmCycle * rates.sms * rates.clock_hz, rates.memory);
  rates.l2_bytes = value_of(device, basis, Fact::kL2Mb) * 1e6;
  const double fp64 = value_of(device, basis, Fact::kFp64Tflops) * kTera;
  rates.fp64_instructions = fp64 / 2;  // a fused multiply-add is two operations
  rates.int32_instructions = value_of(device, basis, Fact::kInt32PerSmCycle) * rates.sms * rates.clock_hz;
  rates.latency_seconds = kLatencyCycles / rates.clock_hz;
  rates.launch_seconds = value_of(device, basis, Fact::kLaunchUs, launch_seconds * 1e6) * 1e-6;
  for (std::size_t f = 0; f < kNumFormats; ++f) {
    const bool is_low = f < static_cast<std::size_t>(Format::kFp32);
    rates.products[f] = value_of(device, is_low ? Basis::kSheet : basis, kProductRate[f]) * kTera;
    const Quantity* const measured =
        is_low && basis == Basis::kCalibrated ? device.find_measured(kProductRate[f]) : nullptr;
    if (measured == nullptr) continue;
    rates.measured_products[f] = measured->value * kTera;
    if (kProductRate[f] != Fact::kInt8Tops) continue;
    for (const auto& [n, rate] : measured->by_size) rates.int8_by_size.emplace_back(n, rate * kTera);
  }
  if (const Quantity* const left = device.find_measured(Fact::kSustainedShare);
      left != nullptr && basis == Basis::kCalibrated)
    rates.sustained_share = left->value;
  if (const Quantity* const wide = device.find_measured(Fact::kInt8WideTops);
      wide != nullptr && basis == Basis::kCalibrated) {
    constexpr double kGiga = 1e9;
    for (const auto& [gigabytes, rate] : wide->by_size)
      rates.int8_wide_by_bytes.emplace_back(gigabytes * kGiga, rate * kTera);
  }
  double& fp64_products = rates.products[static_cast<std::size_t>(Format::kFp64)];
  fp64_products = std::max(fp64_products, fp64);  // without tensor cores for it
  return rates;
}

Roof PhaseTime::roof() const { return static_cast<Roof>(std::max_element(held.begin(), held.end()) - held.begin()); }

void PhaseTime::add(const PhaseTime& other) {
  seconds += other.seconds;
  for (std::size_t r = 0; r < kNumRoofs; ++r) {
    of_roof[r] += other.of_roof[r];
    held[r] += other.held[r];
  }
}

PhaseTime time_of(const Work& work, const Rates& rates) {
  PhaseTime time;
  time.phase = work.phase;
  time.part = work.part;
  const auto take = [&](Roof roof, double amount, double rate) {
    if (amount <= 0) return;
    time.of_roof[static_cast<std::size_t>(roof)] = rate > 0 ? amount / rate : std::numeric_limits<double>::infinity();
  };
  const bool is_cached = work.bytes <= rates.l2_bytes * std::max(work.launches, 1.0);
  take(is_cached ? Roof::kL2 : Roof::kMemory, work.bytes, is_cached ? rates.l2 : rates.memory);
  take(Roof::kTensor, work.operations, rates.of(work.format) * work.reached);
  take(Roof::kFp64Instructions, work.fp64_instructions, rates.fp64_instructions);
  take(Roof::kInt32Instructions, work.int32_instructions, rates.int32_instructions);
  take(Roof::kIssue, work.sm_cycles, rates.sms * rates.clock_hz);
  const auto lowest = std::max_element(time.of_roof.begin(), time.of_roof.end());
  const double working = *lowest;
  time.held[static_cast<std::size_t>(lowest - time.of_roof.begin())] = working;
  const double launched = work.launches * rates.launch_seconds;
  time.of_roof[static_cast<std::size_t>(Roof::kLaunch)] = launched;
  time.held[static_cast<std::size_t>(Roof::kLaunch)] += launched;
  time.seconds = launched + working;
  return time;
}

}  // namespace kizami::model
