// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_looks.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fork_safe.hpp"
#include "device/effort_words.hpp"
#include "device/learned_look.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

/// For as long as the process lives: calls under way may write them at any time.
class LookWords {
 public:
  LookWords() {
    const Result<std::span<std::uint64_t>> made = device::make_effort_words(device::kNumLookWords);
    if (made.ok()) words_ = made.value().data();
    static_cast<void>(cudaGetLastError());  // without memory nothing is learned, and no call fails for it
  }
  /// Of those that another thread's were taken for.
  ~LookWords() {
    if (words_ != nullptr) static_cast<void>(cudaFreeHost(words_));
  }
  LookWords(const LookWords&) = delete;
  LookWords& operator=(const LookWords&) = delete;

  /// [kNumLookWords]; null if there was no memory for them.
  [[nodiscard]] std::uint64_t* words() const { return words_; }

 private:
  std::uint64_t* words_ = nullptr;
};

constinit base::MadeOnce<LookWords> look_words;

}  // namespace

NextLook next_look(const plan::Plan& plan) {
  if (!learns_look(plan) || !takes_any_look(plan)) return {};
  std::uint64_t* const words = look_words.get().words();
  if (words == nullptr) return {};
  std::uint64_t* const word = words + plan.serial % device::kNumLookWords;
  const std::uint64_t held = std::atomic_ref(*word).load(std::memory_order_relaxed);
  const device::LearnedLook learned =
      device::learned_look(plan.serial, ozaki2_of(plan).ladder.num_rungs, device::told_look(held));
  NextLook next{learned.look, learned.first_rung, learned.has_samples, learned.is_lowest, {word, learned.number, held}};
  if (learned.look != device::Look::kSample && learned.first_rung == 0 && has_scout(plan)) {
    next.look =
        std::nullopt;  // it sees these elements; tame ones are likely to come again, and it takes 5 microseconds
  } else if (learned.first_rung > 0) {
    // The split makes integers that it does not keep more slowly than another kernel behind it does.
    const num::Rung& rung = ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(learned.first_rung)];
    const bool is_kept = fits_two_words(rung) || keeps_fragments(plan.shape.scalar, words_of(rung));
    if (!is_kept || !one_pass_takes(plan.schedule.facts, plan.shape.scalar, plan.shape.k, rung)) {
      next.look = device::Look::kBlocksFirst;
      next.first_rung = 0;
    }
  }
  return next;
}

bool takes_any_look(const plan::Plan& plan) {
  return compares_in_product(plan) && ozaki2_of(plan).engine->reads_num_products();
}

}  // namespace kizami::ozaki2
