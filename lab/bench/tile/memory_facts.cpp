// SPDX-License-Identifier: MIT
#include "memory_facts.hpp"

#include <algorithm>
#include <cmath>
#include <random>

extern "C" const unsigned long long kizami_tile_memory[];

namespace tile_bench {
namespace {

constexpr std::size_t kTile = 256;

void record_masked_load(const Cubin& cubin) {
  std::vector<float> x(kTile);
  for (std::size_t i = 0; i < kTile; ++i) x[i] = static_cast<float>(i + 1);
  const DeviceArray<float> device_x(x);
  const DeviceArray<float> device_y(kTile);
  const int first = 100;
  cubin.run("load_without_padding", dim3(1), device_x.data(), device_y.data(), first);
  const std::vector<float> y = device_y.download();
  int num_zero = 0;
  int num_loaded = 0;
  for (std::size_t i = static_cast<std::size_t>(first); i < kTile; ++i) {
    num_zero += y[i] == 0.0F ? 1 : 0;
    num_loaded += y[i] == x[i] ? 1 : 0;
  }
  print({{"kind", "fact"},
         {"topic", "masked load without padding"},
         {"masked", static_cast<int>(kTile) - first},
         {"zero", num_zero},
         {"loaded_all_the_same", num_loaded}});
}

/// Bytes of device memory, zero but for those that are set.
class Bytes {
 public:
  explicit Bytes(std::size_t size) {
    check(cudaMalloc(&data_, size), "cudaMalloc of 7 GB");
    check(cudaMemset(data_, 0, size), "cudaMemset");
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { static_cast<void>(cudaFree(data_)); }

  [[nodiscard]] std::int8_t* data() const { return static_cast<std::int8_t*>(data_); }
  void set(std::size_t at, std::int8_t value) const { check(cudaMemset(data() + at, value, 1), "cudaMemset"); }

 private:
  void* data_ = nullptr;
};

int count(const std::vector<std::int8_t>& values, std::int8_t value) {
  return static_cast<int>(std::count(values.begin(), values.end(), value));
}

/// Markers: 1 where 64-bit arithmetic arrives, 2 where arithmetic modulo 2^32 would.
void record_far_addresses(const Cubin& cubin) {
  const Bytes memory(std::size_t{7} << 30);
  {
    const std::int64_t n = std::int64_t{5} << 30;
    const std::int64_t offset = (std::int64_t{1} << 32) + 512;
    memory.set(static_cast<std::size_t>(offset) + 3, 1);
    memory.set(512 + 3, 2);
    const DeviceArray<std::int8_t> y(kTile);
    cubin.run("load_far_64", dim3(1), memory.data(), y.data(), n, offset);
    const std::vector<std::int8_t> result = y.download();
    print({{"kind", "fact"},
           {"topic", "addresses"},
           {"case", "vector with 64-bit extents, offset 2^32 + 512"},
           {"right", result[3] == 1},
           {"wrapped", result[3] == 2}});
  }
  {
    const int n = 70000;
    const int i = 4300;  // row 68800: offset 4.8e9
    const std::int64_t offset = std::int64_t{16} * i * n + 5;
    memory.set(static_cast<std::size_t>(offset), 1);
    memory.set(static_cast<std::size_t>(offset & 0xffffffff), 2);
    const DeviceArray<std::int8_t> y(kTile);
    cubin.run("load_far_32", dim3(1), memory.data(), y.data(), n, i, 0);
    const std::vector<std::int8_t> result = y.download();
    print({{"kind", "fact"},
           {"topic", "addresses"},
           {"case", "matrix of 70000 x 70000 bytes with 32-bit extents, row 68800"},
           {"right", result[5] == 1},
           {"wrapped", result[5] == 2}});
  }
  {
    const Bytes window(std::size_t{7} << 30);
    const std::int64_t base = std::int64_t{5} << 29;  // 2.7e9: room for wrapped indices below, and 4.3e9 above
    const std::int64_t scale = 1 << 24;
    for (std::int64_t index = 1; index < 256; ++index) {
      const std::int64_t wide = index * scale;
      const std::int64_t wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(wide));
      if (wide != wrapped) window.set(static_cast<std::size_t>(base + wrapped), 2);
      if (base + wide < (std::int64_t{7} << 30)) window.set(static_cast<std::size_t>(base + wide), 1);
    }
    const DeviceArray<std::int8_t> y(kTile);
    cubin.run("gather_with_int32", dim3(1), window.data() + base, y.data(), static_cast<int>(scale));
    const std::vector<std::int8_t> result = y.download();
    print({{"kind", "fact"},
           {"topic", "addresses"},
           {"case", "pointer + int32 index * 2^24, of 256"},
           {"right", count(result, 1)},
           {"wrapped", count(result, 2)},
           {"element_0_and_else", count(result, 0)}});
  }
}

void record_atomics(const Cubin& cubin) {
  std::vector<float> x(kTile);
  std::mt19937 random(5);
  for (float& value : x)
    value = std::ldexp(1.0F + static_cast<float>(random() % 1024) / 1024.0F, static_cast<int>(random() % 20) - 10);
  float ascending = 0;
  for (const float value : x) ascending += value;
  const auto sum = [&](const char* kernel, const std::vector<float>& values, std::size_t size) {
    const DeviceArray<float> device_x(values);
    const DeviceArray<float> y(std::vector<float>(size, 0.0F));
    cubin.run(kernel, dim3(1), device_x.data(), y.data());
    return y.download();
  };
  const float first = sum("atomic_sum_f32", x, 1)[0];
  int num_alike = 0;
  for (int i = 0; i < 100; ++i) num_alike += sum("atomic_sum_f32", x, 1)[0] == first ? 1 : 0;
  print({{"kind", "fact"},
         {"topic", "atomics"},
         {"case", "256 elements added to one address by one call"},
         {"equals_ascending_sum", first == ascending},
         {"same_bits_of_100_runs", num_alike}});
  std::vector<float> tiny(kTile, 0x1p-140F);
  print({{"kind", "fact"},
         {"topic", "atomics"},
         {"case", "256 times 2^-140 added to 0"},
         {"result_over_2^-132", static_cast<double>(sum("atomic_sum_f32", tiny, 1)[0]) / 0x1p-132}});
  print({{"kind", "fact"},
         {"topic", "atomics"},
         {"case", "2^-140 added to 0 by a view"},
         {"result_over_2^-140", static_cast<double>(sum("atomic_view_f32", tiny, kTile)[0]) / 0x1p-140}});
}

}  // namespace

void record_memory_facts() {
  const Cubin cubin("memory", kizami_tile_memory);
  record_masked_load(cubin);
  record_atomics(cubin);
  record_far_addresses(cubin);  // last: what it shows may be an illegal address
}

}  // namespace tile_bench
