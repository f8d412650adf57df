// SPDX-License-Identifier: MIT
#include "device/effort_words.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>

#include "base/cuda_status.hpp"
#include "base/relaxed_capture.hpp"
#include "device/effort_word.hpp"

namespace kizami::device {

Result<std::span<std::uint64_t>> make_effort_words(std::size_t count) {
  const base::RelaxedCapture relaxed;
  void* memory = nullptr;
  const cudaError_t error =
      cudaHostAlloc(&memory, count * sizeof(std::uint64_t), cudaHostAllocPortable | cudaHostAllocMapped);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(error, "host memory for what calls tell"));
  const std::span<std::uint64_t> words(static_cast<std::uint64_t*>(memory), count);
  std::fill(words.begin(), words.end(), std::uint64_t{0});
  return words;
}

std::optional<ToldEffort> read_effort(std::uint64_t* word) noexcept {
  const std::uint64_t seen = std::atomic_ref(*word).load(std::memory_order_relaxed);
  return is_told(seen) ? std::optional(told_effort(seen)) : std::nullopt;
}

}  // namespace kizami::device
