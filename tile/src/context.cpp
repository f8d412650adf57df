// SPDX-License-Identifier: MIT
#include "kizami/tile/context.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "tile/src/block_state.hpp"

namespace kizami::tile {

ThreadState& thread_state() noexcept {
  static thread_local ThreadState state;
  return state;
}

std::string to_string(BlockIndex index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }

std::int64_t StoreMap::note(const void* address, std::size_t bytes, std::int64_t block) {
  const std::lock_guard lock(mutex_);
  std::int64_t other = -1;
  for (std::size_t b = 0; b < bytes; ++b) {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) + b;
    std::vector<std::int64_t>& page = pages_[at / kPageBytes];
    if (page.empty()) page.resize(kPageBytes, -1);
    std::int64_t& owner = page[at % kPageBytes];
    if (owner >= 0 && owner != block) other = owner;
    owner = block;
  }
  return other;
}

void LaunchRecord::add_fault(const BlockContext& context, const std::string& what) {
  const std::string sentence = fmt::format("kernel {}, block {}: {}", kernel_, to_string(context.block), what);
  const std::lock_guard lock(mutex_);
  if (num_faults_ == 0) first_fault_ = sentence;
  ++num_faults_;
  if (options_.on_fault) options_.on_fault(sentence);
}

const BlockContext& block_context() noexcept { return thread_state().context; }

void report_fault(const std::string& what) {
  const ThreadState& state = thread_state();
  if (state.launch != nullptr) {
    state.launch->add_fault(state.context, what);
  } else if (state.collector != nullptr) {
    state.collector->faults_.push_back(what);
  } else {
    std::fprintf(stderr, "kizami tile, outside a launch: %s\n", what.c_str());
    std::abort();
  }
}

std::int64_t note_store(const void* address, std::size_t bytes) {
  const ThreadState& state = thread_state();
  if (state.launch == nullptr) return -1;
  const BlockIndex b = state.context.block;
  const BlockIndex g = state.context.grid;
  const std::int64_t number = (std::int64_t{b.z} * g.y + b.y) * g.x + b.x;
  return state.launch->stores().note(address, bytes, number);
}

std::string block_name(std::int64_t number) {
  const BlockIndex g = block_context().grid;
  return to_string({static_cast<std::uint32_t>(number % g.x), static_cast<std::uint32_t>(number / g.x % g.y),
                    static_cast<std::uint32_t>(number / g.x / g.y)});
}

FaultCollector::FaultCollector() : outer_(thread_state().collector), outer_context_(thread_state().context) {
  thread_state().collector = this;
}
FaultCollector::~FaultCollector() {
  thread_state().collector = outer_;
  thread_state().context = outer_context_;
}
void FaultCollector::set_reduction_order(ReductionOrder order, std::uint64_t seed) {
  thread_state().context.reduction_order = order;
  thread_state().context.seed = seed;
}

}  // namespace kizami::tile
