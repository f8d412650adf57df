// SPDX-License-Identifier: MIT
// Plans of scheme ozaki1 by name, as programs that time them take them: "ozaki1" and words behind slashes, in any
// order.
//   7                                     slices
//   until-zero                            slices until nothing is left; the call waits for their number
//   entry                                 slices that the certificate of gauge entry finds; the call waits for it
//   d9, all                               products of slices i + j < 9; of all pairs
//   b7                                    bits of a digit beside its sign
//   int8 fp16 bf16 e4m3 e5m2              format
//   truncated nearest bytes               split
//   matrix                                one scale a matrix instead of one a line
//   pairs grouped concatenated ...        sums
//   four karatsuba enlarged               complex form
//   hopper cublaslt tile                  engine, hopper if none is named
//   block2048 streams2                    lines of a block, and streams that take blocks in turn
//   full                                  a complex product of real matrices in memory: [Ar -Ai; Ai Ar] [Br -Bi; Bi Br]
#pragma once

#include <stdexcept>
#include <string>

#include "kizami/policy.hpp"

namespace bench {

/// The value whose name is `text`. @return whether there is one
template <class E>
bool find_named(const std::string& text, E first, E last, E& value) {
  for (int v = static_cast<int>(first); v <= static_cast<int>(last); ++v) {
    if (text != to_string(static_cast<E>(v))) continue;
    value = static_cast<E>(v);
    return true;
  }
  return false;
}

struct SlicedWay {
  kizami::EngineName engine = kizami::EngineName::kHopper;
  kizami::Slicing slices;
  bool is_certified = false;
  bool is_full = false;
};

/// A letter (or none) and a number behind it.
[[nodiscard]] inline bool is_number(const std::string& word, const std::string& prefix) {
  return word.starts_with(prefix) && word.size() > prefix.size() && word.size() < prefix.size() + 8 &&
         word.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

/// @throws std::invalid_argument names the word that is none
[[nodiscard]] inline SlicedWay sliced_way(const std::string& text) {
  using kizami::ComplexForm;
  using kizami::EngineName;
  using kizami::SliceFormat;
  using kizami::SliceSplit;
  using kizami::SliceSums;
  SlicedWay way;
  kizami::Slicing& slices = way.slices;
  const auto number = [](const std::string& word, std::size_t at) { return std::stoi(word.substr(at)); };
  std::size_t at = text.find('/');
  if (text.substr(0, at) != "ozaki1") throw std::invalid_argument(text + ", must begin with ozaki1/");
  while (at != std::string::npos) {
    const std::size_t end = text.find('/', at + 1);
    const std::string word = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    at = end;
    if (is_number(word, "")) {
      slices.num_slices = number(word, 0);
    } else if (is_number(word, "d")) {
      slices.num_diagonals = number(word, 1);
    } else if (is_number(word, "b")) {
      slices.slice_bits = number(word, 1);
    } else if (is_number(word, "streams")) {
      slices.num_streams = number(word, 7);
    } else if (is_number(word, "block")) {
      slices.block_lines = number(word, 5);
    } else if (word == "until-zero") {
      slices.num_slices = kizami::kUntilZero;
    } else if (word == "entry") {
      way.is_certified = true;
    } else if (word == "all") {
      slices.num_diagonals = kizami::kAllPairs;
    } else if (word == "matrix") {
      slices.one_scale = true;
    } else if (word == "full") {
      way.is_full = true;
    } else if (!find_named(word, SliceFormat::kInt8, SliceFormat::kE5m2, slices.format) &&
               !find_named(word, SliceSplit::kTruncated, SliceSplit::kBytes, slices.split) &&
               !find_named(word, SliceSums::kPairs, SliceSums::kRounded, slices.sums) &&
               !find_named(word, ComplexForm::kFourProducts, ComplexForm::kEnlarged, slices.complex_form) &&
               !find_named(word, EngineName::kCpuRef, EngineName::kTile, way.engine)) {
      throw std::invalid_argument(text + ": no word \"" + word + "\"");
    }
  }
  if ((slices.num_slices == 0) != way.is_certified)
    throw std::invalid_argument(text + ", must name the slices or how to find them: ozaki1/7, ozaki1/entry");
  return way;
}

}  // namespace bench
