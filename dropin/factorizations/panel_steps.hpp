// SPDX-License-Identifier: MIT
// LU of a tall panel of W columns in one kernel: what its threads do between barriers. A thread has a row in registers for
// as long as the kernel runs, and knows its place; that a row is exchanged with another changes their places, and nothing
// moves before the end. In step c
//   each block offers its largest |A(row, c)| of places not yet taken, at the place first in order where several are
//   equal, and tells all blocks of it and of that row;
//   all hear the offers of all blocks and choose alike: the row chosen gets place c, the row at place c its place; rows
//   behind get l = A(row, c) / pivot, and lose l times the row that was chosen.
// Elements of a row turn by one at each step, so that all indices of registers are constants: l comes in at the end, and
// after W steps a row is in order again. Blocks on a host, each of which does a step for all its threads in turn, make the
// same bits.
//
// There is no barrier of all blocks. What a block tells lies in words of 8 bytes, part of each a value and part a tag, the
// number of the step; a word is read and written as one, so who finds the tag has the value, in whatever order words
// arrive. Each block has words of its own from each. Who waits for the words of all blocks waits for all blocks. Two sets of
// words take turns: a block that writes the words of step c + 2 over those of step c has heard all blocks in step c + 1, and
// a block tells of its step c + 1 behind a barrier of its own, before which its threads had what they read in step c. Tags
// are never used again, in no later kernel either, so that words need no clearing.
#pragma once

#include <cstdint>

#include "dropin/factorizations/host_device.hpp"
#include "dropin/factorizations/moves.hpp"

namespace kizami::dropin::factorizations {

inline constexpr int kPanelThreads = 256;  ///< rows of a block
inline constexpr int kPanelWarps = kPanelThreads / 32;
inline constexpr int kMostPanelBlocks = kPanelThreads;  ///< a thread hears one

/// A row that might be chosen. The one with the larger key is; of equal keys that with the lesser order.
struct Offer {
  std::uint64_t key = 0;             ///< 1 + the bits of the absolute value; 0: there is no row
  std::uint32_t order = 0xffffffff;  ///< place * kMostPanelBlocks + block
};
[[nodiscard]] FACTORIZATIONS_BOTH inline bool is_before(const Offer& a, const Offer& b) {
  return a.key > b.key || (a.key == b.key && a.order < b.order);
}

/// In the memory of the device, for all blocks, zeros before the first panel. Of the words see above.
template <int W>
struct PanelOffers {
  alignas(
      16) std::uint64_t offer[2][kMostPanelBlocks][kMostPanelBlocks][2];  ///< [][to][from]: halves of a key, a place
  alignas(16) std::uint64_t row[2][kMostPanelBlocks][2 * W];              ///< halves of elements, the low one first
};
static_assert(kMostPanelBlocks * kPanelThreads <= 1 << 16, "a place has 16 bits of a word");

template <int W>
struct PanelShared {
  Offer of_warp[kPanelWarps];    ///< rows of the block
  Offer of_blocks[kPanelWarps];  ///< of blocks that the warp heard
  double chosen[W];
  double offered[W];        ///< the row that the block offers
  std::int32_t offered_by;  ///< 1 + step * kPanelWarps + the warp that has the row
  std::int32_t special;     ///< 1 + the last step in which the row that was chosen had an Inf or a NaN
};

template <int W>
struct PanelCall {
  double* a;
  std::int64_t ld;
  std::int32_t rows;
  std::int32_t cols;  ///< at most W
  std::int32_t num_blocks;
  std::uint32_t first_tag;  ///< at least 1, and W more than that of the panel before
  PanelOffers<W>* offers;
  Moves<W>* moves;
};

namespace words {

FACTORIZATIONS_BOTH inline std::uint64_t word(std::uint32_t value, std::uint32_t tag) {
  return std::uint64_t{tag} << 32 | value;
}
/// With 16 bits of the tag: what was told there before is less than 2^16 steps old, for all blocks of a panel are in the
/// panel before, or a matrix of as many rows came between.
FACTORIZATIONS_BOTH inline std::uint64_t word(std::uint32_t value, std::uint32_t place, std::uint32_t tag) {
  return std::uint64_t{tag << 16 | place} << 32 | value;
}
/// Two words side by side.
FACTORIZATIONS_BOTH inline void tell(std::uint64_t* places, std::uint64_t first, std::uint64_t second) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(places), "l"(first), "l"(second) : "memory");
#else
  __atomic_store_n(places, first, __ATOMIC_RELEASE);
  __atomic_store_n(places + 1, second, __ATOMIC_RELEASE);
#endif
}
FACTORIZATIONS_BOTH inline void tell_number(std::uint64_t* places, double value, std::uint32_t tag) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof bits);
  tell(places, word(static_cast<std::uint32_t>(bits), tag), word(static_cast<std::uint32_t>(bits >> 32), tag));
}
[[nodiscard]] FACTORIZATIONS_BOTH inline std::uint64_t heard(const std::uint64_t& place) {
#if defined(__CUDA_ARCH__)
  std::uint64_t found;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(&place) : "memory");
  return found;
