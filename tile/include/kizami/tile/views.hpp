// SPDX-License-Identifier: MIT
// Views: how tiles are cut out of a span. partition_view puts them side by side, strided_view at any distance (so that
// they may overlap), gather_scatter_view takes the positions along one dimension from a tile of indices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kizami/tile/atomics.hpp"
#include "kizami/tile/view_access.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <view_padding kPadding, class E>
consteval bool check_view_padding() {
  constexpr bool kHas = kPadding == view_padding::zero || kIsBasicFloat<E>;
  static_assert(kHas, "padding other than zero is for elements of double, float, __half and __nv_bfloat16");
  return kHas;
}
template <class Span>
consteval bool check_storeable_span() {
  static_assert(storeable_tensor_span<Span>, "the span is of const elements: nothing can be stored through it");
  return storeable_tensor_span<Span>;
}
template <class Value, class Tile>
consteval bool check_view_value() {
  constexpr bool kHasShape = same_shape<ShapeT<Value>, ShapeT<Tile>>;
  static_assert(kHasShape, "the stored tile must have the shape of the view");
  constexpr bool kKeeps = non_narrowing_scalar_convertible_to<ElementT<Value>, ElementT<Tile>>;
  static_assert(kKeeps, "the stored elements would be narrowed to those of the view: element_cast first");
  return kHasShape && kKeeps;
}
template <memory_order kOrder, thread_scope kScope>
consteval bool check_view_update() {
  constexpr bool kIsRelaxed = kOrder == memory_order::relaxed;
  static_assert(kIsRelaxed, "atomic updates through a view are relaxed");
  constexpr bool kIsLocal = kScope == thread_scope::device || kScope == thread_scope::block;
  static_assert(kIsLocal, "atomic updates through a view have scope device or block");
  return kIsRelaxed && kIsLocal;
}

/// What an index argument may be: not a tag, nor the tile to be stored.
template <class T>
concept Index = tile_like<std::remove_cvref_t<T>>;

/// The members that all views have. View::place(indices...) says where the tile lies.
template <class View, class Span, class S>
class ViewAccess {
 public:
  using span_type = Span;
  using index_type = typename Span::index_type;
  using rank_type = typename Span::rank_type;
  using element_type = typename Span::element_type;
  using value_type = typename Span::value_type;
  using view_shape_type = S;
  using view_tile_type = tile<value_type, S>;

  [[nodiscard]] constexpr const Span& span() const noexcept { return span_; }

  /// The tile at the indices. @range inside the span: an element outside is undefined behaviour
  template <Index... I>
  [[nodiscard]] view_tile_type load(I... indices) const noexcept {
    return loaded<false>("load", view_padding::zero, PlainRead{}, indices...);
  }
  /// The tile at the indices, with padding outside the span. @range at least one element inside
  template <view_padding kPadding = default_view_padding(), Index... I>
  [[nodiscard]] view_tile_type load_masked(I... indices) const noexcept {
    if constexpr (check_view_padding<kPadding, value_type>()) {
      return loaded<true>("load_masked", kPadding, PlainRead{}, indices...);
    }
  }
  template <view_padding kPadding, Index... I>
  [[nodiscard]] view_tile_type load_masked(view_padding_constant<kPadding>, I... indices) const noexcept {
    return load_masked<kPadding>(indices...);
  }
  /// Stores a tile at the indices. @range inside the span
  template <Index Value, Index... I>
  void store(const Value& value, I... indices) const noexcept {
    stored<false, false>("store", value, PlainWrite{}, indices...);
  }
  /// Stores the part of a tile that lies in the span. @range at least one element inside
  template <Index Value, Index... I>
  void store_masked(const Value& value, I... indices) const noexcept {
    stored<true, false>("store_masked", value, PlainWrite{}, indices...);
  }

