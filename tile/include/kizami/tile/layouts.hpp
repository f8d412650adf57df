// SPDX-License-Identifier: MIT
// Layouts: which element of memory an index means, as strides for extents. layout_right is row-major, layout_left
// column-major, the padded ones round the fastest extent up, layout_strided takes any strides.
#pragma once

#include <cstddef>

#include "kizami/tile/extents.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

/// The stride that a mapping knows at compile time; to be specialised for mappings that do not say so themselves.
template <class M>
struct layout_mapping_static_stride {
  constexpr std::size_t operator()(typename M::rank_type i) const noexcept requires requires {
    { M::static_stride(i) } -> std::same_as<std::size_t>;
  }
  { return M::static_stride(i); }
};

/// Any strided mapping with these members will do.
template <class T>
concept layout_mapping = std::copyable<std::remove_cv_t<T>> && requires(const T& x, typename T::rank_type i) {
  requires extents_like<typename T::extents_type> && !std::is_const_v<typename T::extents_type>;
  requires std::same_as<typename T::rank_type, typename T::extents_type::rank_type>;
  requires std::same_as<typename T::index_type, typename T::extents_type::index_type>;
  requires std::same_as<typename T::layout_type::template mapping<typename T::extents_type>, std::remove_cv_t<T>>;
  { T::is_always_strided() } -> std::same_as<bool>;
  { layout_mapping_static_stride<std::remove_cv_t<T>>{}(i) } -> std::same_as<std::size_t>;
  { x.stride(i) } -> std::same_as<typename T::index_type>;
  { x.extents() } -> std::same_as<const typename T::extents_type&>;
};

namespace detail {

/// What the mappings below share.
template <class E, class Layout>
class MappingBase {
 public:
  static_assert(!std::is_const_v<E> && !std::is_volatile_v<E>,
                "a layout mapping: the extents must not be cv-qualified");
  using extents_type = E;
  using rank_type = typename E::rank_type;
  using index_type = typename E::index_type;
  using layout_type = Layout;

  constexpr explicit MappingBase(const E& extents) noexcept : extents_(extents) {}
  [[nodiscard]] static constexpr bool is_always_strided() noexcept { return true; }
  [[nodiscard]] constexpr const E& extents() const noexcept { return extents_; }

 protected:
  /// Product of the static extents of dimensions [first, last), kPadded taking the place of that of kPaddedDim.
  template <rank_type kPaddedDim, std::size_t kPadded>
  [[nodiscard]] static constexpr std::size_t static_product(rank_type first, rank_type last) noexcept {
    std::size_t product = 1;
    for (rank_type d = first; d < last; ++d) {
      const std::size_t extent = d == kPaddedDim ? kPadded : E::static_extent(d);
      if (extent == dynamic_extent) return dynamic_extent;
      product *= extent;
    }
    return product;
  }
  /// Product of the extents of dimensions [first, last), `padded` taking the place of that of padded_dim.
  [[nodiscard]] constexpr index_type product(rank_type first, rank_type last, rank_type padded_dim,
                                             index_type padded) const noexcept {
    index_type result = 1;
    for (rank_type d = first; d < last; ++d) {
      result = static_cast<index_type>(result * (d == padded_dim ? padded : extents_.extent(d)));
    }
    return result;
  }
  static constexpr rank_type kNoDim = static_cast<rank_type>(-1);

 private:
  [[no_unique_address]] E extents_;
};

/// `extent` rounded up to a multiple of `padding`.
template <class I>
constexpr I padded_extent(I extent, I padding) noexcept {
  return static_cast<I>((extent - 1) / padding * padding + padding);
}
template <class E>
consteval std::size_t padded_static_extent(std::size_t dim, std::size_t padding) {
  if (dim >= E::rank()) return padding;
  const std::size_t extent = E::static_extent(dim);
  return extent == dynamic_extent || padding == dynamic_extent ? dynamic_extent : padded_extent(extent, padding);
}

}  // namespace detail

struct layout_right;
struct layout_left;

/// The last index is fastest.
template <extents_like E>
struct layout_right_mapping : detail::MappingBase<E, layout_right> {
  using Base = detail::MappingBase<E, layout_right>;
  constexpr explicit layout_right_mapping(const E& extents) noexcept : Base(extents) {}
  static constexpr std::size_t static_stride(typename E::rank_type i) noexcept {
    return Base::template static_product<Base::kNoDim, 0>(i + 1, E::rank());
  }
  [[nodiscard]] constexpr typename E::index_type stride(typename E::rank_type i) const noexcept {
    return this->product(i + 1, E::rank(), Base::kNoDim, 0);
  }
};
struct layout_right {
  template <extents_like E>
  using mapping = layout_right_mapping<std::remove_cv_t<E>>;
};

/// The first index is fastest.
template <extents_like E>
struct layout_left_mapping : detail::MappingBase<E, layout_left> {
  using Base = detail::MappingBase<E, layout_left>;
  constexpr explicit layout_left_mapping(const E& extents) noexcept : Base(extents) {}
  static constexpr std::size_t static_stride(typename E::rank_type i) noexcept {
    return Base::template static_product<Base::kNoDim, 0>(0, i);
  }
  [[nodiscard]] constexpr typename E::index_type stride(typename E::rank_type i) const noexcept {
    return this->product(0, i, Base::kNoDim, 0);
  }
};
struct layout_left {
  template <extents_like E>
  using mapping = layout_left_mapping<std::remove_cv_t<E>>;
};

