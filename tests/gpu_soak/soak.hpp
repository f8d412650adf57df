// SPDX-License-Identifier: MIT
// The soak: threads with a handle each, which issue cases until the time is over and enough calls are made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gpu_soak/crowd.hpp"
#include "gpu_soak/level.hpp"
#include "gpu_soak/parts.hpp"
#include "gpu_soak/process_memory.hpp"
#include "gpu_soak/slot.hpp"

namespace gpu_soak {

struct Options {
  Wishes wishes;
  double seconds = 10;
  std::int64_t calls = 0;  ///< at least so many, however long it takes
  double at_most = 0;      ///< seconds after which it ends with fewer calls; 0: it does not
  int threads = 8;
  int streams = 2;  ///< of each thread, with a case under way on each
  std::uint64_t seed = 1;
  std::int64_t cases = 0;  ///< so many come again and again; 0: always others
  std::optional<std::uint64_t> only_case;
  int repeats = 1;            ///< of that case
  double settled_after = 60;  ///< seconds; half of the time if that is less
  std::string mode = "unnamed", commit = "unknown", json;
  std::string expected_library;   ///< part of the name of the file that must answer cublasSgemm
  double max_growth_percent = 0;  ///< 0: growth is reported, not judged
};

struct Report {
  double seconds = 0;
  std::array<std::int64_t, kNumRoutines> calls{};
  std::array<std::int64_t, 4> calls_of_type{};
  std::array<double, 4> worst{};  ///< error by what is allowed, of each type
  std::int64_t failures = 0, unsupported = 0, refused = 0, replays = 0, handles = 0, asked_again = 0,
               compared_results = 0, large_calls = 0;
  std::int64_t times_of_pressure = 0;
  std::int64_t own_bytes = 0;  ///< of device memory, for cases
  std::string device_measure;  ///< what the whole of `device` is
  PartLevels device;           ///< bytes of the device that this process holds, without own_bytes
  Crowd::Counts crowds;
  double first_crowd = 0;                    ///< seconds that it took
  DeviceMemory::Workspaces workspaces_left;  ///< when all is done
  std::int64_t used_by_graphs_left = 0;
  double all_met = 0;               ///< seconds until every case had come once
  Level resident, anonymous, heap;  ///< of the host's memory, as HostMemory has them

  [[nodiscard]] std::int64_t num_calls() const;
};

/// The options by which a case is drawn, as on the command line.
[[nodiscard]] std::string options_of_cases(const Options& options);

/// Seconds from which on memory must not grow: as the options say, or until all cases have come once; half of a run
/// that is shorter than twice as long.
[[nodiscard]] double settled_after(const Options& options, const Report& report);

/// Ends the process with exit code 3 where CUDA fails, having said which cases were under way.
[[nodiscard]] Report run_soak(const Options& options);

}  // namespace gpu_soak