  template <memory_order kOrder, thread_scope kScope = default_thread_scope(), Index... I>
  [[nodiscard]] view_tile_type atomic_load(I... indices) const noexcept {
    if constexpr (check_read_order<kOrder>()) {
      return loaded<false>("atomic_load", view_padding::zero, AtomicRead<kOrder>{}, indices...);
    }
  }
  template <memory_order kOrder, Index... I>
  [[nodiscard]] view_tile_type atomic_load(memory_order_constant<kOrder>, I... indices) const noexcept {
    return atomic_load<kOrder>(indices...);
  }
  template <memory_order kOrder, thread_scope kScope, Index... I>
  [[nodiscard]] view_tile_type atomic_load(memory_order_constant<kOrder>, thread_scope_constant<kScope>,
                                           I... indices) const noexcept {
    return atomic_load<kOrder, kScope>(indices...);
  }
  template <view_padding kPadding, memory_order kOrder, thread_scope kScope = default_thread_scope(), Index... I>
  [[nodiscard]] view_tile_type atomic_load_masked(I... indices) const noexcept {
    if constexpr (check_read_order<kOrder>() && check_view_padding<kPadding, value_type>()) {
      return loaded<true>("atomic_load_masked", kPadding, AtomicRead<kOrder>{}, indices...);
    }
  }
  template <view_padding kPadding, memory_order kOrder, Index... I>
  [[nodiscard]] view_tile_type atomic_load_masked(view_padding_constant<kPadding>, memory_order_constant<kOrder>,
                                                  I... indices) const noexcept {
    return atomic_load_masked<kPadding, kOrder>(indices...);
  }
  template <view_padding kPadding, memory_order kOrder, thread_scope kScope, Index... I>
  [[nodiscard]] view_tile_type atomic_load_masked(view_padding_constant<kPadding>, memory_order_constant<kOrder>,
                                                  thread_scope_constant<kScope>, I... indices) const noexcept {
    return atomic_load_masked<kPadding, kOrder, kScope>(indices...);
  }
  template <memory_order kOrder, thread_scope kScope = default_thread_scope(), Index Value, Index... I>
  void atomic_store(const Value& value, I... indices) const noexcept {
    if constexpr (check_write_order<kOrder>()) {
      stored<false, true>("atomic_store", value, AtomicWrite<kOrder>{}, indices...);
    }
  }
  template <memory_order kOrder, Index Value, Index... I>
  void atomic_store(const Value& value, memory_order_constant<kOrder>, I... indices) const noexcept {
    atomic_store<kOrder>(value, indices...);
  }
  template <memory_order kOrder, thread_scope kScope, Index Value, Index... I>
  void atomic_store(const Value& value, memory_order_constant<kOrder>, thread_scope_constant<kScope>,
                    I... indices) const noexcept {
    atomic_store<kOrder, kScope>(value, indices...);
  }
  template <memory_order kOrder, thread_scope kScope = default_thread_scope(), Index Value, Index... I>
  void atomic_store_masked(const Value& value, I... indices) const noexcept {
    if constexpr (check_write_order<kOrder>()) {
      stored<true, true>("atomic_store_masked", value, AtomicWrite<kOrder>{}, indices...);
    }
  }
  template <memory_order kOrder, Index Value, Index... I>
  void atomic_store_masked(const Value& value, memory_order_constant<kOrder>, I... indices) const noexcept {
    atomic_store_masked<kOrder>(value, indices...);
  }
  template <memory_order kOrder, thread_scope kScope, Index Value, Index... I>
  void atomic_store_masked(const Value& value, memory_order_constant<kOrder>, thread_scope_constant<kScope>,
                           I... indices) const noexcept {
    atomic_store_masked<kOrder, kScope>(value, indices...);
  }

 protected:
  constexpr explicit ViewAccess(const Span& span) noexcept : span_(span) {}

  /// memory = op(memory, value) for each element in the span.
  template <class Op, memory_order kOrder, thread_scope kScope, class Value, class... I>
  void updated(std::string_view name, const Value& value, I... indices) const noexcept {
    if constexpr (check_view_update<kOrder, kScope>()) {
      stored<true, true>(
          name, value, [](value_type* p, value_type e) { atomic_update(p, e, Op{}, kOrder); }, indices...);
    }
  }

 private:
  template <bool kMasked, class Read, class... I>
  [[nodiscard]] view_tile_type loaded(std::string_view name, view_padding padding, const Read& read,
                                      I... indices) const noexcept {
    if constexpr (View::template check_indices<I...>()) {
      return load_placed<kMasked, view_tile_type>(name, span_, static_cast<const View&>(*this).place(name, indices...),
                                                  padding, read);
    }
  }
  template <bool kMasked, bool kIsAtomic, class Value, class Write, class... I>
  void stored(std::string_view name, const Value& value, const Write& write, I... indices) const noexcept {
    if constexpr (check_storeable_span<Span>() && check_view_value<Value, view_tile_type>() &&
                  View::template check_indices<I...>()) {
      store_placed<kMasked, kIsAtomic>(name, span_, value, static_cast<const View&>(*this).place(name, indices...),
                                       write);
    }
  }