template <std::size_t kPadding>
struct layout_right_padded;
template <std::size_t kPadding>
struct layout_left_padded;

/// Row-major with rows whose length is rounded up to a multiple of the padding.
template <extents_like E, std::size_t kPadding>
struct layout_right_padded_mapping : detail::MappingBase<E, layout_right_padded<kPadding>> {
  using Base = detail::MappingBase<E, layout_right_padded<kPadding>>;
  template <class T>
  requires std::is_convertible_v<T, typename E::index_type>
  constexpr explicit layout_right_padded_mapping(const E& extents, T padding) noexcept
      : Base(extents), padding_(static_cast<typename E::index_type>(padding)) {}
  static constexpr std::size_t static_stride(typename E::rank_type i) noexcept {
    return Base::template static_product<kDim, detail::padded_static_extent<E>(kDim, kPadding)>(i + 1, E::rank());
  }
  [[nodiscard]] constexpr typename E::index_type stride(typename E::rank_type i) const noexcept {
    return this->product(i + 1, E::rank(), kDim, detail::padded_extent(this->extents().extent(kDim), padding_));
  }

 private:
  static constexpr std::size_t kDim = E::rank() - 1;
  typename E::index_type padding_;
};
template <extents_like E, class P>
layout_right_padded_mapping(const E&, P)
    -> layout_right_padded_mapping<E, detail::kStaticOr<std::size_t, dynamic_extent, std::remove_cv_t<P>>>;
template <std::size_t kPadding>
struct layout_right_padded {
  template <extents_like E>
  using mapping = layout_right_padded_mapping<std::remove_cv_t<E>, kPadding>;
};

/// Column-major with columns whose length is rounded up to a multiple of the padding.
template <extents_like E, std::size_t kPadding>
struct layout_left_padded_mapping : detail::MappingBase<E, layout_left_padded<kPadding>> {
  using Base = detail::MappingBase<E, layout_left_padded<kPadding>>;
  template <class T>
  requires std::is_convertible_v<T, typename E::index_type>
  constexpr explicit layout_left_padded_mapping(const E& extents, T padding) noexcept
      : Base(extents), padding_(static_cast<typename E::index_type>(padding)) {}
  static constexpr std::size_t static_stride(typename E::rank_type i) noexcept {
    return Base::template static_product<0, detail::padded_static_extent<E>(0, kPadding)>(0, i);
  }
  [[nodiscard]] constexpr typename E::index_type stride(typename E::rank_type i) const noexcept {
    return this->product(0, i, 0, detail::padded_extent(this->extents().extent(0), padding_));
  }

 private:
  typename E::index_type padding_;
};
template <extents_like E, class P>
layout_left_padded_mapping(const E&, P)
    -> layout_left_padded_mapping<E, detail::kStaticOr<std::size_t, dynamic_extent, std::remove_cv_t<P>>>;
template <std::size_t kPadding>
struct layout_left_padded {
  template <extents_like E>
  using mapping = layout_left_padded_mapping<std::remove_cv_t<E>, kPadding>;
};

template <class S>
struct layout_strided;

namespace detail {
/// The type of the values of a list of strides, which may be given as extents.
template <class S>
struct StrideType {
  using type = typename S::index_type;
};
template <strides_like S>
struct StrideType<S> {
  using type = typename S::stride_type;
};
}  // namespace detail

/// Any strides, given as strides<...> or as an extents object.
template <extents_like E, class S>
struct layout_strided_mapping : detail::MappingBase<E, layout_strided<S>> {
  static_assert(strides_like<S> || extents_like<S>, "layout_strided_mapping: the strides must be strides or extents");
  static_assert(E::rank() == S::rank(), "layout_strided_mapping: there must be a stride for each extent");
  static_assert(std::is_same_v<typename E::index_type, typename detail::StrideType<S>::type>,
                "layout_strided_mapping: extents and strides must have one index type");
  using Base = detail::MappingBase<E, layout_strided<S>>;
  constexpr layout_strided_mapping(const E& extents, const S& strides) noexcept : Base(extents), strides_(strides) {}
  static constexpr std::size_t static_stride(typename E::rank_type i) noexcept {
    if constexpr (strides_like<S>) {
      return S::static_stride(i);
    } else {
      return S::static_extent(i);
    }
  }
  [[nodiscard]] constexpr typename E::index_type stride(typename E::rank_type i) const noexcept {
    return value(strides_, i);
  }

 private:
  static constexpr auto value(const S& strides, typename S::rank_type i) noexcept {
    if constexpr (strides_like<S>) {
      return strides.stride(i);
    } else {
      return strides.extent(i);
    }
  }
  [[no_unique_address]] S strides_;
};
template <class S>
struct layout_strided {
  template <extents_like E>
  using mapping = layout_strided_mapping<std::remove_cv_t<E>, S>;
};

template <layout_mapping M, layout_mapping N>
[[nodiscard]] constexpr bool layout_mapping_equal(const M& a, const N& b) noexcept {
  if (!extents_equal(a.extents(), b.extents())) return false;
  for (std::size_t i = 0; i < M::extents_type::rank(); ++i) {
    if (!(a.stride(i) == b.stride(i))) return false;
  }
  return true;
}
template <layout_mapping M, layout_mapping N>
[[nodiscard]] constexpr bool operator==(const M& a, const N& b) noexcept {
  return layout_mapping_equal(a, b);
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
