// SPDX-License-Identifier: MIT
// FP32 matrices of the classes that error-corrected products are measured on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "device_bench.cuh"

namespace bench {

enum class Data : std::uint8_t { kNormal, kUniform, kPhi, kExpRand, kPositiveExpRand };

/// A class of matrices: "normal"; "uniform" in (0, 1); "uniform:a:b" in (a, b); "phi:x", (uniform - 0.5) exp(x normal);
/// "exp_rand:a:b", an exponent of a..b-1, 23 random bits and a random sign; "exp_rand_positive:a:b", without a sign.
struct DataClass {
  std::string name;
  Data kind = Data::kNormal;
  double first = 0;
  double last = 0;
};

/// @throws std::invalid_argument
inline DataClass parse_data(const std::string& name) {
  DataClass data{name, Data::kNormal, 0, 0};
  if (name == "normal") return data;
  if (name == "uniform") {
    data.kind = Data::kUniform;
    data.last = 1;
  } else if (std::sscanf(name.c_str(), "uniform:%lf:%lf", &data.first, &data.last) == 2 && data.first < data.last) {
    data.kind = Data::kUniform;
  } else if (std::sscanf(name.c_str(), "phi:%lf", &data.first) == 1) {
    data.kind = Data::kPhi;
  } else if (std::sscanf(name.c_str(), "exp_rand:%lf:%lf", &data.first, &data.last) == 2 && data.first < data.last) {
    data.kind = Data::kExpRand;
  } else if (std::sscanf(name.c_str(), "exp_rand_positive:%lf:%lf", &data.first, &data.last) == 2 &&
             data.first < data.last) {
    data.kind = Data::kPositiveExpRand;
  } else {
    throw std::invalid_argument(
        name + ", must be normal, uniform, uniform:a:b, phi:x, exp_rand:a:b or exp_rand_positive:a:b with a < b");
  }
  return data;
}

static __global__ void fill(float* x, std::int64_t count, Data kind, double first, double last, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x100000000ull + 3 * static_cast<std::uint64_t>(i);
    const double normal = sqrt(-2.0 * log(unit(at))) * cospi(2.0 * unit(at + 1));
    const double uniform = unit(at + 2);
    switch (kind) {
      case Data::kNormal:
        x[i] = static_cast<float>(normal);
        break;
      case Data::kUniform:
        x[i] = static_cast<float>(first + uniform * (last - first));
        break;
      case Data::kPhi:
        x[i] = static_cast<float>((uniform - 0.5) * exp(first * normal));
        break;
      case Data::kExpRand:
      case Data::kPositiveExpRand: {
        const int exponent = static_cast<int>(floor(first + unit(at) * (last - first)));
        const float magnitude = ldexpf(1.0F + static_cast<float>(mix(at + 1) & 0x7FFFFFu) * 0x1p-23F, exponent);
        x[i] = uniform < 0.5 && kind == Data::kExpRand ? -magnitude : magnitude;
        break;
      }
    }
  }
}

/// Elements of a class, the same at every call.
inline void fill(float* x, std::int64_t count, const DataClass& data, std::uint64_t seed) {
  fill<<<2048, 256>>>(x, count, data.kind, data.first, data.last, seed);
  check(cudaGetLastError(), "inputs");
}

}  // namespace bench
