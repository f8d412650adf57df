// SPDX-License-Identifier: MIT
// A device of round numbers, and predictions of products, for the tests of the model.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kizami/predict.hpp"
#include "model/phases.hpp"
#include "model/roofs.hpp"

namespace kizami::model {

/// Round numbers: 100 multiprocessors at 1 GHz, memory at 1 TB/s, 100 TOPS.
[[nodiscard]] inline Device round_device() {
  Device device;
  device.name = "round";
  device.compute_capability = 80;
  const auto set = [&](Fact fact, double value) {
    Quantity quantity;
    quantity.value = value;
    device.sheet[static_cast<std::size_t>(fact)] = quantity;
  };
  set(Fact::kSms, 100);
  set(Fact::kClockGhz, 1);
  set(Fact::kFp64Tflops, 2);
  set(Fact::kFp32Tflops, 10);
  set(Fact::kFp16Tflops, 50);
  set(Fact::kInt8Tops, 100);
  set(Fact::kBandwidthTbs, 1);
  set(Fact::kL2Mb, 1);
  set(Fact::kPowerW, 300);
  set(Fact::kInt32PerSmCycle, 10);
  return device;
}
inline void set_sheet(Device& device, Fact fact, double value) {
  device.sheet[static_cast<std::size_t>(fact)]->value = value;
}

[[nodiscard]] inline Rates round_rates() { return rates_of(round_device(), Basis::kSheet, 0.5, 2e-6); }

[[nodiscard]] inline Prediction predicted(const Device& device, const Request& request) {
  Result<Prediction> made = predict(device, request);
  EXPECT_TRUE(made.ok()) << made.status().reason();
  return made.ok() ? std::move(made).value() : Prediction{};
}

[[nodiscard]] inline Request square(Way way, std::int64_t n) {
  Request request;
  request.m = request.n = request.k = n;
  request.way = way;
  request.basis = Basis::kSheet;
  return request;
}

[[nodiscard]] inline const PhaseTime& phase_of(const Prediction& prediction, const std::string& name) {
  for (const PhaseTime& phase : prediction.phases) {
    if (phase.phase == name) return phase;
  }
  ADD_FAILURE() << "no phase " << name;
  return prediction.phases.front();
}

}  // namespace kizami::model
