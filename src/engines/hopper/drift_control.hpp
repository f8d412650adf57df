// SPDX-License-Identifier: MIT
// Orders of tiles that keep the clusters of a product together, so that lines which one of them has read are still in
// the L2 cache when the others want them. Arithmetic, for kernels and for tests: an order changes when a tile is made,
// never a bit of it.
//
//   kStatic   cluster c of C takes tiles c, c + C, c + 2 C and so on. One that is faster by a hundredth is a tile ahead
//             after a hundred of them.
//   kCounted  the first tile of a cluster is c, each further one is claimed from a counter: the tiles under way are
//             neighbours, whoever is fast.
//   kPaced    the tiles of kStatic. Before every kEpochBlocks blocks of k a cluster waits until all have begun the epoch
//             kEpochsAhead before. The wait is a hint: it ends after kMostPolls looks, whatever the others do, so
//             clusters that have no multiprocessor yet, or share theirs, stop nobody.
//
// The words that both count in are zero before a launch, and by themselves again after it: each is only increased by
// atomicInc() with a limit (x >= limit ? 0 : x + 1), and the last increase of a launch is the one that finds the limit.
// So launches that follow one another need no reset; launches side by side need words of their own.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::engines::hopper {

enum class WalkOrder : std::uint8_t { kStatic, kCounted, kPaced };

inline constexpr std::uint32_t kEpochBlocks = 16;  ///< of k: 13 to 15 microseconds of a tile of 192 x 256. unmeasured
inline constexpr std::uint32_t kEpochsAhead = 2;   ///< that a cluster may be before the last one. unmeasured
inline constexpr std::uint32_t kEpochSlots = 8;    ///< counters of epochs, which take turns
inline constexpr std::uint32_t kMostPolls = 4;     ///< of one wait, each 0.6 microseconds or more. unmeasured
inline constexpr std::uint32_t kMostMisses = 16;   ///< waits in vain on end, after which a cluster waits no more
static_assert(kEpochSlots >= 2 * kEpochsAhead, "a slot is not counted in again while somebody waits for it");
static_assert(kEpochBlocks >= 2, "the block before an epoch is of the epoch before");

/// In device memory, zeros before the first launch.
struct DriftWords {
  std::uint32_t claims;
  std::uint32_t unused[7];  ///< the counters of epochs have a sector of L2 of their own
  std::uint32_t epochs[kEpochSlots];
};

// ---- kCounted ----
// A cluster whose first tile there is claims until it is given a tile that there is not. So T tiles and C clusters make
// T claims: max(0, T - C) that are given a tile and min(T, C) that are not.

/// What the n-th claim of a launch is given.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t tile_of_claim(std::uint32_t claim,
                                                                       std::uint32_t num_clusters) {
  return num_clusters + claim;
}
/// The limit of the counter. @range num_tiles >= 1
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t last_claim(std::uint32_t num_tiles) { return num_tiles - 1; }

/// When a producer claims the next tile, by the blocks of k of a tile that it has begun to copy: early enough that the
/// answer is there, and the other producers of the cluster told, when the last one is under way; and no earlier.
struct ClaimTimes {
  int claim_at;
  int tell_at;
};
/// @range num_k_blocks >= 1
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr ClaimTimes claim_times(int num_k_blocks) {
  return {num_k_blocks > 4 ? num_k_blocks - 4 : 0, num_k_blocks > 2 ? num_k_blocks - 2 : 0};
}

/// Where rank 0 of a cluster tells the others of the claim of a round, the first of which is 1, and the parity of the
/// phase that ends with the message. Rank 0 is at most stages + 2 messages ahead of what others have read: a block of k
/// that it copies finds its stage empty, so all have copied what came so many stages before.
inline constexpr std::uint32_t kMessages = 8;
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t message_slot(std::uint32_t round) { return round % kMessages; }
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t message_parity(std::uint32_t round) {
  return (round - 1) / kMessages & 1;
}

// ---- kPaced ----
// Block x of a cluster is the x-th of all its tiles together. Epoch e begins with block kEpochBlocks e; only those count
// that begin in rounds in which every cluster has a tile. Each adds one to slot e % kEpochSlots as it begins.

struct Epochs {
  std::uint32_t num_clusters;
  std::uint32_t num;  ///< that count

  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr Epochs of(std::uint32_t num_tiles, std::uint32_t num_clusters,
                                                              int num_k_blocks) {
    const std::uint64_t blocks = std::uint64_t{num_tiles / num_clusters} * static_cast<std::uint32_t>(num_k_blocks);
    return {num_clusters, static_cast<std::uint32_t>((blocks + kEpochBlocks - 1) / kEpochBlocks)};
  }
  [[nodiscard]] static KIZAMI_HOST_DEVICE constexpr std::uint32_t slot_of(std::uint32_t epoch) {
    return epoch % kEpochSlots;
  }
  /// The limit of the counter of an epoch. @range epoch < num
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t last_arrival(std::uint32_t epoch) const {
    const std::uint32_t uses = (num - slot_of(epoch) + kEpochSlots - 1) / kEpochSlots;
    return uses * num_clusters - 1;
  }
  /// Whether all clusters have begun an epoch that whoever asks has begun, by what its counter holds. (Zero: all have
  /// begun the last epoch of the slot.)
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool have_all_begun(std::uint32_t epoch, std::uint32_t count) const {
    return count == 0 || count >= (epoch / kEpochSlots + 1) * num_clusters;
  }
};

/// The pace of one cluster.
class Pace {
 public:
  KIZAMI_HOST_DEVICE constexpr explicit Pace(const Epochs& epochs) : epochs_(epochs) {}

  /// Before each block of k. @return whether an epoch that counts begins with it: then epoch() is it, the caller
  /// arrives there, and if waits() asks may_go_on() until it says yes, first of what looks_ahead() has found
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool begin_block() {
    if (blocks_left_-- != 0) return false;
    blocks_left_ = kEpochBlocks - 1;
    polls_ = 0;
    return ++begun_ <= epochs_.num;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t epoch() const { return begun_ - 1; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool waits() const {
    return begun_ > kEpochsAhead && misses_ < kMostMisses;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t awaited() const { return epoch() - kEpochsAhead; }
  /// After begin_block(): whether to look now at the counter of awaited_next(), for the next block begins an epoch. The
  /// answer is there by then, so that who has nobody to wait for does not wait for memory either.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool looks_ahead() const {
    return blocks_left_ == 0 && begun_ >= kEpochsAhead && misses_ < kMostMisses;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t awaited_next() const { return begun_ - kEpochsAhead; }
  /// Given what the counter of awaited() holds. Says yes the kMostPolls-th time at the latest.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool may_go_on(std::uint32_t count) {
    if (epochs_.have_all_begun(awaited(), count)) {
      misses_ = 0;
      return true;
    }
    if (++polls_ < kMostPolls) return false;
    ++misses_;
    return true;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr const Epochs& epochs() const { return epochs_; }

 private:
  Epochs epochs_;
  std::uint32_t blocks_left_ = 0;  ///< of the epoch
  std::uint32_t begun_ = 0;        ///< epochs
  std::uint32_t polls_ = 0;        ///< of this wait
  std::uint32_t misses_ = 0;       ///< waits in vain on end
};

}  // namespace kizami::engines::hopper
