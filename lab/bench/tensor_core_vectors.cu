// SPDX-License-Identifier: MIT
// Records what the tensor cores of sm_90 return, bit by bit, so that the software model can be held against them
// without a device: tests/data/tensor_core holds what this program printed, tests/engines/tensor_core_vectors_test.cpp
// compares.
//
//   bench_tensor_core_vectors > tests/data/tensor_core/sm_90.txt
//
// One line a vector: TYPE C D A... B..., hexadecimal, where D = C + sum_h A_h B_h is one element of one wgmma m64n8k16
// (FP16, BF16; 16 pairs) or m64n8k8 (TF32; 8 pairs). Row i of an instruction is recorded at column i mod 8, so all its
// inputs are independent. Inputs are random or built to tell models apart: which exponent addends are aligned to, how
// many bits survive, whether the cut is truncation or rounding, how many products share one alignment.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "harness/options.hpp"
#include "kizami/formats.hpp"
#include "num/tensor_core.hpp"

namespace {

using kizami::num::FloatType;

constexpr int kRows = 64;
constexpr int kColumns = 8;
constexpr int kLineBytes = 128;  // of shared memory: one line of the 128-byte swizzle, of which 32 bytes are used
constexpr int kUsedBytes = 32;
constexpr int kInstructions = 24;  // a type

/// The operands of one instruction as bits: lines of 32 bytes.
struct Instruction {
  std::array<std::uint8_t, kRows * kUsedBytes> a;
  std::array<std::uint8_t, kColumns * kUsedBytes> b;
  std::array<float, kRows * kColumns> c;  // [row][column]
  std::array<float, kRows * kColumns> d;
};

// ---- device ----

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Descriptor of K-major lines in the 128-byte swizzle, groups of 8 lines 1024 bytes apart.
__device__ std::uint64_t swizzled_lines(std::uint32_t address) {
  return (std::uint64_t{0x40000040} << 32) | (1U << 16) | (address >> 4);
}

/// Chunk x of 16 bytes of a line lies at x ^ (line mod 8).
__device__ void store_line(std::uint8_t* tile, const std::uint8_t* line, int number) {
  for (int byte = 0; byte < kUsedBytes; ++byte)
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
  if (thread < kRows) store_line(a, instruction.a.data() + thread * kUsedBytes, thread);
  if (thread < kColumns) store_line(b, instruction.b.data() + thread * kUsedBytes, thread);
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

// ---- inputs ----

constexpr int type_index(FloatType type) { return static_cast<int>(type); }
constexpr const char* kTypeNames[] = {"fp16", "bf16", "tf32"};

/// Bits of a value rounded to the type.
std::uint32_t bits_of(FloatType type, double x) {
  switch (type) {
    case FloatType::kFp16:
      return kizami::Fp16::from(x).bits();
    case FloatType::kBf16:
      return kizami::Bf16::from(x).bits();
    case FloatType::kTf32:
      return kizami::Tf32::from(x).bits();
  }
  return 0;
}

/// One vector: the inputs of one element of D.
struct Vector {
  double a[16] = {};
  double b[16] = {};
  double c = 0;
};

class Inputs {
 public:
  explicit Inputs(FloatType type) : type_(type), pairs_(type == FloatType::kTf32 ? 8 : 16), random_(2021) {}

  /// A vector of instruction `number`: all kinds in turn. `b`: the line of B that it meets, or null for one of its own.
  Vector next(int number, const double* b) {
    large_at_ = number * 5 % pairs_;
    Vector v = draw(number);
    if (b != nullptr) std::copy(b, b + pairs_, v.b);
    if (number % 12 == kCancelling) cancel(v);
    return v;
  }

 private:
  static constexpr int kCancelling = 5;

  Vector draw(int number) {
    switch (number % 12) {
      case 0:
        return random(2);
      case 1:
        return random(14);
      case 2:
        return any_bits();
      case 3:
        return one_large(true);
      case 4:
        return one_large(false);
      case kCancelling:
        return one_large(true);
      case 6:
        return wide_significands();
      case 7:
        return zero_beside_tiny();
      case 8:
        return subnormal_operands();
      case 9:
        return two_halves();
      case 10:
        return large_accumulator();
      default:
        return number % 24 == 11 ? special() : random(30);
    }
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  double sign() { return below(2) == 0 ? 1.0 : -1.0; }
  int limit() const { return type_ == FloatType::kFp16 ? 14 : 60; }
  double number(int spread) {
    const int bound = spread < limit() ? spread : limit();
    return sign() * std::ldexp(1.0 + below(1024) / 1024.0, below(2 * bound + 1) - bound);
  }
  double fp32(int exponent) { return sign() * std::ldexp(1.0 + below(1 << 23) * 0x1p-23, exponent); }

  Vector random(int spread) {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = number(spread);
      v.b[h] = number(spread);
    }
    v.c = below(4) == 0 ? 0.0 : fp32(below(2 * spread + 1) - spread);
    return v;
  }
  /// Any finite bit pattern, subnormal ones too.
  Vector any_bits() {
    Vector v;
    const auto draw = [&] {
      if (type_ == FloatType::kFp16) {
        const auto x = kizami::Fp16::from_bits(static_cast<std::uint16_t>(random_()));
        return x.is_finite() ? x.to_double() : 0.0;
      }
      return number(60);
    };
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = draw();
      v.b[h] = draw();
    }
    v.c = fp32(below(60) - 30);
    return v;
  }
  /// A large product (or accumulator) and products of 2^-s of it, s = 20..29: how many bits survive, and their
  /// rounding.
  Vector one_large(bool is_product) {
    Vector v;
    const int s = 20 + below(10);
    const double large = sign();
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * (1.0 + below(1024) / 1024.0) * std::ldexp(1.0, -(s / 2));
      v.b[h] = (1.0 + (below(2) == 0 ? 0 : below(1024)) / 1024.0) * std::ldexp(1.0, -(s - s / 2));
    }
    if (is_product) {
      v.a[large_at_] = large * (1.0 + below(1024) / 1024.0);
      v.b[large_at_] = 1.0 + below(1024) / 1024.0;
    } else {
      v.c = large * (1.0 + below(1 << 23) * 0x1p-23);
    }
    return v;
  }
  /// The large product is taken away again by the accumulator: what is left are the cut bits.
  void cancel(Vector& v) const { v.c = -v.a[large_at_] * v.b[large_at_]; }  // 22 bits
  /// Significands near 2, so that products lie near 4 times the power of two that they are aligned by.
  Vector wide_significands() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * std::ldexp(2.0 - (1 + below(7)) / 1024.0, h == 0 ? 0 : -below(13));
      v.b[h] = std::ldexp(2.0 - (1 + below(7)) / 1024.0, h == 0 ? 0 : -below(13));
    }
    v.c = fp32(-below(26));
    return v;
  }
  /// A zero times a large number must not raise the exponent that tiny addends are aligned to.
  Vector zero_beside_tiny() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = h % 2 == 0 ? 0.0 : number(2) * 0x1p-12;
      v.b[h] = h % 2 == 0 ? sign() * 0x1p15 : number(2) * 0x1p-10;
    }
    v.c = below(2) == 0 ? fp32(-25) : 0.0;
    return v;
  }
  /// Subnormal numbers of FP16 beside larger products: are they normalised before they are aligned?
  Vector subnormal_operands() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * std::ldexp(static_cast<double>(1 + below(1023)), -24);
      v.b[h] = std::ldexp(1.0 + below(1024) / 1024.0, below(20) - 4);
    }
    v.c = below(2) == 0 ? 0.0 : fp32(-12 - below(20));
    return v;
  }
  /// Large products in one half of the pairs, small ones in the other: how many share one alignment?
  Vector two_halves() {
    Vector v;
    const int split = 1 << below(type_ == FloatType::kTf32 ? 3 : 4);
    for (int h = 0; h < pairs_; ++h) {
      const int shift = (h / split) % 2 == 0 ? 0 : -13;
      v.a[h] = sign() * std::ldexp(1.0 + below(1024) / 1024.0, shift);
      v.b[h] = std::ldexp(1.0 + below(1024) / 1024.0, shift);
    }
    return v;
  }
  /// Rounding of the result alone: an accumulator of 2^24 and more, and small integers.
  Vector large_accumulator() {
    Vector v;
    for (int h = 0; h < pairs_; ++h) {
      v.a[h] = sign() * below(4);
      v.b[h] = below(4);
    }
    v.c = fp32(23 + below(4));
    return v;
  }
  Vector special() {
    Vector v = random(2);
    const double values[] = {INFINITY, -INFINITY, NAN, 0.0};
    v.a[below(pairs_)] = values[below(4)];
    v.b[below(pairs_)] = values[below(4)];
    if (below(3) == 0) v.c = values[below(3)];
    return v;
  }

  FloatType type_;
  int pairs_;
  int large_at_ = 0;
  std::mt19937 random_;
};

