// SPDX-License-Identifier: MIT
// Where a tile function runs: the kernel, its block and grid, and what becomes of a broken rule. Compiled once in the
// library, whatever the formats or the mode of the units that use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kizami/export.h"

namespace kizami::tile {

/// Three counts or indices of blocks.
struct BlockIndex {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;
};

/// The order in which the blocks of a launch are started. Kernels must not depend on it.
enum class BlockOrder : std::uint8_t {
  kAscending,  ///< x fastest
  kShuffled,   ///< a random order that depends on LaunchOptions::seed
};

/// The order in which sums, products and matrix products are accumulated in units compiled with KIZAMI_TILE_DEBUG; the
/// language leaves it open.
enum class ReductionOrder : std::uint8_t {
  kSequential,  ///< first to last
  kPairwise,    ///< halves, recursively
  kShuffled,    ///< a random order that depends on LaunchOptions::seed
};

/// How blocks are run on the host.
struct LaunchOptions {
  int max_threads = 0;  ///< 0: as many as the process may use
  BlockOrder block_order = BlockOrder::kAscending;
  ReductionOrder reduction_order = ReductionOrder::kSequential;
  std::uint64_t seed = 1;
  std::function<void(const std::string&)> on_fault;  ///< called with each fault, by any thread, one at a time
};

/// The block that the calling thread runs; block 0 of a grid of one outside a launch.
struct BlockContext {
  BlockIndex block{0, 0, 0};
  BlockIndex grid{1, 1, 1};
  ReductionOrder reduction_order = ReductionOrder::kSequential;
  std::uint64_t seed = 1;
};
[[nodiscard]] KIZAMI_API const BlockContext& block_context() noexcept;

/// Tells that the calling block broke a rule. In a launch the fault is kept and makes launch() fail; under a
/// FaultCollector it is kept there; otherwise the program prints it and aborts.
KIZAMI_API void report_fault(const std::string& what);

/// Notes a plain store of `bytes` bytes at `address` by the calling block. Returns the number of another block of this
/// launch that stored there too, or -1; outside a launch -1.
[[nodiscard]] KIZAMI_API std::int64_t note_store(const void* address, std::size_t bytes);
/// The index of a block of the current grid from its number, for instance "(3, 0, 0)".
[[nodiscard]] KIZAMI_API std::string block_name(std::int64_t number);

/// Keeps the faults that this thread reports outside launches while it lives.
class KIZAMI_API FaultCollector {
 public:
  FaultCollector();
  ~FaultCollector();
  FaultCollector(const FaultCollector&) = delete;
  FaultCollector& operator=(const FaultCollector&) = delete;
  [[nodiscard]] const std::vector<std::string>& faults() const noexcept { return faults_; }
  /// Reductions and products under this collector use this order.
  void set_reduction_order(ReductionOrder order, std::uint64_t seed);

 private:
  friend void report_fault(const std::string& what);
  std::vector<std::string> faults_;
  FaultCollector* outer_;
  BlockContext outer_context_;
};

}  // namespace kizami::tile
