// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_looks.hpp"

#include <cuda_runtime_api.h>

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
  const device::LearnedLook next =
      device::learned_look(plan.serial, ozaki2_of(plan).ladder.num_rungs, device::read_effort(word));
  const EffortNote note{word, next.number};
  const num::Rung& rung = ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(next.first_rung)];
  if (next.first_rung == 0 && has_scout(plan)) return {std::nullopt, 0, note};  // it sees these elements
  // The split makes integers that it does not keep more slowly than another kernel behind it does.
  const bool is_kept = fits_two_words(rung) || keeps_fragments(plan.shape.scalar, words_of(rung));
  if (next.first_rung > 0 && !(is_kept && one_pass_takes(plan.schedule.facts, plan.shape.scalar, plan.shape.k, rung)))
    return {device::Look::kBlocksFirst, 0, note};
  return {next.look, next.first_rung, note};
}

bool takes_any_look(const plan::Plan& plan) {
  return compares_in_product(plan) && ozaki2_of(plan).engine->reads_num_products();
}

}  // namespace kizami::ozaki2
