// SPDX-License-Identifier: MIT
// Described cards as the planner sees them, with engines of the library.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "device_engines/library.hpp"
#include "engines/cublas/cublas.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/mma/mma.hpp"
#include "engines/mma/product_i8.hpp"
#include "exec/device_rates.hpp"
#include "exec/schemes.hpp"
#include "kizami/predict.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

[[nodiscard]] inline const model::Device& described(const std::string& card) { return *model::find_device(card); }

[[nodiscard]] inline Environment environment_of(const std::string& card) {
  static const Library library(false);
  static const std::array<const product::Engine*, 3> engines = {&engines::hopper_engine(), &library,
                                                                &engines::mma_product_engine()};
  static const std::array<const product::EcEngine*, 1> ec_engines = {&engines::hopper_ec_engine()};
  static const std::array<const product::FloatEngine*, 1> float_engines = {&engines::mma_engine()};
  Environment environment;
  environment.schemes = exec::schemes();
  environment.engines = engines;
  environment.ec_engines = ec_engines;
  environment.float_engines = float_engines;
  environment.native_device_engine = &engines::cublas_engine();
  static_cast<base::DeviceLimits&>(environment.facts) = exec::limits_of(described(card));
  environment.facts.space = product::MemorySpace::kDevice;
  environment.facts.device = 0;
  environment.facts.memory_bytes = std::size_t{24} << 30;
  environment.facts.rates = exec::rates_of(described(card));
  return environment;
}

}  // namespace kizami::plan
