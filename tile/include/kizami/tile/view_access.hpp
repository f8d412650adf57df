// SPDX-License-Identifier: MIT
// Loads and stores of a tile through a view of a span: what every view does once it has said where its tile lies. A
// tile that reaches over the end of the span is padded on load and cut on store by the masked forms.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "kizami/tile/memory.hpp"
#include "kizami/tile/span.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// Where a tile lies in a span: from start[d] on in each dimension, except that along kGathered the positions are those
/// of an index tile. kGathered >= rank: there is no such dimension.
template <class S, std::size_t kGathered>
struct Placement {
  static constexpr std::size_t kRank = S::rank();
  static constexpr bool kHasGathered = kGathered < kRank;
  static constexpr std::size_t kNumPositions = kHasGathered ? S::static_extent(kHasGathered ? kGathered : 0) : 1;
  std::array<std::int64_t, kRank + 1> start{};
  std::array<std::int64_t, kHasGathered ? kNumPositions : 1> positions{};

  /// Position in the span of tile coordinate c of dimension d.
  [[nodiscard]] constexpr std::int64_t position(std::size_t d, std::size_t c) const {
    if constexpr (kHasGathered) {
      if (d == kGathered) return positions[c];
    }
    return start[d] + static_cast<std::int64_t>(c);
  }
};

/// Extents and strides of a span as 64-bit integers.
template <std::size_t kRank>
struct Geometry {
  std::array<std::int64_t, kRank + 1> extent{};
  std::array<std::int64_t, kRank + 1> stride{};
};
template <class Span>
[[nodiscard]] constexpr auto geometry(const Span& span) {
  using Rank = typename Span::rank_type;
  Geometry<Span::extents_type::rank()> result;
  for (std::size_t d = 0; d < Span::extents_type::rank(); ++d) {
    result.extent[d] = static_cast<std::int64_t>(span.mapping().extents().extent(static_cast<Rank>(d)));
    result.stride[d] = static_cast<std::int64_t>(span.mapping().stride(static_cast<Rank>(d)));
  }
  return result;
}

template <class E>
[[nodiscard]] constexpr E padding_value(view_padding padding) {
  if constexpr (kIsBasicFloat<E>) {
    switch (padding) {
      case view_padding::zero:
        break;
      case view_padding::negative_zero:
        return scalar_cast<E>(-0.0);
      case view_padding::positive_inf:
        return scalar_cast<E>(std::numeric_limits<double>::infinity());
      case view_padding::negative_inf:
        return scalar_cast<E>(-std::numeric_limits<double>::infinity());
      case view_padding::nan:
        return scalar_cast<E>(std::numeric_limits<double>::quiet_NaN());
    }
  }
  static_cast<void>(padding);
  return scalar_cast<E>(0);
}

/// Elements of a tile between two neighbours along dimension kDim.
template <class S, std::size_t kDim>
inline constexpr std::size_t kTileStep = [] {
  std::size_t step = 1;
  for (std::size_t d = kDim + 1; d < S::rank(); ++d) step *= S::static_extent(d);
  return step;
}();

/// Calls inside(i, offset) for the elements of the tile that lie in the span and outside(i, coordinates) for the
/// others.
template <class S, std::size_t kGathered, class Inside, class Outside>
void for_each_in_span(const Placement<S, kGathered>& at, const Geometry<S::rank()>& g, const Inside& inside,
                      const Outside& outside) {
  constexpr std::size_t kRank = S::rank();
  std::array<std::size_t, kRank + 1> c{};
  std::array<std::int64_t, kRank + 1> position{};
  for (std::size_t i = 0; i < shape_size_v<S>; ++i) {
    std::int64_t offset = 0;
    bool is_inside = true;
    for (std::size_t d = 0; d < kRank; ++d) {
      position[d] = at.position(d, c[d]);
      is_inside = is_inside && position[d] >= 0 && position[d] < g.extent[d];
      offset += position[d] * g.stride[d];
    }
    if (is_inside) {
      inside(i, offset);
    } else {
      outside(i, position);
    }
    for (std::size_t d = kRank; d-- > 0;) {
      if (++c[d] < S::static_extent(d)) break;
      c[d] = 0;
    }
  }
}

