// SPDX-License-Identifier: MIT
// Runs the instructions of vectors.hpp on the device and prints what they returned, with where that comes from.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tensor_core/vectors.hpp"

namespace bench {

/// A program that records.
struct Recorder {
  std::string name;    ///< as bench_tensor_core_vectors
  std::string source;  ///< its file
  std::string core;    ///< which num::TensorCore the file is held against
  /// Launches a block of 128 threads an instruction, which writes d.
  void (*launch)(kizami::num::FloatType type, Instruction* instructions, unsigned count) = nullptr;
};

namespace detail {

inline bool is_ok(const Recorder& recorder, cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  std::fprintf(stderr, "%s: %s: %s\n", recorder.name.c_str(), what, cudaGetErrorString(error));
  return false;
}

inline bool record_type(const Recorder& recorder, kizami::num::FloatType type) {
  std::vector<Instruction> instructions = instructions_of(type);
  const std::size_t bytes = instructions.size() * sizeof(Instruction);
  Instruction* device = nullptr;
  if (!is_ok(recorder, cudaMalloc(&device, bytes), "memory")) return false;
  bool is_done = is_ok(recorder, cudaMemcpy(device, instructions.data(), bytes, cudaMemcpyHostToDevice), "copy");
  if (is_done) {
    recorder.launch(type, device, static_cast<unsigned>(instructions.size()));
    is_done = is_ok(recorder, cudaGetLastError(), "launch") &&
              is_ok(recorder, cudaMemcpy(instructions.data(), device, bytes, cudaMemcpyDeviceToHost), "run");
  }
  cudaFree(device);
  if (is_done) print_vectors(type, instructions);
  return is_done;
}

}  // namespace detail

/// @return the exit status of the program
inline int record_all(const Recorder& recorder) {
  cudaDeviceProp device{};
  int runtime = 0;
  int driver = 0;
  if (!detail::is_ok(recorder, cudaGetDeviceProperties(&device, 0), "device") ||
      !detail::is_ok(recorder, cudaRuntimeGetVersion(&runtime), "runtime") ||
      !detail::is_ok(recorder, cudaDriverGetVersion(&driver), "driver")) {
    return 1;
  }
  if (device.major != 9 || device.minor != 0) {
    std::fprintf(stderr, "%s: compute capability %d.%d, must be 9.0\n", recorder.name.c_str(), device.major,
                 device.minor);
    return 1;
  }
  std::printf("# core %s\n# device %s, compute capability 9.0, CUDA runtime %d, driver %d\n", recorder.core.c_str(),
              device.name, runtime, driver);
  std::printf("# made by %s: TYPE C D A... B..., D = C + sum A B, hexadecimal\n", recorder.source.c_str());
  using kizami::num::FloatType;
  for (const FloatType type : {FloatType::kFp16, FloatType::kBf16, FloatType::kTf32}) {
    if (!detail::record_type(recorder, type)) return 1;
  }
  return 0;
}

}  // namespace bench
