// SPDX-License-Identifier: MIT
// What bench_gpu_gemm is asked to time. Needs no device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "kizami/policy.hpp"

namespace bench {

/// What multiplies: an engine in a scheme.
struct GemmWay {
  std::string name;
  kizami::EngineName engine = kizami::EngineName::kAuto;
  kizami::Scheme scheme = kizami::Scheme::kOzaki2;
  kizami::Slicing slices = {};
  bool is_float_float = false;  ///< none: a baseline
  /// None: FP64 emulated by cuBLAS itself, with so many bits; 0: as many as it finds that the elements need.
  std::optional<int> vendor_bits = {};
};

/// hopper, cublaslt, mma, tile (scheme ozaki2), ec, auto, ff32, cublas/dynamic, cublas/BITS, or ozaki1/... of
/// sliced_way.hpp.
/// @throws std::invalid_argument
[[nodiscard]] GemmWay parse_gemm_way(const std::string& text);

/// Every type, shape and phi is a case, in which all ways are timed beside each other.
struct GemmOptions {
  std::vector<char> types = {'d'};
  std::vector<Shape> shapes = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}};
  std::vector<GemmWay> ways = {parse_gemm_way("hopper"), parse_gemm_way("cublaslt")};
  std::string op = "nn";
  std::vector<double> phis = {0.5};
  std::int64_t batch = 1;
  std::string prepared;    ///< A, B or AB: the sides that are prepared, beside the call that splits them; "" none
  bool is_update = false;  ///< C -= A B is timed
  int repeats = 7;
  int bursts = 0;  ///< of each, every one after a rest
  double sustained = 0;
  bool checks = true;
  bool has_native = true;
  bool is_portable = false;
  std::string commit = "unknown";
  std::string json;
  kizami::Policy policy;

  [[nodiscard]] bool is_a_transposed() const { return op[0] == 't'; }
  [[nodiscard]] bool is_b_transposed() const { return op[1] == 't'; }
};

/// @param options must live until the program has parsed
void add_options(Program& program, GemmOptions& options);

}  // namespace bench
