// SPDX-License-Identifier: MIT
#include "gpu_gemm/options.hpp"

#include <stdexcept>

#include "sliced_way.hpp"

namespace bench {
namespace {

using kizami::EngineName;
using kizami::Scheme;

[[nodiscard]] GemmWay parse_sliced(const std::string& text) {
  const SlicedWay way = sliced_way(text);
  if (way.is_full) throw std::invalid_argument(text + " is for bench_gpu_slices");
  return {text, way.engine, Scheme::kOzaki1, way.slices};
}

/// cublas/dynamic or cublas/BITS.
[[nodiscard]] GemmWay parse_vendor(const std::string& text) {
  GemmWay way{text, EngineName::kAuto, Scheme::kAuto};
  const std::string bits = text.substr(std::string("cublas/").size());
  way.vendor_bits = 0;
  if (bits == "dynamic") return way;
  if (!is_number(bits, "") || std::stoi(bits) < 1 || std::stoi(bits) > 200)
    throw std::invalid_argument(text + ", must be cublas/dynamic or cublas/BITS with BITS of 1 to 200");
  way.vendor_bits = std::stoi(bits);
  return way;
}

/// What a way cannot do, before anything is timed.
void refuse_misfits(const GemmOptions& options) {
  if (!options.prepared.empty() && options.batch != 1)
    throw CLI::ValidationError("--prepared", "--batch " + std::to_string(options.batch) + ", must be 1");
  if (!options.prepared.empty() && options.is_update)
    throw CLI::ValidationError("--update", "prepared operands are timed in C = A B");
  for (const GemmWay& way : options.ways) {
    if (way.is_float_float && options.is_update)
      throw CLI::ValidationError("--update", "--engine " + way.name + " makes C = A B only");
    if (!way.is_float_float && !way.vendor_bits) continue;
    if (options.batch != 1)
      throw CLI::ValidationError("--engine " + way.name, "--batch " + std::to_string(options.batch) + ", must be 1");
    const std::string known = way.is_float_float ? "d" : "dz";
    for (const char type : options.types) {
      if (known.find(type) == std::string::npos)
        throw CLI::ValidationError("--engine " + way.name, std::string("--type ") + type + ", must be of " + known);
    }
  }
}

}  // namespace

GemmWay parse_gemm_way(const std::string& text) {
  if (text == "ec") return {text, EngineName::kHopper, Scheme::kEc};
  if (text == "auto") return {text, EngineName::kAuto, Scheme::kAuto};
  if (text == "ff32") return {text, EngineName::kAuto, Scheme::kAuto, {}, true};
  if (text.starts_with("ozaki1")) return parse_sliced(text);
  if (text.starts_with("cublas/")) return parse_vendor(text);
  GemmWay way{text};
  if (!find_named(text, EngineName::kCpuRef, EngineName::kMma, way.engine))
    throw std::invalid_argument(
        text + ", must be hopper, cublaslt, mma, tile, ec, auto, ff32, cublas/BITS, cublas/dynamic or ozaki1/SLICES");
  return way;
}

void add_options(Program& program, GemmOptions& options) {
  add_types(program, options.types);
  add_shapes(program, options.shapes);
  add_parsed(program, "--engine", options.ways, parse_gemm_way,
             "what multiplies: hopper, cublaslt, tile, ec, auto, ff32, cublas/dynamic, cublas/BITS, ozaki1/SLICES...")
      ->default_str("[hopper,cublaslt]");
  program.add_option("--op", options.op, "A and B as they are (n) or transposed in memory (t)")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  program.add_option("--phi", options.phis, "widths of exponents")->check(between(0, 100));
  program.add_option("--batch", options.batch, "products of a call, each behind the one before it in memory")
      ->check(CLI::PositiveNumber);
  program.add_option("--prepared", options.prepared, "sides that are prepared once, beside the call that splits them")
      ->check(CLI::IsMember({"A", "B", "AB"}));
  program.add_flag("--update", options.is_update, "times C -= A B, as factorizations ask for");
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000000));
  program.add_option("--bursts", options.bursts, "times a rest of a second and then 8 calls back to back, of each")
      ->check(CLI::Range(0, 1000));
  program.add_option("--sustained", options.sustained, "seconds of calls back to back, with clock and power")
      ->check(between(0, 3600));
  program.add_option_function<int>(
      "--bits", [&options](int bits) { options.policy.accuracy = kizami::Accuracy::at_bits(bits); },
      "accuracy; without it native");
  program.add_option_function<std::size_t>(
      "--workspace", [&options](std::size_t mib) { options.policy.workspace_limit_bytes = mib << 20; },
      "MiB that a call may have; without it as many as it would like");
  program.add_flag("--may-sync", options.policy.may_sync, "lets a call wait for the device");
  program.add_flag("--portable", options.is_portable,
                   "calls go as on a device of compute capability 8.0 with these multiprocessors");
  program.add_flag("--no-check{false}", options.checks, "leaves errors out");
  program.add_flag("--no-native{false}", options.has_native, "leaves native cuBLAS out");
  add_json(program, options.json);
  add_commit(program, options.commit);
  program.final_callback([&options] { refuse_misfits(options); });
}

}  // namespace bench
