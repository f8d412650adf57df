// SPDX-License-Identifier: MIT
#include "kizami/ranks.hpp"

#include <complex>

#include "base/instantiate.hpp"
#include "multi/rank_run.hpp"

namespace kizami::multi {

template <class T>
Status run(Communicator& ranks, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
           std::span<const Piece<const std::type_identity_t<T>>> a,
           std::span<const Piece<const std::type_identity_t<T>>> b, std::type_identity_t<T> beta,
           std::span<const Piece<std::type_identity_t<T>>> c, const Policy& policy, Outcome* outcome) {
  Outcome local;
  return run_rank<T>(ranks, {{kScalarOf<T>, m, n, k}, alpha, a, b, beta, c, policy},
                     outcome == nullptr ? local : *outcome);
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status run<T>(Communicator&, std::int64_t, std::int64_t, std::int64_t, T, std::span<const Piece<const T>>, \
                         std::span<const Piece<const T>>, T, std::span<const Piece<T>>, const Policy&, Outcome*)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
