// SPDX-License-Identifier: MIT
// tensor_span: memory with extents and a layout, which is what views are made of.
#pragma once

#include "kizami/tile/layouts.hpp"
#include "kizami/tile/tile.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

/// To be specialised as true for accessors that access p[i] as memory does.
template <class A>
inline constexpr bool enable_contiguous_accessor_policy = false;

template <class A>
concept accessor_policy = std::copyable<A> && requires {
  requires scalar<typename A::element_type>;
  requires std::same_as<typename A::data_handle_type, typename A::element_type*>;
  requires std::same_as<typename A::reference, typename A::element_type&>;
} && enable_contiguous_accessor_policy<A>;

template <scalar E>
struct default_accessor {
  using element_type = E;
  using data_handle_type = E*;
  using reference = E&;
};
template <class E>
inline constexpr bool enable_contiguous_accessor_policy<default_accessor<E>> = true;

/// Any type with the members of an mdspan over a strided layout will do.
template <class T>
concept tensor_span_like = std::copyable<std::remove_cv_t<T>> && requires(const T& x) {
  requires layout_mapping<typename T::mapping_type>;
  requires accessor_policy<typename T::accessor_type>;
  requires std::same_as<typename T::extents_type, typename T::mapping_type::extents_type>;
  requires std::same_as<typename T::layout_type, typename T::mapping_type::layout_type>;
  requires std::same_as<typename T::element_type, typename T::accessor_type::element_type>;
  requires std::same_as<typename T::value_type, std::remove_cv_t<typename T::element_type>>;
  requires std::same_as<typename T::index_type, typename T::extents_type::index_type>;
  requires std::same_as<typename T::rank_type, typename T::extents_type::rank_type>;
  requires std::same_as<typename T::data_handle_type, typename T::accessor_type::data_handle_type>;
  requires std::same_as<typename T::reference, typename T::accessor_type::reference>;
  { x.data_handle() } -> std::same_as<typename T::data_handle_type>;
  { x.mapping() } -> std::same_as<const typename T::mapping_type&>;
  { x.accessor() } -> std::same_as<const typename T::accessor_type&>;
};
template <class T>
concept storeable_tensor_span =
    tensor_span_like<T> && !std::is_const_v<typename T::element_type> && !std::is_volatile_v<typename T::element_type>;

/// The memory at a pointer under a mapping; E const for memory that is only read.
template <scalar E, extents_like X, class Layout = layout_right, accessor_policy A = default_accessor<E>>
struct tensor_span {
  static_assert(layout_mapping<typename Layout::template mapping<X>>, "tensor_span: the layout has no strided mapping");
  static_assert(std::is_same_v<E, typename A::element_type>, "tensor_span: the accessor is for another element type");
  using element_type = E;
  using value_type = std::remove_cv_t<E>;
  using layout_type = Layout;
  using mapping_type = typename Layout::template mapping<X>;
  using extents_type = typename mapping_type::extents_type;
  using index_type = typename extents_type::index_type;
  using rank_type = typename extents_type::rank_type;
  using accessor_type = A;
  using data_handle_type = typename A::data_handle_type;
  using reference = typename A::reference;

  constexpr tensor_span(data_handle_type data, const mapping_type& mapping, const A& accessor = {}) noexcept
      : data_(data), mapping_(mapping), accessor_(accessor) {}
  constexpr tensor_span(
      data_handle_type data, const extents_type& extents, const Layout& = {},
      const A& accessor = {}) noexcept requires std::is_constructible_v<mapping_type, const extents_type&>
      : data_(data), mapping_(extents), accessor_(accessor) {}

  [[nodiscard]] static constexpr rank_type rank() noexcept { return extents_type::rank(); }
  [[nodiscard]] static constexpr rank_type rank_dynamic() noexcept { return extents_type::rank_dynamic(); }
  [[nodiscard]] static constexpr std::size_t static_extent(rank_type i) noexcept {
    return extents_type::static_extent(i);
  }
  [[nodiscard]] constexpr const extents_type& extents() const noexcept { return mapping_.extents(); }
  [[nodiscard]] constexpr index_type extent(rank_type i) const noexcept { return extents().extent(i); }
  [[nodiscard]] constexpr const mapping_type& mapping() const noexcept { return mapping_; }
  [[nodiscard]] constexpr const accessor_type& accessor() const noexcept { return accessor_; }
  [[nodiscard]] constexpr data_handle_type data_handle() const noexcept { return data_; }

 private:
  data_handle_type data_;
  [[no_unique_address]] mapping_type mapping_;
  [[no_unique_address]] accessor_type accessor_;
};
template <class E, layout_mapping M, class A = default_accessor<E>>
tensor_span(E*, const M&, const A& = {}) -> tensor_span<E, typename M::extents_type, typename M::layout_type, A>;
template <class E, extents_like X, class Layout = layout_right, class A = default_accessor<E>>
tensor_span(E*, const X&, const Layout& = {}, const A& = {}) -> tensor_span<E, X, Layout, A>;

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
