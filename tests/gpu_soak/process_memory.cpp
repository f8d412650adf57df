// SPDX-License-Identifier: MIT
#include "gpu_soak/process_memory.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "gpu_soak/device.hpp"

namespace gpu_soak {
namespace {

template <class Function>
Function* found(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::int64_t graph_attribute(cudaGraphMemAttributeType attribute) {
  std::uint64_t value = 0;
  check(cudaDeviceGetGraphMemAttribute(0, attribute, &value), "cudaDeviceGetGraphMemAttribute");
  return static_cast<std::int64_t>(value);
}

std::int64_t default_pool_attribute(cudaMemPoolAttr attribute) {
  cudaMemPool_t pool = nullptr;
  std::uint64_t value = 0;
  check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolGetAttribute(pool, attribute, &value), "cudaMemPoolGetAttribute");
  return static_cast<std::int64_t>(value);
}

}  // namespace

DeviceMemory::DeviceMemory() : processes_(64) {
  find_workspaces_ = found<int(std::size_t*, std::size_t*, std::size_t*)>(RTLD_DEFAULT, "kizami_workspaces");
  check(cudaFree(nullptr), "cudaFree");  // the process shows up with its context
  char bus[32] = "";
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), "cudaDeviceGetPCIBusId");
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return;
  auto* const init = found<int()>(library, "nvmlInit_v2");
  auto* const find_device = found<int(const char*, void**)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  find_processes_ = found<FindProcesses>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (init == nullptr || find_device == nullptr || find_processes_ == nullptr || init() != 0 ||
      find_device(bus, &device_) != 0 || counted_by_driver() < 0)
    find_processes_ = nullptr;
}

std::int64_t DeviceMemory::counted_by_driver() const {
  constexpr unsigned long long kNotAvailable = ~0ULL;
  auto count = static_cast<unsigned>(processes_.size());
  if (find_processes_(device_, &count, processes_.data()) != 0) return -1;
  for (unsigned i = 0; i < count; ++i) {
    const Process& process = processes_[i];
    if (process.pid == static_cast<unsigned>(getpid()) && process.bytes != kNotAvailable)
      return static_cast<std::int64_t>(process.bytes);
  }
  return -1;
}

Parts DeviceMemory::pools() const {
  Parts parts;
  const Workspaces own = workspaces();
  parts.workspaces = own.held;
  parts.used_workspaces = own.used;
  parts.graphs = graph_attribute(cudaGraphMemAttrReservedMemCurrent);
  parts.default_pool = default_pool_attribute(cudaMemPoolAttrReservedMemCurrent);
  return parts;
}

Parts DeviceMemory::parts() const {
  Parts parts = pools();
  if (!is_counted_by_driver()) {
    parts.whole = parts.workspaces + parts.graphs + parts.default_pool;
    return parts;
  }
  const auto is_same = [](const Parts& x, const Parts& y) {
    return x.workspaces == y.workspaces && x.graphs == y.graphs && x.default_pool == y.default_pool;
  };
  constexpr int kMostTries = 8;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::int64_t bytes = counted_by_driver();
    if (bytes < 0) throw std::runtime_error("the driver does not count the process's memory any more");
    Parts later = pools();
    parts.is_at_once = is_same(parts, later);
    later.is_at_once = parts.is_at_once;
    later.whole = bytes;
    parts = later;
    if (parts.is_at_once) break;
  }
  return parts;
}

DeviceMemory::Workspaces DeviceMemory::workspaces() const {
  std::size_t held = 0, most = 0, used = 0;
  if (find_workspaces_ != nullptr && find_workspaces_(&held, &most, &used) != 0)
    throw std::runtime_error("kizami_workspaces");
  return {static_cast<std::int64_t>(held), static_cast<std::int64_t>(most), static_cast<std::int64_t>(used)};
}

std::int64_t DeviceMemory::used_by_graphs() { return graph_attribute(cudaGraphMemAttrUsedMemCurrent); }

DeviceMemory::Peaks DeviceMemory::peaks() {
  return {graph_attribute(cudaGraphMemAttrReservedMemHigh), graph_attribute(cudaGraphMemAttrUsedMemHigh),
          default_pool_attribute(cudaMemPoolAttrReservedMemHigh), default_pool_attribute(cudaMemPoolAttrUsedMemHigh)};
}

std::string DeviceMemory::module_loading() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* const find_mode = driver == nullptr ? nullptr : found<int(int*)>(driver, "cuModuleGetLoadingMode");
  int mode = 0;
  if (find_mode == nullptr || find_mode(&mode) != 0) return "unknown";
  return mode == 1 ? "eager" : mode == 2 ? "lazy" : "unknown";
}

HostMemory host_memory() {
  HostMemory memory;
  std::ifstream file("/proc/self/status");
  std::string word;
  std::int64_t kibibytes = 0;
  while (file >> word) {
    if ((word == "VmRSS:" || word == "RssAnon:") && file >> kibibytes)
      (word == "VmRSS:" ? memory.resident : memory.anonymous) = kibibytes * 1024;
  }
  const struct mallinfo2 heap = mallinfo2();
  memory.heap = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  return memory;
}

}  // namespace gpu_soak
