// SPDX-License-Identifier: MIT
// The loop over blocks. Every thread of the pool enters its kernel stack once and takes blocks until none is left.
#include "kizami/tile/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/default_threads.hpp"
#include "base/parallel.hpp"
#include "tile/src/block_state.hpp"
#include "tile/src/kernel_stack.hpp"

namespace kizami::tile {
namespace {

constexpr std::uint32_t kMaxGrid = (1U << 24) - 1;  // of CUDA Tile IR

/// The numbers of the blocks in the order of their start; empty for ascending order.
std::vector<std::int64_t> shuffled_blocks(std::int64_t count, const LaunchOptions& options) {
  std::vector<std::int64_t> order;
  if (options.block_order == BlockOrder::kShuffled) {
    order.resize(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::mt19937_64 generator(options.seed);
    std::shuffle(order.begin(), order.end(), generator);
  }
  return order;
}

/// What the threads of one launch share.
struct Work {
  BlockIndex grid;
  const LaunchOptions& options;
  void (*body)(const void*);
  const void* arguments;
  LaunchRecord& record;
  const std::vector<std::int64_t>& order;
  std::int64_t count;
  std::atomic<std::int64_t> next{0};
};

/// Takes blocks until none is left; runs on a kernel stack.
void take_blocks(void* opaque) {
  Work& work = *static_cast<Work*>(opaque);
  ThreadState& state = thread_state();
  const struct Restore {  // also when a block throws
    ThreadState& state;
    ThreadState outer;
    ~Restore() { state = outer; }
  } restore{state, state};
  state.launch = &work.record;
  state.context.grid = work.grid;
  state.context.reduction_order = work.options.reduction_order;
  state.context.seed = work.options.seed;
  for (;;) {
    const std::int64_t i = work.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= work.count) break;
    const std::int64_t number = work.order.empty() ? i : work.order[static_cast<std::size_t>(i)];
    state.context.block = {static_cast<std::uint32_t>(number % work.grid.x),
                           static_cast<std::uint32_t>(number / work.grid.x % work.grid.y),
                           static_cast<std::uint32_t>(number / work.grid.x / work.grid.y)};
    work.body(work.arguments);
  }
}

/// The kernel's name as a macro spells it, without the parentheses around one with commas.
std::string_view plain_name(std::string_view kernel) {
  const bool is_wrapped = kernel.size() > 2 && kernel.front() == '(' && kernel.back() == ')';
  return is_wrapped ? kernel.substr(1, kernel.size() - 2) : kernel;
}

}  // namespace

Status run_blocks(const char* kernel_text, BlockIndex grid, const LaunchOptions& options,
                  void (*body)(const void* arguments), const void* arguments) {
  const std::string_view kernel = plain_name(kernel_text);
  for (const std::uint32_t extent : {grid.x, grid.y, grid.z}) {
    if (extent == 0 || extent > kMaxGrid) {
      return {StatusCode::kInvalidArgument, fmt::format("tile kernel {}: grid = {}, each dimension must be in [1, {}]",
                                                        kernel, to_string(grid), kMaxGrid)};
    }
  }
  // A product of three numbers below 2^24 may exceed 64 bits; nobody can run that many blocks.
  const std::int64_t layer = std::int64_t{grid.x} * grid.y;
  if (layer > INT64_MAX / grid.z) {
    return {StatusCode::kInvalidArgument,
            fmt::format("tile kernel {}: grid = {} has more than 2^63 - 1 blocks", kernel, to_string(grid))};
  }
  LaunchRecord record(kernel, options);
  const std::int64_t count = layer * grid.z;
  const std::vector<std::int64_t> order = shuffled_blocks(count, options);
  Work work{grid, options, body, arguments, record, order, count};

  const int threads = options.max_threads > 0 ? options.max_threads : base::default_threads();
  const std::int64_t num_tasks = std::min<std::int64_t>(threads, count);
  base::parallel_for(num_tasks, threads, [&work](std::int64_t, int) {
    // A thread without a kernel stack leaves its blocks to the others.
    static_cast<void>(run_on_kernel_stack(take_blocks, &work));
  });
  if (work.next.load() < count) {
    return {StatusCode::kOutOfMemory,
            fmt::format("tile kernel {}: the system refused the memory of a kernel stack", kernel)};
  }
  if (record.num_faults() > 0) {
    return {StatusCode::kInvalidArgument,
            fmt::format("{} ({} faults in this launch)", record.first_fault(), record.num_faults())};
  }
  return {};
}

}  // namespace kizami::tile
