// SPDX-License-Identifier: MIT
// An H200 as the planner sees it, with engines of the library.
#pragma once

#include <array>
#include <span>

#include "engines/cublas/cublas.hpp"
#include "engines/cublaslt/cublaslt.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "exec/schemes.hpp"
#include "plan/h200_facts.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {

/// With hopper, its ec engine and cuBLAS; and with cublaslt if it is asked for.
[[nodiscard]] inline Environment h200_environment(bool has_cublaslt = false) {
  static const std::array<const product::Engine*, 2> engines = {&engines::hopper_engine(), &engines::cublaslt_engine()};
  static const std::array<const product::EcEngine*, 1> ec_engines = {&engines::hopper_ec_engine()};
  Environment environment;
  environment.schemes = exec::schemes();
  environment.engines = std::span(engines).first(has_cublaslt ? 2 : 1);
  environment.ec_engines = ec_engines;
  environment.native_device_engine = &engines::cublas_engine();
  environment.facts = h200_facts();
  return environment;
}

}  // namespace kizami::plan
