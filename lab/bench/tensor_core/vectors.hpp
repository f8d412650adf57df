// SPDX-License-Identifier: MIT
// Vectors that tell models of tensor cores apart: the operands of instructions D = C + A B with 64 rows, 8 columns and
// 32 bytes of k (16 pairs of FP16 or BF16, 8 of TF32), and what they are as text. Inputs are random or built to show
// which exponent addends are aligned to, how many bits survive, whether the cut is truncation or rounding, how many
// products share one alignment. The same numbers at every call.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "num/tensor_core.hpp"

namespace bench {

inline constexpr int kRows = 64;
inline constexpr int kColumns = 8;
inline constexpr int kInnerBytes = 32;

/// The operands of one instruction as bits: lines of kInnerBytes.
struct Instruction {
  std::array<std::uint8_t, kRows * kInnerBytes> a;
  std::array<std::uint8_t, kColumns * kInnerBytes> b;
  std::array<float, kRows * kColumns> c;  ///< [row][column]
  std::array<float, kRows * kColumns> d;  ///< to be written
};

/// Column j of an instruction takes the B of row j; rows 8 and more meet it with an A and a C of their own. Elements
/// (i, i mod 8) are independent vectors.
[[nodiscard]] std::vector<Instruction> instructions_of(kizami::num::FloatType type);

/// Prints elements (i, i mod 8) on stdout: TYPE C D A... B..., hexadecimal.
void print_vectors(kizami::num::FloatType type, const std::vector<Instruction>& instructions);

}  // namespace bench
