// SPDX-License-Identifier: MIT
// Records what mma.sync returns on sm_90, which need not add as wgmma does (tensor_core_vectors.cu):
//
//   bench_tensor_core_mma_sync > tests/data/tensor_core/sm_90_mma_sync.txt
//
// One line a vector, by one element of one mma.sync m16n8k16 (FP16, BF16) or m16n8k8 (TF32): tensor_core/vectors.hpp.
// Four warps make the 64 rows of an instruction there, with one B.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "harness/options.hpp"
#include "tensor_core/recorder.cuh"

namespace {

using bench::Instruction;
using bench::kColumns;
using bench::kInnerBytes;

template <int kType>
__device__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (kType == 0) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (kType == 1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// Register 2 h + b of the accumulator of thread x of warp w is row 16 w + 8 h + x / 4, column 2 (x % 4) + b. Register
/// 2 q + h of A has 4 bytes of row 16 w + 8 h + x / 4, register q of B of column x / 4: bytes 16 q + 4 (x % 4) and on.
template <int kType>
__global__ void __launch_bounds__(128) record(Instruction* instructions) {
  Instruction& instruction = instructions[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_row = 16 * (static_cast<int>(threadIdx.x) / 32) + lane / 4;
  const auto word = [lane](const std::uint8_t* lines, int line, int q) {
    std::uint32_t bits = 0;
    memcpy(&bits, lines + line * kInnerBytes + 16 * q + 4 * (lane % 4), sizeof bits);
    return bits;
  };
  std::uint32_t a[4];
  std::uint32_t b[2];
  float d[4];
  const auto index_of = [first_row, lane](int reg) {
    return static_cast<std::size_t>((first_row + 8 * (reg / 2)) * kColumns + 2 * (lane % 4) + reg % 2);
  };
  for (int reg = 0; reg < 4; ++reg) {
    a[reg] = word(instruction.a.data(), first_row + 8 * (reg % 2), reg / 2);
    d[reg] = instruction.c[index_of(reg)];
  }
  for (int reg = 0; reg < 2; ++reg) b[reg] = word(instruction.b.data(), lane / 4, reg);
  multiply<kType>(d, a, b);
  for (int reg = 0; reg < 4; ++reg) instruction.d[index_of(reg)] = d[reg];
}

void launch(kizami::num::FloatType type, Instruction* instructions, unsigned count) {
  switch (type) {
    case kizami::num::FloatType::kFp16:
      record<0><<<count, 128>>>(instructions);
      break;
    case kizami::num::FloatType::kBf16:
      record<1><<<count, 128>>>(instructions);
      break;
    case kizami::num::FloatType::kTf32:
      record<2><<<count, 128>>>(instructions);
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("bench_tensor_core_mma_sync", "What mma.sync of sm_90 returns, bit by bit, on stdout");
  return program.run(argc, argv, [] {
    return bench::record_all({"bench_tensor_core_mma_sync", "lab/bench/tensor_core_mma_sync.cu", "hopper", launch});
  });
}
