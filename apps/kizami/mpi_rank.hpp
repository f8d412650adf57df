// SPDX-License-Identifier: MIT
// What launchers of MPI say to the processes that they start, by variables of the environment.
#pragma once

#include <cstdlib>
#include <string_view>

namespace kizami::cli {

struct MpiLauncher {
  const char* rank;
  const char* num_ranks;
};
/// Open MPI; MPICH and Intel MPI; Slurm, whose batch script is a step of one. The drop-in libraries report the ranks that they find so
/// (dropin/policy/report.cpp).
inline constexpr MpiLauncher kMpiLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                {"PMI_RANK", "PMI_SIZE"},
                                                {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

/// The rank of this process, null where no launcher has started it, or it alone.
[[nodiscard]] inline const char* mpi_rank_of_several() noexcept {
  for (const MpiLauncher& launcher : kMpiLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const num_ranks = std::getenv(launcher.num_ranks);
    if (rank != nullptr) return num_ranks != nullptr && std::string_view(num_ranks) != "1" ? rank : nullptr;
  }
  return nullptr;
}

}  // namespace kizami::cli
