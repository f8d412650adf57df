// SPDX-License-Identifier: MIT
// The places of calls that a process remembers, with what was learned of each. A place is what a program repeats: the
// calling code, the shape, and the settings. There is room for a fixed number; of those that compete the longest unused
// goes.
//
// Calls end when they like: each has a number, and tells its effort by one of the two words of its place, so that the
// last two calls are known. Numbers of a place go on when another one takes it over, and what is told of calls before
// that is not heard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "dropin/policy/call.hpp"
#include "dropin/policy/learned_choice.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/effort.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin {

/// Equal for calls that are the same but for their elements.
struct Site {
  const Settings* settings = nullptr;  ///< which live as long as the process
  const void* caller = nullptr;        ///< an address in the calling code
  int device = 0;
  Routine routine = Routine::kGemm;
  Scalar scalar = Scalar::kF64;
  char op_a = 'N';
  char op_b = 'N';
  bool has_device_arrays = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t num_products = 1;

  friend bool operator==(const Site&, const Site&) = default;
};

/// Safe to use from any thread; in the child of a fork only by base::PerProcess.
class LearnedSites {
 public:
  static constexpr std::size_t kSets = 128;
  static constexpr std::size_t kWays = 4;  ///< places that a site may have
  static constexpr std::size_t kWordsOfPlace = 2;
  static constexpr std::size_t kWords = kSets * kWays * kWordsOfPlace;

  LearnedSites() = default;
  /// As if so many calls had been made at each place, which are heard of.
  explicit LearnedSites(std::uint32_t num_calls) {
    for (Set& set : sets_) {
      for (Place& place : set.places) place.asked = place.heard = num_calls & kNumbers;
    }
  }

  struct Answer {
    bool is_native = false;
    std::size_t word = 0;      ///< of kWords: where the call is to tell its effort
    std::uint32_t number = 0;  ///< with this, of 24 bits
  };

  /// Who answers the next call of a site, by what has been told since the last one.
  /// @param told    told(word) is the std::optional<ToldEffort> that a word holds
  /// @param is_loss is_loss(effort): whether a call with that effort was a loss; asked when the effort is another than
  ///        before
  template <class Told, class IsLoss>
  [[nodiscard]] Answer next_call(const Site& site, const Told& told, const IsLoss& is_loss) {
    const std::size_t set = set_of(site);
    Set& s = sets_[set];
    const std::lock_guard lock(s.mutex);
    const std::size_t way = s.find_or_replace(site);
    Place& place = s.places[way];
    const std::size_t first = (set * kWays + way) * kWordsOfPlace;
    std::array<std::optional<ToldEffort>, kWordsOfPlace> news;
    for (std::size_t i = 0; i < kWordsOfPlace; ++i) news[i] = told(first + i);
    if (news[0] && news[1] && place.is_before(*news[1], *news[0])) std::swap(news[0], news[1]);
    for (const std::optional<ToldEffort>& x : news) {
      if (!x || !place.is_news(*x)) continue;
      place.heard = x->number;
      if (!place.judged || *place.judged != x->effort) {
        place.judged.reset();  // is_loss() may throw
        place.was_loss = is_loss(x->effort);
        place.judged = x->effort;
      }
      place.choice.tell(place.was_loss);
    }
    if (!place.choice.takes_next()) return {true, 0, 0};
    place.asked = (place.asked + 1) & kNumbers;
    return {false, first + place.asked % kWordsOfPlace, place.asked};
  }

 private:
  static constexpr std::uint32_t kNumbers = (std::uint32_t{1} << 24) - 1;

  struct Place {
    std::optional<Site> site;
    std::uint64_t used = 0;   ///< when, by the clock of the set
    std::uint32_t asked = 0;  ///< number of the last call that was Kizami's
    std::uint32_t heard = 0;  ///< of the last call that was told of; calls of another site
    LearnedChoice choice;
    std::optional<Effort> judged;
    bool was_loss = false;

    /// Whether x is of a call of this site, after those that were heard of.
    [[nodiscard]] bool is_news(const ToldEffort& x) const {
      const std::uint32_t after = (x.number - heard) & kNumbers;
      return after != 0 && after <= ((asked - heard) & kNumbers);
    }
    [[nodiscard]] bool is_before(const ToldEffort& x, const ToldEffort& y) const {
      return ((x.number - heard) & kNumbers) < ((y.number - heard) & kNumbers);
    }
  };
  struct Set {
    std::mutex mutex;
    std::uint64_t clock = 0;
    std::array<Place, kWays> places;

    [[nodiscard]] std::size_t find_or_replace(const Site& site);
  };

  [[nodiscard]] static std::size_t set_of(const Site& site);

  std::array<Set, kSets> sets_;
};

}  // namespace kizami::dropin