/// Faults of a masked access: it must at least touch the span.
template <class Tile, class S, std::size_t kGathered>
void check_touches(std::string_view name, const Placement<S, kGathered>& at, const Geometry<S::rank()>& g) {
  for (std::size_t d = 0; d < S::rank(); ++d) {
    bool touches = false;
    for (std::size_t c = 0; c < S::static_extent(d); ++c) {
      touches = touches || (at.position(d, c) >= 0 && at.position(d, c) < g.extent[d]);
    }
    if (!touches) {
      std::string text(name);
      text += ": ";
      text += tile_name<Tile>();
      text += " lies wholly outside the span: its dimension ";
      text += std::to_string(d);
      text += " starts at ";
      text += std::to_string(at.position(d, 0));
      text += ", the extents are ";
      text += tuple_text(g.extent, S::rank());
      report_fault(text);
      return;
    }
  }
}
template <class Tile, std::size_t kRank>
void report_outside(std::string_view name, std::size_t i, const std::array<std::int64_t, kRank + 1>& position,
                    const Geometry<kRank>& g) {
  std::string text("index ");
  text += tuple_text(position, kRank);
  text += " is outside the extents ";
  text += tuple_text(g.extent, kRank);
  report_element<Tile>(name, i, text);
}

/// The lines of a tile without gathered dimension along dimension kLine: calls body(i, offset, count) with the first
/// element i and its place in memory for the part of a line inside the span, and rest(i, count) for what lies outside.
/// @range start[d] >= 0
template <bool kMasked, class S, std::size_t kLine, class Body, class Rest>
void for_each_line(const Placement<S, S::rank()>& at, const Geometry<S::rank()>& g, const Body& body,
                   const Rest& rest) {
  constexpr std::size_t kLength = S::static_extent(kLine);
  const auto valid = [&](std::size_t d) {
    return kMasked
               ? std::clamp<std::int64_t>(g.extent[d] - at.start[d], 0, static_cast<std::int64_t>(S::static_extent(d)))
               : static_cast<std::int64_t>(S::static_extent(d));
  };
  const auto length = static_cast<std::size_t>(valid(kLine));
  for (std::size_t line = 0; line < shape_size_v<S> / kLength; ++line) {
    std::int64_t offset = at.start[kLine] * g.stride[kLine];
    bool is_inside = true;
    std::size_t first = 0;
    std::size_t left = line;
    std::size_t step = 1;
    for (std::size_t d = S::rank(); d-- > 0; step *= S::static_extent(d)) {
      if (d == kLine) continue;
      const std::size_t c = left % S::static_extent(d);
      left /= S::static_extent(d);
      first += c * step;
      is_inside = is_inside && static_cast<std::int64_t>(c) < valid(d);
      offset += (at.start[d] + static_cast<std::int64_t>(c)) * g.stride[d];
    }
    const std::size_t count = is_inside ? length : 0;
    if (count != 0) body(first, offset, count);
    if (count != kLength) rest(first + count * kTileStep<S, kLine>, kLength - count);
  }
}

/// Calls visit with the dimension along which memory is contiguous, if that is the last one or the one before, else the
/// last.
template <class S, class Visit>
void along_memory(const Geometry<S::rank()>& g, const Visit& visit) {
  constexpr std::size_t kLast = S::rank() - 1;
  if constexpr (S::rank() >= 2) {
    if (g.stride[kLast] != 1 && g.stride[kLast - 1] == 1) {
      visit(std::integral_constant<std::size_t, kLast - 1>{});
      return;
    }
  }
  visit(std::integral_constant<std::size_t, kLast>{});
}

