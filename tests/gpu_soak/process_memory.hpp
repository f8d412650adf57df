// SPDX-License-Identifier: MIT
// What this process, and no other on the card, holds: of the device, and of the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_soak/parts.hpp"

namespace gpu_soak {

/// Of the current device. Not safe from several threads at once.
class DeviceMemory {
 public:
  DeviceMemory();

  /// The whole is the driver's count for this process where it tells: contexts, modules, everything. Elsewhere (the
  /// process is in a container of its own, and has another number outside) what CUDA counts for it: its default pool,
  /// its graphs, and workspaces().
  [[nodiscard]] Parts parts() const;
  /// Whether the whole is the driver's count.
  [[nodiscard]] bool is_counted_by_driver() const { return find_processes_ != nullptr; }
  [[nodiscard]] const char* measure() const {
    return is_counted_by_driver() ? "the driver's count for this process"
                                  : "workspaces, graphs and default pool of this process";
  }

  /// What a preloaded Kizami has for workspaces (kizami_workspaces()); nothing without one.
  struct Workspaces {
    std::int64_t held = 0, most_held = 0;  ///< now; at any time, not only when somebody looked
    std::int64_t used = 0;                 ///< by calls that are not done
  };
  [[nodiscard]] Workspaces workspaces() const;
  [[nodiscard]] static std::int64_t used_by_graphs();

  /// At their most, at any time.
  struct Peaks {
    std::int64_t graphs_held = 0, graphs_used = 0;  ///< held: whether or not a graph is there
    std::int64_t default_pool_held = 0, default_pool_used = 0;
  };
  [[nodiscard]] static Peaks peaks();

  /// When kernels come to the device: "lazy", at their first use, "eager", or "unknown".
  [[nodiscard]] static std::string module_loading();

 private:
  struct Process {  ///< nvmlProcessInfo_t
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
  };
  using FindProcesses = int(void* device, unsigned* count, Process* processes);
  /// -1: the driver does not tell.
  [[nodiscard]] std::int64_t counted_by_driver() const;
  /// All but the whole.
  [[nodiscard]] Parts pools() const;

  void* device_ = nullptr;
  FindProcesses* find_processes_ = nullptr;  ///< null: the driver does not tell
  int (*find_workspaces_)(std::size_t*, std::size_t*, std::size_t*) = nullptr;
  mutable std::vector<Process> processes_;
};

/// Of the process, in bytes; 0: not known.
struct HostMemory {
  std::int64_t resident = 0;
  std::int64_t anonymous = 0;  ///< of it; the rest is files, mostly code that is loaded when it is first used
  std::int64_t heap = 0;       ///< what malloc() has given and not got back, whatever its arenas hold beside it
};
[[nodiscard]] HostMemory host_memory();

}  // namespace gpu_soak
