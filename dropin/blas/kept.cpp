// SPDX-License-Identifier: MIT
#include "dropin/blas/kept.hpp"

#include <algorithm>
#include <complex>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/policy/configuration.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin::blas {
namespace {

/// What an operand is kept as, beside its version.
struct Key {
  std::uint64_t id;
  Side side;
  Scalar scalar;
  char op;
  std::int64_t rows, cols;
  std::uint64_t numerics;

  friend bool operator==(const Key&, const Key&) = default;
};

struct Kept {
  Key key;
  std::uint64_t version;
  std::uint64_t last_use;
  std::shared_ptr<const PreparedOperand> operand;
};

struct Store {
  std::mutex mutex;
  std::vector<Kept> kept;
  std::size_t bytes = 0;
  std::uint64_t uses = 0;
  std::uint64_t split = 0;
  std::uint64_t taken = 0;

  template <class Condition>
  void drop(const Condition& is_dropped) {
    std::erase_if(kept, [&](const Kept& one) {
      if (!is_dropped(one)) return false;
      bytes -= one.operand->size_bytes();
      return true;
    });
  }
};
constinit base::PerProcess<Store> store;

/// Trivial, so that a thread's memory needs no destructor.
struct Named {
  bool is_given[2];
  std::uint64_t id[2];
  std::uint64_t version[2];
};
constinit thread_local Named named{};

/// The one that is there, which then is in use.
std::shared_ptr<const PreparedOperand> find(Store& all, const Key& key, std::uint64_t version) {
  all.drop([&](const Kept& one) { return one.key.id == key.id && one.version != version; });
  const auto found = std::ranges::find(all.kept, key, &Kept::key);
  if (found == all.kept.end()) return nullptr;
  found->last_use = ++all.uses;
  ++all.taken;
  return found->operand;
}

void keep(Store& all, const Key& key, std::uint64_t version, const std::shared_ptr<const PreparedOperand>& operand) {
  ++all.split;
  const std::size_t limit = process_configuration().kept_bytes;
  if (operand->size_bytes() > limit) return;                  // for this call alone
  all.drop([&](const Kept& one) { return one.key == key; });  // of a thread that was as quick
  while (all.bytes + operand->size_bytes() > limit) {
    const std::uint64_t oldest = std::ranges::min_element(all.kept, {}, &Kept::last_use)->last_use;
    all.drop([&](const Kept& one) { return one.last_use == oldest; });
  }
  all.kept.push_back({key, version, ++all.uses, operand});
  all.bytes += operand->size_bytes();
}

}  // namespace

CallNames take_names() noexcept {
  CallNames names;
  if (named.is_given[0]) names.a = {named.id[0], named.version[0]};
  if (named.is_given[1]) names.b = {named.id[1], named.version[1]};
  named.is_given[0] = named.is_given[1] = false;
  return names;
}

template <class T>
std::shared_ptr<const PreparedOperand> kept_operand(const OperandName& name, const Plan& plan, Side side, char op,
                                                    MatrixView<const T> view) {
  const Key key{name.id, side, plan.scalar(), op, view.rows, view.cols, plan.numerics_hash()};
  Store& all = store.get();
  {
    const std::lock_guard lock(all.mutex);
    if (auto found = find(all, key, name.version)) return found;
  }
  Result<PreparedOperand> made = prepare<T>(plan, side, view);
  if (!made.ok()) return nullptr;
  auto operand = std::make_shared<const PreparedOperand>(std::move(made).value());
  const std::lock_guard lock(all.mutex);
  keep(all, key, name.version, operand);
  return operand;
}

#define KIZAMI_INSTANTIATE(T)                                                                                  \
  template std::shared_ptr<const PreparedOperand> kept_operand<T>(const OperandName&, const Plan&, Side, char, \
                                                                  MatrixView<const T>)
KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::dropin::blas

extern "C" KIZAMI_API int kizami_dropin_name_operand(int side, std::uint64_t id, std::uint64_t version) {
  using namespace kizami::dropin::blas;  // NOLINT(google-build-using-namespace)
  if (side != 0 && side != 1) return 1;
  named.is_given[side] = true;
  named.id[side] = id;
  named.version[side] = version;
  return 0;
}

extern "C" KIZAMI_API void kizami_dropin_forget_operand(std::uint64_t id) {
  using namespace kizami::dropin::blas;  // NOLINT(google-build-using-namespace)
  Store* const all = store.known();
  if (all == nullptr) return;
  const std::lock_guard lock(all->mutex);
  all->drop([&](const Kept& one) { return one.key.id == id; });
}

extern "C" KIZAMI_API void kizami_dropin_kept(std::uint64_t* split, std::uint64_t* taken, std::size_t* bytes) {
  using namespace kizami::dropin::blas;  // NOLINT(google-build-using-namespace)
  Store* const all = store.known();
  if (all == nullptr) {
    for (std::uint64_t* count : {split, taken}) {
      if (count != nullptr) *count = 0;
    }
    if (bytes != nullptr) *bytes = 0;
    return;
  }
  const std::lock_guard lock(all->mutex);
  if (split != nullptr) *split = all->split;
  if (taken != nullptr) *taken = all->taken;
  if (bytes != nullptr) *bytes = all->bytes;
}
