// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_crt_memory.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/device_upload.hpp"
#include "base/fork_safe.hpp"

namespace kizami::ozaki2 {
namespace {

using TablesByRing = std::array<DeviceCrtTable*, 2>;

/// The memory is never given back: a BLAS may be called by destructors of static objects.
struct Devices {
  std::mutex mutex;
  std::map<int, TablesByRing> tables;
};
constinit base::PerProcess<Devices> devices;

Status upload_tables(num::Ring ring, DeviceCrtTable*& memory) {
  const std::vector<DeviceCrtTable> tables = make_device_crt_tables(ring);
  const std::size_t bytes = tables.size() * sizeof(DeviceCrtTable);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaMalloc(reinterpret_cast<void**>(&memory), bytes), "CRT constants"));
  return base::upload(memory, tables.data(), bytes, "CRT constants");
}

Status upload_all(TablesByRing& tables) {
  const auto upload = [&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(upload_tables(num::Ring::kReal, tables[0]));
    return upload_tables(num::Ring::kComplex, tables[1]);
  };
  const Status status = upload();
  if (status.ok()) return {};
  for (DeviceCrtTable* memory : tables) static_cast<void>(cudaFree(memory));
  static_cast<void>(cudaGetLastError());
  return status;
}

}  // namespace

Status prepare_crt_tables(int device) {
  Devices& all = devices.get();
  const std::lock_guard lock(all.mutex);
  if (all.tables.contains(device)) return {};
  TablesByRing fresh{};
  KIZAMI_RETURN_IF_ERROR(upload_all(fresh));
  all.tables.emplace(device, fresh);
  return {};
}

const DeviceCrtTable* device_crt_tables(int device, num::Ring ring) {
  Devices& all = devices.get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.tables.find(device);
  return found == all.tables.end() ? nullptr : found->second[ring == num::Ring::kReal ? 0 : 1];
}

}  // namespace kizami::ozaki2