void put(FloatType type, std::uint8_t* line, int h, double x) {
  const std::uint32_t bits = bits_of(type, x);
  const int bytes = kizami::num::element_bytes(type);
  for (int byte = 0; byte < bytes; ++byte) line[h * bytes + byte] = static_cast<std::uint8_t>(bits >> (8 * byte));
}
std::uint32_t get(FloatType type, const std::uint8_t* line, int h) {
  const int bytes = kizami::num::element_bytes(type);
  std::uint32_t bits = 0;
  for (int byte = 0; byte < bytes; ++byte) bits |= std::uint32_t{line[h * bytes + byte]} << (8 * byte);
  return bits;
}

/// Column j of an instruction takes the B of row j; rows 8 and more meet it with an A and a C of their own.
std::vector<Instruction> instructions_of(FloatType type) {
  Inputs inputs(type);
  const int pairs = type == FloatType::kTf32 ? 8 : 16;
  std::vector<Instruction> out(kInstructions);
  for (int number = 0; number < kInstructions; ++number) {
    Instruction& instruction = out[static_cast<std::size_t>(number)];
    double b[kColumns][16] = {};
    for (int row = 0; row < kRows; ++row) {
      double* const columns = b[row % kColumns];
      const Vector v = inputs.next(number, row < kColumns ? nullptr : columns);
      std::copy(v.b, v.b + pairs, columns);
      for (int h = 0; h < pairs; ++h) {
        put(type, instruction.a.data() + row * kUsedBytes, h, v.a[h]);
        if (row < kColumns) put(type, instruction.b.data() + row * kUsedBytes, h, v.b[h]);
      }
      for (int column = 0; column < kColumns; ++column)
        instruction.c[static_cast<std::size_t>(row * kColumns + column)] = static_cast<float>(v.c);
    }
  }
  return out;
}

