// SPDX-License-Identifier: MIT
// Which workspaces a call asks a device for. The planner's wish comes first; what cannot be had is followed by the
// largest power of two of bytes below it, and so on by halves, down to kLeastWorkspace. What was refused is remembered
// for the device, so that later calls begin below it; of kRetryPeriod calls that would have asked for more, one does:
// memory may be free again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kizami::dropin::cublas {

inline constexpr std::size_t kLeastWorkspace = std::size_t{64} << 20;  ///< bytes; a plan that wishes less is tried, too
inline constexpr std::uint32_t kRetryPeriod = 64;                      ///< calls

/// What a device could not give. Without locks; two threads that change it at the same time leave what one of them saw.
class Shortage {
 public:
  /// The fewest bytes that were refused, and not had since; 0: none were.
  [[nodiscard]] std::size_t refused() const { return refused_.load(std::memory_order_relaxed); }

  void forget() {
    refused_ = 0;
    calls_ = 0;
  }

 private:
  friend class WorkspaceSearch;
  std::atomic<std::size_t> refused_{0};
  std::atomic<std::uint32_t> calls_{0};  ///< that would have asked for more
};

/// The search of one call.
class WorkspaceSearch {
 public:
  /// @param total bytes that all workspaces may hold together, 0: no limit
  WorkspaceSearch(Shortage& shortage, std::size_t total) : shortage_(shortage), total_(total) {}

  /// Whether to ask for so many bytes now.
  [[nodiscard]] bool may_ask(std::size_t bytes);
  void refused(std::size_t bytes);
  void granted(std::size_t bytes);

  /// The limit for the plan after one of so many bytes that was not had. 0: the search is over
  [[nodiscard]] std::size_t next_limit(std::size_t bytes) const;

 private:
  Shortage& shortage_;
  std::size_t total_;
  std::size_t least_refused_ = 0;  ///< by this call
  bool is_counted_ = false;
  bool is_retry_ = false;
};

}  // namespace kizami::dropin::cublas
