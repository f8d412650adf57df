// SPDX-License-Identifier: MIT
// kizami/multi.hpp in a library without CUDA: programs that call it link, and are told so.
#include <complex>

#include "base/instantiate.hpp"
#include "kizami/multi.hpp"

namespace kizami::multi {
namespace {

Status refusal() { return {StatusCode::kUnsupported, "this libkizami was built without CUDA"}; }

}  // namespace

Result<Plan> make_plan(Scalar, std::int64_t, std::int64_t, std::int64_t, const Policy&, const Placement&) {
  return refusal();
}

template <class T>
Status run(const Plan&, T, std::span<const Piece<const std::type_identity_t<T>>>,
           std::span<const Piece<const std::type_identity_t<T>>>, std::type_identity_t<T>,
           std::span<const Piece<std::type_identity_t<T>>>, std::span<const std::span<std::byte>>, Outcome*) {
  return refusal();
}

template <class T>
Status gemm(const Placement&, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, std::type_identity_t<T>,
            const T*, std::int64_t, const T*, std::int64_t, std::type_identity_t<T>, T*, std::int64_t, const Policy&,
            Outcome*) {
  return refusal();
}

Result<Plan> make_syrk_plan(Scalar, const Syrk&, std::int64_t, std::int64_t, const Policy&, const Placement&) {
  return refusal();
}

template <class T>
Status run_syrk(const Plan&, T, std::span<const Piece<const std::type_identity_t<T>>>, std::type_identity_t<T>,
                std::span<const Piece<std::type_identity_t<T>>>, std::span<const std::span<std::byte>>, Outcome*) {
  return refusal();
}

template <class T>
Status syrk(const Placement&, Layout, const Syrk&, Op, std::int64_t, std::int64_t, std::type_identity_t<T>, const T*,
            std::int64_t, std::type_identity_t<T>, T*, std::int64_t, const Policy&, Outcome*) {
  return refusal();
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status run<T>(const Plan&, T, std::span<const Piece<const T>>, std::span<const Piece<const T>>, T,      \
                         std::span<const Piece<T>>, std::span<const std::span<std::byte>>, Outcome*);              \
  template Status gemm<T>(const Placement&, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*, \
                          std::int64_t, const T*, std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*);     \
  template Status run_syrk<T>(const Plan&, T, std::span<const Piece<const T>>, T, std::span<const Piece<T>>,       \
                              std::span<const std::span<std::byte>>, Outcome*);                                    \
  template Status syrk<T>(const Placement&, Layout, const Syrk&, Op, std::int64_t, std::int64_t, T, const T*,      \
                          std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
