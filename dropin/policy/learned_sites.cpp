// SPDX-License-Identifier: MIT
#include "dropin/policy/learned_sites.hpp"

#include <algorithm>

namespace kizami::dropin {

std::size_t LearnedSites::set_of(const Site& site) {
  std::uint64_t hash = 0;
  const auto mix = [&](auto x) {
    hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  mix(reinterpret_cast<std::uintptr_t>(site.settings));
  mix(reinterpret_cast<std::uintptr_t>(site.caller));
  mix(site.device << 8 | static_cast<int>(site.routine));
  mix(static_cast<int>(site.scalar) << 24 | site.op_a << 16 | site.op_b << 8 | (site.has_device_arrays ? 1 : 0));
  for (const std::int64_t x : {site.m, site.n, site.k, site.num_products}) mix(x);
  return hash % kSets;
}

std::size_t LearnedSites::Set::find_or_replace(const Site& site) {
  ++clock;
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& x) { return x.site == site; });
  if (found != places.end()) {
    found->used = clock;
    return static_cast<std::size_t>(found - places.begin());
  }
  Place& oldest =
      *std::min_element(places.begin(), places.end(), [](const Place& x, const Place& y) { return x.used < y.used; });
  const std::uint32_t asked = oldest.asked;
  oldest = Place{};
  oldest.site = site;
  oldest.used = clock;
  oldest.asked = oldest.heard = asked;  // the calls of the site before are not this one's
  return static_cast<std::size_t>(&oldest - places.data());
}

}  // namespace kizami::dropin
