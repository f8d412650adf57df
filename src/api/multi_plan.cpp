// SPDX-License-Identifier: MIT
// What a plan for several devices says of itself.
#include <cstddef>
#include <string>

#include "kizami/multi.hpp"
#include "multi/plan.hpp"
#include "plan/plan.hpp"

namespace kizami::multi {

Scalar Plan::scalar() const { return impl_->shape.scalar; }
std::int64_t Plan::m() const { return impl_->shape.m; }
std::int64_t Plan::n() const { return impl_->shape.n; }
std::int64_t Plan::k() const { return impl_->shape.k; }
Scheme Plan::scheme() const { return impl_->whole->first().scheme; }
double Plan::bound() const { return impl_->whole->first().bound; }
Gauge Plan::gauge() const { return impl_->whole->first().gauge; }
std::uint64_t Plan::numerics_hash() const { return plan::numerics_hash(*impl_->whole); }
int Plan::num_devices() const { return static_cast<int>(impl_->shares.size()); }
int Plan::device(int i) const { return impl_->shares[static_cast<std::size_t>(i)].device; }
std::size_t Plan::workspace_bytes(int i) const {
  return share_bytes(*impl_, impl_->shares[static_cast<std::size_t>(i)], {});
}
std::string Plan::explain() const { return multi::explain(*impl_); }

}  // namespace kizami::multi