/// The tile at a placement. @range kMasked, or all of it inside the span
template <bool kMasked, class Tile, class Span, std::size_t kGathered, class Read>
[[nodiscard]] Tile load_placed(std::string_view name, const Span& span, const Placement<ShapeT<Tile>, kGathered>& at,
                               view_padding padding, const Read& read) noexcept {
  using S = ShapeT<Tile>;
  using E = ElementT<Tile>;
  const auto g = geometry(span);
  const auto* const memory = span.data_handle();
  const E pad = padding_value<E>(padding);
  Tile result;
  E* const to = Access::elements(result);
  if constexpr (kDebug) {
    if (kMasked) check_touches<Tile>(name, at, g);
    for_each_in_span(
        at, g,
        [&](std::size_t i, std::int64_t offset) {
          to[i] = read(memory + offset);
          Access::set_defined(result, i, true);
        },
        [&](std::size_t i, const auto& position) {
          to[i] = pad;
          Access::set_defined(result, i, kMasked);
          if (!kMasked) report_outside<Tile, S::rank()>(name, i, position, g);
        });
  } else if constexpr (S::rank() == 0 || kGathered < S::rank()) {
    for_each_in_span(
        at, g, [&](std::size_t i, std::int64_t offset) { to[i] = read(memory + offset); },
        [&](std::size_t i, const auto&) { to[i] = pad; });
  } else {
    along_memory<S>(g, [&]<std::size_t kLine>(std::integral_constant<std::size_t, kLine>) {
      constexpr std::size_t kStep = kTileStep<S, kLine>;
      constexpr std::size_t kLength = S::static_extent(kLine);
      const std::int64_t step = g.stride[kLine];
      for_each_line<kMasked, S, kLine>(
          at, g,
          [&](std::size_t i, std::int64_t offset, std::size_t count) {
            const auto* const from = memory + offset;
            if (step == 1 && count == kLength) {  // of constant length, so that no call is made
              if constexpr (sizeof(E) == 1 && kStep == 1 && std::is_same_v<Read, PlainRead>) {
                std::memcpy(to + i, from, kLength);  // bytes may alias anything: a loop would take them one by one
              } else {
                for (std::size_t j = 0; j < kLength; ++j) to[i + j * kStep] = read(from + j);
              }
            } else {
              for (std::size_t j = 0; j < count; ++j)
                to[i + j * kStep] = read(from + static_cast<std::int64_t>(j) * step);
            }
          },
          [&](std::size_t i, std::size_t count) {
            for (std::size_t j = 0; j < count; ++j) to[i + j * kStep] = pad;
          });
    });
  }
  return result;
}

/// Stores a tile at a placement by write(address, element). @range as load_placed
template <bool kMasked, bool kIsAtomic, class Value, class Span, std::size_t kGathered, class Write>
void store_placed(std::string_view name, const Span& span, const Value& value,
                  const Placement<ShapeT<Value>, kGathered>& at, const Write& write) noexcept {
  using S = ShapeT<Value>;
  using E = typename Span::value_type;
  const auto g = geometry(span);
  E* const memory = span.data_handle();
  const auto* const from = Access::elements(value);
  if constexpr (kDebug) {
    if (kMasked) check_touches<Value>(name, at, g);
    StoreWatch<Value> watch(name);
    for_each_in_span(
        at, g,
        [&](std::size_t i, std::int64_t offset) {
          if constexpr (kIsAtomic) {
            require_defined(name, value, i);
          } else if (!watch.allows(value, i, memory + offset)) {
            return;
          }
          write(memory + offset, scalar_cast<E>(from[i]));
        },
        [&](std::size_t i, const auto& position) {
          if (!kMasked) report_outside<Value, S::rank()>(name, i, position, g);
        });
    watch.finish();
  } else if constexpr (S::rank() == 0 || kGathered < S::rank()) {
    for_each_in_span(
        at, g, [&](std::size_t i, std::int64_t offset) { write(memory + offset, scalar_cast<E>(from[i])); },
        [](std::size_t, const auto&) {});
  } else {
    along_memory<S>(g, [&]<std::size_t kLine>(std::integral_constant<std::size_t, kLine>) {
      constexpr std::size_t kStep = kTileStep<S, kLine>;
      constexpr std::size_t kLength = S::static_extent(kLine);
      const std::int64_t step = g.stride[kLine];
      for_each_line<kMasked, S, kLine>(
          at, g,
          [&](std::size_t i, std::int64_t offset, std::size_t count) {
            E* const to = memory + offset;
            if (step == 1 && count == kLength) {
              for (std::size_t j = 0; j < kLength; ++j) write(to + j, scalar_cast<E>(from[i + j * kStep]));
            } else {
              for (std::size_t j = 0; j < count; ++j) {
                write(to + static_cast<std::int64_t>(j) * step, scalar_cast<E>(from[i + j * kStep]));
              }
            }
          },
          [](std::size_t, std::size_t) {});
    });
  }
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
