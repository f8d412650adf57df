// SPDX-License-Identifier: MIT
// In which order a device takes its blocks, and where the panels of operands lie meanwhile: rows of A and columns of B
// in a few places each, brought there while blocks before them are computed. Pure data, which streams and events then
// carry out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "multi/rect.hpp"

namespace kizami::multi {

inline constexpr int kNoStep = -1;

/// One panel of a step.
struct PanelUse {
  int place = 0;
  bool is_loaded = false;    ///< by this step; else it is there, and was loaded by `loaded_by`
  int loaded_by = kNoStep;   ///< this step, or the one before that loaded it
  int free_after = kNoStep;  ///< is_loaded: the last step that reads what was in the place before
};

/// One block, once: steps of several passes over the same blocks follow one another in one list.
struct Step {
  int block = 0;
  PanelUse a;
  PanelUse b;
  int c_place = 0;  ///< the same in all passes, if there are as many as blocks
};

/// Whose C must have left a place of C before another's comes. Not every step uses the place that it has: its C may lie as a whole where the
/// device has it, or not be written in this pass. So a place is free behind the last step whose C leaves it, however long ago.
class PlacesOfC {
 public:
  explicit PlacesOfC(int count) : left_(static_cast<std::size_t>(count), kNoStep) {}
  /// The last step whose C leaves the place; kNoStep: none
  [[nodiscard]] int free_after(int place) const { return left_[static_cast<std::size_t>(place)]; }
  /// The C of a step will leave it. @range steps in their order
  void leaves(int place, int step) { left_[static_cast<std::size_t>(place)] = step; }

 private:
  std::vector<int> left_;
};

/// What comes for a step from where the device does not read it: panels, and C as it was before the call.
enum class Coming : std::uint8_t { kA, kB, kC };
struct Arrival {
  int step = 0;
  Coming what = Coming::kA;
  int free_after = kNoStep;  ///< the last step of what was in the place before
  bool holds_host = false;   ///< the host waits while it comes
  int ask_from = 0;          ///< of time_arrivals(): once the kernels of all steps before this one are asked for
};
/// Arrivals of a pass in the order in which they come: each is asked for as soon as its place is known to become free,
/// C's behind the kernels of the next step, which are asked for before C leaves; and not before those that come before it.
/// What holds the host waits for the kernels of the steps before its own.
/// @range  a place of C is free for the second step after the one that had it
void time_arrivals(std::span<Arrival> arrivals, int first_step);

/// Where panels of B come from.
enum class PanelsOfB : std::uint8_t {
  kOfB,  ///< places of their own
  kOfA,  ///< B is A mirrored: the lines of A with those numbers, in the places of A
};

/// Steps for `num_passes` passes over blocks, every second in reverse, so that a pass begins with the panels that the
/// one before ends with. A panel that is in a place stays; a new one takes the place that was used longest ago.
/// @range  places >= 1 each, kOfA: 2 of A and none of B; as many as there are different panels, and nothing is loaded
///         twice
[[nodiscard]] std::vector<Step> make_steps(std::span<const Rect> blocks, int num_passes, int a_places, int b_places,
                                           int c_places, PanelsOfB of_b = PanelsOfB::kOfB);

/// Different panels of A (by their rows) and of B (by their columns).
struct PanelCounts {
  int a = 0;
  int b = 0;
};
[[nodiscard]] PanelCounts count_panels(std::span<const Rect> blocks, PanelsOfB of_b = PanelsOfB::kOfB);

}  // namespace kizami::multi
