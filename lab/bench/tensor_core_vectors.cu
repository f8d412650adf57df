// SPDX-License-Identifier: MIT
// Records what the tensor cores of sm_90 return for wgmma, bit by bit, so that the software model can be held against
// them without a device: tests/data/tensor_core holds what this program printed,
// tests/engines/tensor_core_vectors_test.cpp compares.
//
//   bench_tensor_core_vectors > tests/data/tensor_core/sm_90.txt
//
// One line a vector, by one element of one wgmma m64n8k16 (FP16, BF16) or m64n8k8 (TF32): tensor_core/vectors.hpp.
#include <cuda_runtime.h>

#include <cstdint>

#include "harness/options.hpp"
#include "tensor_core/recorder.cuh"

namespace {

using bench::Instruction;
using bench::kColumns;
using bench::kInnerBytes;
using bench::kRows;

constexpr int kLineBytes = 128;  // of shared memory: one line of the 128-byte swizzle, of which kInnerBytes are used

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Descriptor of K-major lines in the 128-byte swizzle, groups of 8 lines 1024 bytes apart.
__device__ std::uint64_t swizzled_lines(std::uint32_t address) {
  return (std::uint64_t{0x40000040} << 32) | (1U << 16) | (address >> 4);
}

/// Chunk x of 16 bytes of a line lies at x ^ (line mod 8).
__device__ void store_line(std::uint8_t* tile, const std::uint8_t* line, int number) {
  for (int byte = 0; byte < kInnerBytes; ++byte)
    tile[number * kLineBytes + ((byte / 16) ^ (number % 8)) * 16 + byte % 16] = line[byte];
}

template <int kType>
__device__ void multiply(float (&d)[4], std::uint64_t a, std::uint64_t b) {
  if constexpr (kType == 0) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  } else if constexpr (kType == 1) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
  }
}

/// One warpgroup, one instruction a block. Register 2 h + b of thread x of warp w is row 16 w + 8 h + x / 4, column
/// 2 (x % 4) + b.
template <int kType>
__global__ void __launch_bounds__(128) record(Instruction* instructions) {
  __shared__ alignas(1024) std::uint8_t a[kRows * kLineBytes];
  __shared__ alignas(1024) std::uint8_t b[kColumns * kLineBytes];
  Instruction& instruction = instructions[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kRows) store_line(a, instruction.a.data() + thread * kInnerBytes, thread);
  if (thread < kColumns) store_line(b, instruction.b.data() + thread * kInnerBytes, thread);
  float d[4];
  const auto index_of = [thread](int reg) {
    const int row = 16 * (thread / 32) + 8 * (reg / 2) + thread % 32 / 4;
    return row * kColumns + 2 * (thread % 4) + reg % 2;
  };
  for (int reg = 0; reg < 4; ++reg) d[reg] = instruction.c[static_cast<std::size_t>(index_of(reg))];
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
  multiply<kType>(d, swizzled_lines(shared_address(a)), swizzled_lines(shared_address(b)));
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  for (int reg = 0; reg < 4; ++reg) instruction.d[static_cast<std::size_t>(index_of(reg))] = d[reg];
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
  bench::Program program("bench_tensor_core_vectors", "What the tensor cores of sm_90 return, bit by bit, on stdout");
  return program.run(argc, argv, [] {
    return bench::record_all({"bench_tensor_core_vectors", "lab/bench/tensor_core_vectors.cu", "hopper", launch});
  });
}