bool is_ok(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  std::fprintf(stderr, "bench_tensor_core_vectors: %s: %s\n", what, cudaGetErrorString(error));
  return false;
}

bool record_type(FloatType type) {
  std::vector<Instruction> instructions = instructions_of(type);
  const std::size_t bytes = instructions.size() * sizeof(Instruction);
  Instruction* device = nullptr;
  if (!is_ok(cudaMalloc(&device, bytes), "memory")) return false;
  bool is_done = is_ok(cudaMemcpy(device, instructions.data(), bytes, cudaMemcpyHostToDevice), "copy");
  if (is_done) {
    switch (type) {
      case FloatType::kFp16:
        record<0><<<kInstructions, 128>>>(device);
        break;
      case FloatType::kBf16:
        record<1><<<kInstructions, 128>>>(device);
        break;
      case FloatType::kTf32:
        record<2><<<kInstructions, 128>>>(device);
        break;
    }
    is_done = is_ok(cudaGetLastError(), "launch") &&
              is_ok(cudaMemcpy(instructions.data(), device, bytes, cudaMemcpyDeviceToHost), "run");
  }
  cudaFree(device);
  if (!is_done) return false;
  const int pairs = type == FloatType::kTf32 ? 8 : 16;
  const int digits = 2 * kizami::num::element_bytes(type);
  for (const Instruction& instruction : instructions) {
    for (int row = 0; row < kRows; ++row) {
      const int column = row % kColumns;
      const auto element = static_cast<std::size_t>(row * kColumns + column);
      std::printf("%s %08x %08x", kTypeNames[type_index(type)], kizami::bit_cast<std::uint32_t>(instruction.c[element]),
                  kizami::bit_cast<std::uint32_t>(instruction.d[element]));
      for (int h = 0; h < pairs; ++h)
        std::printf(" %0*x", digits, get(type, instruction.a.data() + row * kUsedBytes, h));
      for (int h = 0; h < pairs; ++h)
        std::printf(" %0*x", digits, get(type, instruction.b.data() + column * kUsedBytes, h));
      std::printf("\n");
    }
  }
  return true;
}

int record_all() {
  cudaDeviceProp device{};
  int runtime = 0;
  int driver = 0;
  if (!is_ok(cudaGetDeviceProperties(&device, 0), "device") || !is_ok(cudaRuntimeGetVersion(&runtime), "runtime") ||
      !is_ok(cudaDriverGetVersion(&driver), "driver")) {
    return 1;
  }
  if (device.major != 9 || device.minor != 0) {
    std::fprintf(stderr, "bench_tensor_core_vectors: compute capability %d.%d, must be 9.0 for wgmma\n", device.major,
                 device.minor);
    return 1;
  }
  std::printf("# core hopper\n# device %s, compute capability 9.0, CUDA runtime %d, driver %d\n", device.name, runtime,
              driver);
  std::printf("# made by lab/bench/tensor_core_vectors.cu: TYPE C D A... B..., D = C + sum A B, hexadecimal\n");
  for (const FloatType type : {FloatType::kFp16, FloatType::kBf16, FloatType::kTf32}) {
    if (!record_type(type)) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("bench_tensor_core_vectors", "What the tensor cores of sm_90 return, bit by bit, on stdout");
  return program.run(argc, argv, record_all);
}