#else
  return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
#endif
}
FACTORIZATIONS_BOTH inline void hear(const std::uint64_t* places, std::uint64_t& first, std::uint64_t& second) {
#if defined(__CUDA_ARCH__)
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(places) : "memory");
#else
  first = __atomic_load_n(places, __ATOMIC_ACQUIRE);
  second = __atomic_load_n(places + 1, __ATOMIC_ACQUIRE);
#endif
}
[[nodiscard]] FACTORIZATIONS_BOTH inline bool has_tag(std::uint64_t word, std::uint32_t tag) {
  return static_cast<std::uint32_t>(word >> 32) == tag;
}

}  // namespace words

template <int W>
class PanelSteps {
  static_assert(W >= 2 && 2 * W <= kPanelThreads, "a thread reads one word of the row that is chosen");

 public:
  FACTORIZATIONS_BOTH PanelSteps(const PanelCall<W>& call, PanelShared<W>& shared, int thread, int block)
      : call_(call),
        shared_(shared),
        thread_(thread),
        block_(block),
        first_(block * kPanelThreads + thread),
        place_(first_) {}

  FACTORIZATIONS_BOTH void load() {
    if (thread_ == 0) shared_.offered_by = shared_.special = 0;  // a barrier comes before these are looked at
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) row_[j] = has_row() && j < call_.cols ? call_.a[first_ + j * call_.ld] : 0.0;
    next_ = row_[0];
  }

  // ---- one step ----

  [[nodiscard]] FACTORIZATIONS_BOTH Offer own(int step) const {
    if (!has_row() || place_ < step) return {};
    constexpr std::uint64_t kInfinity = 0x7ff0000000000000;
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &next_, sizeof bits);
    bits &= ~(std::uint64_t{1} << 63);
    // A NaN is chosen at once, so that it is seen.
    return {(bits < kInfinity ? bits : kInfinity) + 1,
            static_cast<std::uint32_t>(place_) * kMostPanelBlocks + static_cast<std::uint32_t>(block_)};
  }
  FACTORIZATIONS_BOTH void keep_own(const Offer& best_of_warp) {
    if (thread_ % 32 == 0) shared_.of_warp[thread_ / 32] = best_of_warp;
  }
  [[nodiscard]] FACTORIZATIONS_BOTH Offer of_warp() const {
    return thread_ % 32 < kPanelWarps ? shared_.of_warp[thread_ % 32] : Offer{};
  }
  FACTORIZATIONS_BOTH void choose_own(const Offer& best_of_block) { own_ = best_of_block; }
  /// To block `thread`.
  FACTORIZATIONS_BOTH void tell_offer(int step) {
    if (thread_ >= call_.num_blocks) return;
    const std::uint32_t tag = tag_of(step);
    words::tell(call_.offers->offer[step % 2][thread_][block_],
                words::word(static_cast<std::uint32_t>(own_.key >> 32), tag),
                words::word(static_cast<std::uint32_t>(own_.key), own_.order / kMostPanelBlocks & 0xffff, tag));
  }
  /// The thread whose row is the block's offer lays it before its warp, whose lanes tell it.
  FACTORIZATIONS_BOTH void show_row(int step) {
    if (!is_owner()) return;
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) shared_.offered[j] = row_[j];
    shared_.offered_by = shown_by(step);
  }
  FACTORIZATIONS_BOTH void tell_row(int step) const {
    if (shared_.offered_by != shown_by(step)) return;  // another warp's, or of a step before
    std::uint64_t* const places = call_.offers->row[step % 2][block_];
    for (int j = thread_ % 32; j < W - step; j += 32)  // behind it are the row's own l
      words::tell_number(places + 2 * j, shared_.offered[j], tag_of(step));
  }
  /// The offer of block `thread`.
  template <class Wait>
  [[nodiscard]] FACTORIZATIONS_BOTH Offer of_block(int step, const Wait& wait) const {
    if (thread_ >= call_.num_blocks) return {};
    const std::uint64_t* const places = call_.offers->offer[step % 2][block_][thread_];
    const std::uint32_t tag = tag_of(step);
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    wait([&] {
      words::hear(places, first, second);
      return words::has_tag(first, tag) && static_cast<std::uint16_t>(second >> 48) == static_cast<std::uint16_t>(tag);
    });
    const auto place = static_cast<std::uint32_t>(second >> 32) & 0xffff;
    return {first << 32 | static_cast<std::uint32_t>(second),
            place * kMostPanelBlocks + static_cast<std::uint32_t>(thread_)};
  }
  FACTORIZATIONS_BOTH void keep_heard(const Offer& best_of_warp) {
    if (thread_ % 32 == 0) shared_.of_blocks[thread_ / 32] = best_of_warp;
  }
  [[nodiscard]] FACTORIZATIONS_BOTH Offer of_blocks() const {
    return thread_ % 32 < kPanelWarps ? shared_.of_blocks[thread_ % 32] : Offer{};
  }
  FACTORIZATIONS_BOTH void choose(const Offer& best) { chosen_ = best.order; }
  template <class Wait>
  FACTORIZATIONS_BOTH void read_chosen(int step, const Wait& wait) {
    if (thread_ >= 2 * W) return;
    std::uint64_t word = 0;
    if (thread_ / 2 < W - step) {
      const std::uint64_t& place = call_.offers->row[step % 2][chosen_ % kMostPanelBlocks][thread_];
      wait([&] {
        word = words::heard(place);
        return words::has_tag(word, tag_of(step));
      });
    }
    const auto value = static_cast<std::uint32_t>(word);
    if (thread_ % 2 == 1 && (value & 0x7ff00000) == 0x7ff00000) shared_.special = step + 1;
    __builtin_memcpy(reinterpret_cast<unsigned char*>(shared_.chosen) + thread_ * 4, &value, sizeof value);
  }
  /// In the column that the next step compares.
  FACTORIZATIONS_BOTH void eliminate_next(int step) {
    const std::int32_t chosen_place = place_of({1, chosen_});
    if (place_ == chosen_place) {
      place_ = step;
    } else if (place_ == step) {
      place_ = chosen_place;
    }
    const double pivot = shared_.chosen[0];
    // Of a column of zeros nothing is divided.
    l_ = is_done(step) || pivot == 0 ? row_[0] : row_[0] / pivot;
    next_ = eliminated(step, 1);
  }
  FACTORIZATIONS_BOTH void eliminate_others(int step) {
    row_[0] = next_;
    if (shared_.special == step + 1) {
      FACTORIZATIONS_UNROLL
      for (int j = 2; j < W; ++j) row_[j - 1] = eliminated(step, j);
    } else {  // to subtract 0 times a number changes nothing, and takes a third of the instructions of a choice
      const double l = is_done(step) ? 0.0 : l_;
      FACTORIZATIONS_UNROLL
      for (int j = 2; j < W; ++j) row_[j - 1] = __builtin_fma(-l, shared_.chosen[j], row_[j]);
    }
    row_[W - 1] = l_;
  }

  /// A step of columns that the panel does not have.
  FACTORIZATIONS_BOTH void turn() {
    const double first = row_[0];
    FACTORIZATIONS_UNROLL
    for (int j = 1; j < W; ++j) row_[j - 1] = row_[j];
    row_[W - 1] = first;
  }

  FACTORIZATIONS_BOTH void store() {
    if (!has_row()) return;
    FACTORIZATIONS_UNROLL
    for (int j = 0; j < W; ++j) {
      if (j < call_.cols) call_.a[place_ + j * call_.ld] = row_[j];
    }
    if (place_ < W) call_.moves->from[place_] = first_;
    if (first_ < W) call_.moves->to[first_] = place_ < W ? -1 : place_;
  }

 private:
  [[nodiscard]] FACTORIZATIONS_BOTH std::uint32_t tag_of(int step) const {
    return call_.first_tag + static_cast<std::uint32_t>(step);
  }
  [[nodiscard]] FACTORIZATIONS_BOTH bool has_row() const { return first_ < call_.rows; }
  [[nodiscard]] FACTORIZATIONS_BOTH bool is_owner() const {
    return own_.key > 0 ? has_row() && place_ == place_of(own_) : thread_ == 0;
  }
  [[nodiscard]] FACTORIZATIONS_BOTH std::int32_t shown_by(int step) const {
    return 1 + step * kPanelWarps + thread_ / 32;
  }
  [[nodiscard]] FACTORIZATIONS_BOTH bool is_done(int step) const { return place_ <= step; }
  [[nodiscard]] FACTORIZATIONS_BOTH double eliminated(int step, int j) const {
    const bool is_kept = is_done(step) || j >= W - step;  // behind the columns that are left are the row's own l
    return is_kept ? row_[j] : __builtin_fma(-l_, shared_.chosen[j], row_[j]);
  }
  [[nodiscard]] static FACTORIZATIONS_BOTH std::int32_t place_of(const Offer& offer) {
    return static_cast<std::int32_t>(offer.order / kMostPanelBlocks);
  }

  const PanelCall<W>& call_;
  PanelShared<W>& shared_;
  int thread_;
  int block_;
  std::int32_t first_;
  std::int32_t place_;
  Offer own_;                 ///< of the block
  std::uint32_t chosen_ = 0;  ///< order of the offer that was chosen last
  double l_ = 0;
  double next_ = 0;  ///< the element that will be compared
  double row_[W];
};

