// SPDX-License-Identifier: MIT
// Vectors of tensor cores as text, and the model held against them. A file is made by lab/bench/tensor_core_vectors.cu:
//   # core hopper                      which num::TensorCore is claimed; other lines with # are provenance
//   TYPE C D A... B...                 hexadecimal bits: D = C + sum_h A_h B_h, 16 pairs (TF32: 8), in one step
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kizami/formats.hpp"
#include "num/tensor_core.hpp"

namespace kizami::engines::testing {

struct VectorReport {
  std::string core;  ///< "hopper" or "ampere", from the file
  std::int64_t num_vectors = 0;
  std::int64_t num_types = 0;           ///< formats that occur
  std::vector<std::string> mismatches;  ///< one line each: where, got, want
  std::string error;                    ///< why the text is no such file; empty if it is one
};

namespace detail {

inline std::optional<num::FloatType> type_named(const std::string& name) {
  if (name == "fp16") return num::FloatType::kFp16;
  if (name == "bf16") return num::FloatType::kBf16;
  if (name == "tf32") return num::FloatType::kTf32;
  return std::nullopt;
}

inline double value_of(num::FloatType type, std::uint32_t bits) {
  switch (type) {
    case num::FloatType::kFp16:
      return Fp16::from_bits(static_cast<std::uint16_t>(bits)).to_double();
    case num::FloatType::kBf16:
      return Bf16::from_bits(static_cast<std::uint16_t>(bits)).to_double();
    case num::FloatType::kTf32:
      return Tf32::from_bits(bits).to_double();
  }
  return 0;
}

inline num::TensorCore core_named(const std::string& name, num::FloatType type) {
  return name == "ampere" ? num::ampere_tensor_core(type) : num::hopper_tensor_core(type);
}

}  // namespace detail

/// Computes every vector of a text with the model. An instruction of 16 pairs on a core whose groups are smaller is
/// several steps, in order.
inline VectorReport check_vectors(std::istream& text) {
  VectorReport report;
  bool has_type[3] = {};
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    const auto fail = [&](const std::string& reason) {
      report.error = "line " + std::to_string(number) + ": " + reason;
      return report;
    };
    std::istringstream words(line);
    std::string name;
    if (!(words >> name)) continue;
    if (name == "#") {
      std::string key;
      std::string value;
      if (words >> key >> value && key == "core") report.core = value;
      continue;
    }
    if (report.core != "hopper" && report.core != "ampere") return fail("no core is named above");
    const std::optional<num::FloatType> type = detail::type_named(name);
    if (!type) return fail("unknown type " + name);
    std::vector<std::uint32_t> bits;
    std::uint32_t word = 0;
    while (words >> std::hex >> word) bits.push_back(word);
    const std::size_t pairs = *type == num::FloatType::kTf32 ? 8 : 16;
    if (!words.eof() || bits.size() != 2 + 2 * pairs)
      return fail("has " + std::to_string(bits.size()) + " numbers, must be " + std::to_string(2 + 2 * pairs));
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t h = 0; h < pairs; ++h) {
      a.push_back(detail::value_of(*type, bits[2 + h]));
      b.push_back(detail::value_of(*type, bits[2 + pairs + h]));
    }
    const num::TensorCore core = detail::core_named(report.core, *type);
    float d = kizami::bit_cast<float>(bits[0]);
    for (std::size_t h = 0; h < pairs; h += static_cast<std::size_t>(core.group))
      d = num::tensor_core_step(core, *type, d, a.data() + h, b.data() + h, core.group);
    ++report.num_vectors;
    report.num_types += has_type[static_cast<int>(*type)] ? 0 : 1;
    has_type[static_cast<int>(*type)] = true;
    if (kizami::bit_cast<std::uint32_t>(d) != bits[1]) {
      std::ostringstream out;
      out << "line " << number << ", " << name << ": model " << std::hex << kizami::bit_cast<std::uint32_t>(d)
          << ", hardware " << bits[1];
      report.mismatches.push_back(out.str());
    }
  }
  return report;
}

}  // namespace kizami::engines::testing