  Span span_;
};

/// Atomic updates of memory, which return nothing.
template <class View, class Span, class S>
class UpdatingViewAccess : public ViewAccess<View, Span, S> {
 public:
#define KIZAMI_TILE_ATOMIC(name, Op, check)                                                                 \
  template <memory_order kOrder, thread_scope kScope, Index Value, Index... I>                              \
  void name(const Value& value, memory_order_constant<kOrder>, thread_scope_constant<kScope>, I... indices) \
      const noexcept {                                                                                      \
    if constexpr (check<typename Span::value_type>()) {                                                     \
      this->template updated<Op, kOrder, kScope>(#name, value, indices...);                                 \
    }                                                                                                       \
  }
  KIZAMI_TILE_ATOMIC(atomic_add, Add, check_atomic_add)
  KIZAMI_TILE_ATOMIC(atomic_sub, Subtract, check_atomic_add)
  KIZAMI_TILE_ATOMIC(atomic_and, BitAnd, check_atomic_integer)
  KIZAMI_TILE_ATOMIC(atomic_or, BitOr, check_atomic_integer)
  KIZAMI_TILE_ATOMIC(atomic_xor, BitXor, check_atomic_integer)
  KIZAMI_TILE_ATOMIC(atomic_max, IntegerExtremum<true>, check_atomic_integer)
  KIZAMI_TILE_ATOMIC(atomic_min, IntegerExtremum<false>, check_atomic_integer)
#undef KIZAMI_TILE_ATOMIC

  template <class... I>
  static consteval bool check_indices() {
    constexpr bool kHasRank = sizeof...(I) == S::rank();
    static_assert(kHasRank, "a view takes one index for each dimension");
    constexpr bool kConverts = (scalar_convertible_to<I, typename Span::index_type> && ...);
    static_assert(kConverts, "the index of a tile in a view must be a scalar");
    return kHasRank && kConverts;
  }

 protected:
  constexpr explicit UpdatingViewAccess(const Span& span) noexcept : ViewAccess<View, Span, S>(span) {}
};

}  // namespace detail

/// The tiles of shape S side by side: tile (i, j, ...) starts at element (i S0, j S1, ...).
template <tensor_span_like Span, class S>
struct partition_view : detail::UpdatingViewAccess<partition_view<Span, S>, Span, S> {
  static_assert(tile_shape<S>, "partition_view: the shape must be static, with powers of two");
  static_assert(S::rank() == Span::extents_type::rank(), "partition_view: the shape must have the rank of the span");
  constexpr partition_view(Span span, S) noexcept : detail::UpdatingViewAccess<partition_view, Span, S>(span) {}

  /// Where the tile at the indices lies; for the members of the view.
  template <class... I>
  [[nodiscard]] static constexpr auto place(std::string_view, I... indices) noexcept {
    detail::Placement<S, S::rank()> at;
    at.start = {static_cast<std::int64_t>(indices)...};
    for (std::size_t d = 0; d < S::rank(); ++d) at.start[d] *= static_cast<std::int64_t>(S::static_extent(d));
    return at;
  }
};

namespace detail {
template <std::size_t... kDims>
auto zero_offsets(std::index_sequence<kDims...>) -> offsets<std::int32_t, static_cast<std::ptrdiff_t>(0 * kDims)...>;
template <std::size_t kRank>
using ZeroOffsets = decltype(zero_offsets(std::make_index_sequence<kRank>{}));

template <class Strides>
consteval bool strides_are_static_and_positive() {
  for (std::size_t d = 0; d < Strides::rank(); ++d) {
    if (Strides::static_stride(d) == dynamic_stride || Strides::static_stride(d) == 0) return false;
  }
  return true;
}
}  // namespace detail

/// Tiles of shape S at the given distances: tile (i, j, ...) starts at element (i s0, j s1, ...). Smaller strides than
/// S make them overlap.
template <tensor_span_like Span, tile_shape S, strides_like Strides,
          offsets_like Offsets = detail::ZeroOffsets<S::rank()>>