/// All steps of one block. Block:
///   each(f)                 f(thread) for all threads
///   compare(offer, take)    take(thread, best) for all threads, `best` of offer(thread) of the threads of its warp
///   sync(), sync_warp()     waits for all threads of the block, of the warp
///   wait(f)                 returns when f() is true
template <int W, class Block>
FACTORIZATIONS_BOTH void factor_panel(const PanelCall<W>& call, Block& block) {
  const auto wait = [&](const auto& is_there) { block.wait(is_there); };
  block.each([](auto& thread) { thread.load(); });
  const int num_steps = call.cols < call.rows ? call.cols : call.rows;
  for (int step = 0; step < num_steps; ++step) {
    block.compare([&](auto& thread) { return thread.own(step); },
                  [](auto& thread, const Offer& best) { thread.keep_own(best); });
    block.sync();
    block.compare([](auto& thread) { return thread.of_warp(); },
                  [](auto& thread, const Offer& best) { thread.choose_own(best); });
    block.each([&](auto& thread) { thread.tell_offer(step); });
    // While offers are on their way, what is left of the step before, whose row lies in shared memory until the next sync().
    if (step > 0) block.each([&](auto& thread) { thread.eliminate_others(step - 1); });
    block.each([&](auto& thread) { thread.show_row(step); });
    block.sync_warp();
    block.each([&](auto& thread) { thread.tell_row(step); });
    block.compare([&](auto& thread) { return thread.of_block(step, wait); },
                  [](auto& thread, const Offer& best) { thread.keep_heard(best); });
    block.sync();
    block.compare([](auto& thread) { return thread.of_blocks(); },
                  [](auto& thread, const Offer& best) { thread.choose(best); });
    block.each([&](auto& thread) { thread.read_chosen(step, wait); });
    block.sync();
    block.each([&](auto& thread) { thread.eliminate_next(step); });
  }
  if (num_steps > 0) block.each([&](auto& thread) { thread.eliminate_others(num_steps - 1); });
  for (int step = num_steps; step < W; ++step) block.each([](auto& thread) { thread.turn(); });
  block.each([](auto& thread) { thread.store(); });
}

}  // namespace kizami::dropin::factorizations
