// SPDX-License-Identifier: MIT
// What one launch keeps for its blocks, and the calling thread's place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kizami/tile/context.hpp"

namespace kizami::tile {

/// Which block stored to which byte: pages of block numbers, made when first stored to.
class StoreMap {
 public:
  /// Notes the store; returns another block that stored to one of these bytes, or -1.
  std::int64_t note(const void* address, std::size_t bytes, std::int64_t block);

 private:
  static constexpr std::size_t kPageBytes = 4096;
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::vector<std::int64_t>> pages_;
};

/// The faults and stores of a launch, shared by its threads.
class LaunchRecord {
 public:
  LaunchRecord(std::string_view kernel, const LaunchOptions& options) : kernel_(kernel), options_(options) {}

  /// Adds kernel and block to the sentence and keeps it.
  void add_fault(const BlockContext& context, const std::string& what);
  [[nodiscard]] StoreMap& stores() { return stores_; }
  [[nodiscard]] std::int64_t num_faults() const { return num_faults_; }
  [[nodiscard]] const std::string& first_fault() const { return first_fault_; }

 private:
  std::string_view kernel_;
  const LaunchOptions& options_;
  std::mutex mutex_;
  std::int64_t num_faults_ = 0;
  std::string first_fault_;
  StoreMap stores_;
};

/// The calling thread's block, the launch it belongs to, and the collector outside one.
struct ThreadState {
  BlockContext context;
  LaunchRecord* launch = nullptr;
  FaultCollector* collector = nullptr;
};
[[nodiscard]] ThreadState& thread_state() noexcept;

[[nodiscard]] std::string to_string(BlockIndex index);

}  // namespace kizami::tile
