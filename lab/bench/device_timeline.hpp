// SPDX-License-Identifier: MIT
// When everything that a call has devices do begins and ends: kernels, copies and, on the host, calls of CUDA that take
// long. By CUPTI, which is opened at run time, so that the library knows nothing of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One operation. Times in milliseconds from the begin of the call on.
struct TimelineEntry {
  int device = -1;   ///< -1: the host
  int stream = 0;    ///< CUPTI's number
  double begin = 0;  ///< a kernel may begin before the one in front of it ends, and wait for it
  double end = 0;
  std::string what;         ///< a kernel by its name, or as "copy 1 -> 0"
  std::uint64_t bytes = 0;  ///< of a copy
};

/// Calls of CUDA by one name.
struct HostCalls {
  std::string name;
  int count = 0;
  double milliseconds = 0;  ///< in all of them, of which CUPTI takes a part
};

struct Timeline {
  double milliseconds = 0;             ///< of the call, by the clock of the host
  std::vector<TimelineEntry> entries;  ///< by device, then by end
  std::vector<HostCalls> host_calls;   ///< those that take most first
};

/// Runs a call that ends with its devices idle. @throws std::runtime_error there is no CUPTI, or it has no records
[[nodiscard]] Timeline record_timeline(const std::function<void()>& call);

/// As lines of text, one an entry.
void write_timeline(const Timeline& timeline, const std::string& title, const std::string& path);

}  // namespace bench
