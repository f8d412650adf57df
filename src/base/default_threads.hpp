// SPDX-License-Identifier: MIT
// How many threads a product takes where nobody says: all processors that the process may run on, and no more than its
// control group has time for and than the environment allows. Ranks of MPI share processors, and OMP_NUM_THREADS is how
// they are told.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kizami::base {

/// At least 1. The environment and the control group are read once in a process, its affinity by every call.
[[nodiscard]] int default_threads();

/// KIZAMI_THREADS, 0 for no limit; where that is unset or no number, the first number of OMP_NUM_THREADS, "4" or "4,2".
/// @param read_variable  as getenv(). @return 0: no limit
[[nodiscard]] int threads_wished(const std::function<const char*(const char*)>& read_variable);

/// A sentence for that one of the two which would be read, is set, and is no number of threads.
[[nodiscard]] std::vector<std::string> threads_not_understood(
    const std::function<const char*(const char*)>& read_variable);

/// The processors that a control group's quota pays for, rounded up: the least of "max" or "QUOTA PERIOD" in cpu.max of
/// the group and of those above it (version 2), or of cpu.cfs_quota_us (version 1).
/// @param groups  /proc/self/cgroup
/// @param read    the text of a file below /sys/fs/cgroup, empty if there is none. @return 0: no limit
[[nodiscard]] int processors_of_quota(std::string_view groups,
                                      const std::function<std::string(const std::string&)>& read);

}  // namespace kizami::base
