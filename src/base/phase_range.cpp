// SPDX-License-Identifier: MIT
#include "base/phase_range.hpp"

#ifdef KIZAMI_HAS_NVTX
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <new>

#include "base/fork_safe.hpp"

namespace kizami::base {
namespace {

/// The domain and the names, registered once a process. Without a profiler there is no domain.
struct Registered {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("kizami");
  std::array<nvtxStringHandle_t, std::size(kPhaseNames)> names{};

  Registered() {
    for (std::size_t i = 0; domain != nullptr && i < names.size(); ++i)
      names[i] = nvtxDomainRegisterStringA(domain, kPhaseNames[i].data());
  }
};
constinit MadeOnce<Registered> known;

/// Null where there is no memory for it.
const Registered* registered() noexcept {
  try {
    return &known.get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

PhaseRange::PhaseRange(Phase phase) noexcept {
  const Registered* const all = registered();
  if (all == nullptr || all->domain == nullptr) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = all->names[static_cast<std::size_t>(phase)];
  nvtxDomainRangePushEx(all->domain, &attributes);
  is_pushed_ = true;
}
PhaseRange::~PhaseRange() {
  if (is_pushed_) nvtxDomainRangePop(registered()->domain);
}

}  // namespace kizami::base

#else

namespace kizami::base {

PhaseRange::PhaseRange(Phase) noexcept {}
PhaseRange::~PhaseRange() = default;

}  // namespace kizami::base

#endif
