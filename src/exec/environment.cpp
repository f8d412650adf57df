// SPDX-License-Identifier: MIT
#include "exec/environment.hpp"

#include <array>

#include "base/default_threads.hpp"
#include "base/fork_safe.hpp"
#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/cpu_simd/cpu_simd.hpp"
#include "engines/native/native_blas.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "engines/tile/tile.hpp"
#include "exec/processor_file.hpp"
#include "exec/schemes.hpp"
#include "schemes/ozaki2/residues.hpp"

extern "C" {
// What the BLAS says of itself, if it is OpenBLAS.
__attribute__((weak)) char* openblas_get_config();
}

namespace kizami::exec {
namespace {

[[nodiscard]] product::DeviceFacts processor_facts() {
  product::DeviceFacts facts;
#if defined(__x86_64__)
  __builtin_cpu_init();
  facts.has_avx2 = __builtin_cpu_supports("avx2") != 0;
  facts.has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                     __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  facts.has_avx512_vnni = facts.has_avx512 && __builtin_cpu_supports("avx512vnni") != 0;
#elif defined(__aarch64__)
  facts.has_neon = true;
#endif
  facts.processor = processor_calibration().rates;
  return facts;
}

/// What is the same in every call.
struct Processor {
  std::array<const product::Engine*, 3> engines = {&engines::cpu_simd_engine(), &engines::tile_engine(),
                                                   &engines::cpu_ref_engine()};
  std::array<const product::FloatEngine*, 1> float_engines = {&engines::tc_model_engine()};
  product::DeviceFacts facts = processor_facts();
};

}  // namespace

plan::Environment environment() {
  static constinit base::MadeOnce<Processor> processor;
  const Processor& found = processor.get();
  plan::Environment environment;
  environment.facts = found.facts;
  environment.engines = found.engines;
  environment.float_engines = found.float_engines;
  environment.native_engine = &engines::native_blas_engine();
  environment.schemes = schemes();
  environment.facts.num_threads = base::default_threads();
  return environment;
}

std::string native_library() { return openblas_get_config != nullptr ? openblas_get_config() : "BLAS of unknown make"; }

std::string machine_report() {
  const product::DeviceFacts facts = environment().facts;
  const auto yes_no = [](bool x) { return x ? "yes" : "no"; };
  std::string text;
  text += "threads        " + std::to_string(facts.num_threads) + "\n";
  text += std::string("avx2           ") + yes_no(facts.has_avx2) + "\n";
  text += std::string("avx512         ") + yes_no(facts.has_avx512) + "\n";
  text += std::string("avx512_vnni    ") + yes_no(facts.has_avx512_vnni) + "\n";
  text += "engine         cpu_simd, kernel " + std::string(engines::cpu_simd_kernel_name()) + "\n";
  text += "engine         cpu_ref\n";
  text += "engine         tile, kernels in CUDA Tile C++ run by the host library\n";
  text += "engine         tc_model, a software tensor core, for scheme ec\n";
  text += std::string("fp64 phases    Highway target ") + ozaki2::residue_row_target() + "\n";
  text += "native         " + native_library() + "\n";
  const ProcessorCalibration& calibration = processor_calibration();
  text += "calibration    ";
  if (calibration.is_used) {
    text += calibration.path;
  } else if (calibration.why_unused.empty()) {
    text += "none: kizami calibrate --device cpu makes one";
  } else {
    text += "none: " + calibration.path + " is left out: " + calibration.why_unused;
  }
  text += "\n";
  return text;
}

}  // namespace kizami::exec
