// SPDX-License-Identifier: MIT
#include "dropin/blas/kept.hpp"

#include <complex>
#include <utility>

#include "base/fork_safe.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/kept_operands.hpp"

namespace kizami::dropin {
namespace {

constinit base::PerProcess<KeptOperands<const PreparedOperand>> store;

}  // namespace

KeptCounts kept_counts() {
  KeptOperands<const PreparedOperand>* const all = store.known();
  return all != nullptr ? all->counts() : KeptCounts{};
}

void forget_kept(std::uint64_t id) {
  KeptOperands<const PreparedOperand>* const all = store.known();
  if (all != nullptr) all->forget(id);
}

namespace blas {

template <class T>
std::shared_ptr<const PreparedOperand> kept_operand(const OperandName& name, const Plan& plan, Side side, char op,
                                                    MatrixView<const T> view) {
  constexpr int kHost = -1;
  const KeptKey key{name.id, kHost, side, plan.scalar(), op, view.rows, view.cols, plan.numerics_hash()};
  KeptOperands<const PreparedOperand>& all = store.get();
  if (auto found = all.find(key, name.version)) return found;
  Result<PreparedOperand> made = prepare<T>(plan, side, view);
  if (!made.ok()) return nullptr;
  auto operand = std::make_shared<const PreparedOperand>(std::move(made).value());
  all.keep(key, name.version, operand, process_configuration().kept_bytes);
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

}  // namespace blas
}  // namespace kizami::dropin