struct strided_view : detail::UpdatingViewAccess<strided_view<Span, S, Strides, Offsets>, Span, S> {
  static_assert(tile_shape<S>, "strided_view: the shape must be static, with powers of two");
  static_assert(S::rank() == Span::extents_type::rank() && Strides::rank() == S::rank() && Offsets::rank() == S::rank(),
                "strided_view: shape, strides and offsets must have the rank of the span");
  static_assert(std::is_same_v<typename Strides::stride_type, typename Span::index_type>,
                "strided_view: the strides must have the index type of the span");
  static_assert(detail::strides_are_static_and_positive<Strides>(),
                "strided_view: every stride must be a constant (8_ic) and positive");
  static_assert(std::is_same_v<Offsets, detail::ZeroOffsets<S::rank()>>,
                "strided_view: offsets other than zero do not exist yet");
  constexpr strided_view(Span span, S, Strides = {}, Offsets = {}) noexcept
      : detail::UpdatingViewAccess<strided_view, Span, S>(span) {}

  /// Where the tile at the indices lies; for the members of the view.
  template <class... I>
  [[nodiscard]] static constexpr auto place(std::string_view, I... indices) noexcept {
    detail::Placement<S, S::rank()> at;
    at.start = {static_cast<std::int64_t>(indices)...};
    for (std::size_t d = 0; d < S::rank(); ++d) at.start[d] *= static_cast<std::int64_t>(Strides::static_stride(d));
    return at;
  }
};
template <class Span, class S, class Strides, class Offsets = detail::ZeroOffsets<S::rank()>>
strided_view(Span, S, Strides, Offsets = {}) -> strided_view<Span, S, Strides, Offsets>;

/// Tiles whose positions along dimension kDim come from a tile of indices; along the others the index is the element at
/// which the tile starts.
template <tensor_span_like Span, class S, std::size_t kDim>
struct gather_scatter_view : detail::ViewAccess<gather_scatter_view<Span, S, kDim>, Span, S> {
  static_assert(S::rank() == Span::extents_type::rank(),
                "gather_scatter_view: the shape must have the rank of the span");
  static_assert(kDim < S::rank(), "gather_scatter_view: the dimension must be below the rank of the span");

  template <class T>
  requires std::is_convertible_v<T, std::size_t>
  constexpr gather_scatter_view(Span span, S, T) noexcept : detail::ViewAccess<gather_scatter_view, Span, S>(span) {}

  template <class... I>
  static consteval bool check_indices() {
    constexpr bool kHasRank = sizeof...(I) == S::rank();
    static_assert(kHasRank, "a view takes one index for each dimension");
    if constexpr (kHasRank) {
      constexpr bool kFits = []<std::size_t... kDims>(std::index_sequence<kDims...>) {
        return (fits<I, kDims>() && ...);
      }
      (std::make_index_sequence<S::rank()>{});
      static_assert(kFits,
                    "gather_scatter_view: the index of the gathered dimension must be a tile of the extent of the view "
                    "there, the others scalars");
      return kFits;
    } else {
      return false;
    }
  }
  /// Where the tile at the indices lies; for the members of the view.
  template <class... I>
  [[nodiscard]] static auto place(std::string_view name, const I&... indices) noexcept {
    detail::Placement<S, kDim> at;
    std::size_t d = 0;
    (put(at, name, d++, indices), ...);
    return at;
  }

 private:
  using IndexTile = tile<typename Span::index_type, shape<S::static_extent(kDim)>>;
  template <class I, std::size_t kAt>
  static consteval bool fits() {
    if constexpr (kAt == kDim) {
      return tile_convertible_to<I, IndexTile>;
    } else {
      return scalar_convertible_to<I, typename Span::index_type>;
    }
  }
  template <class I>
  static void put(detail::Placement<S, kDim>& at, std::string_view name, std::size_t d, const I& index) noexcept {
    if constexpr (detail::kIsTile<I>) {
      for (std::size_t c = 0; c < at.positions.size(); ++c) {
        detail::require_defined(name, index, c);
        at.positions[c] = detail::scalar_cast<std::int64_t>(detail::Access::elements(index)[c]);
      }
    } else {
      at.start[d] = static_cast<std::int64_t>(index);
    }
  }
};
template <class Span, class S, auto kDim>
gather_scatter_view(Span, S, integral_constant<kDim>) -> gather_scatter_view<Span, S, static_cast<std::size_t>(kDim)>;

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
