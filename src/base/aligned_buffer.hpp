// SPDX-License-Identifier: MIT
// Owned memory on 64-byte boundaries; allocation failure is a value, not an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace kizami::base {

class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;

  /// Uninitialised bytes; holds nothing if the system refuses (see ok()) or bytes = 0.
  explicit AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0 || bytes > SIZE_MAX - kAlignment) return;
    memory_.reset(
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
  }

  [[nodiscard]] bool ok() const { return bytes_ == 0 || memory_ != nullptr; }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace kizami::base
