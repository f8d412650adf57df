// SPDX-License-Identifier: MIT
// kizami/cuda.hpp in a library without CUDA: programs that call it link, and are told so.
#include <complex>

#include "base/instantiate.hpp"
#include "device/prepared.hpp"
#include "exec/device_prepared.hpp"
#include "kizami/cuda.hpp"

namespace kizami::cuda {
namespace {

Status refusal() { return {StatusCode::kUnsupported, "this libkizami was built without CUDA"}; }

}  // namespace

Result<Plan> make_plan(Scalar, std::int64_t, std::int64_t, std::int64_t, const Policy&, const Batch&) {
  return refusal();
}

template <class T>
Status run(const Plan&, Factor<T>, MatrixView<const T>, MatrixView<const T>, Factor<T>, MatrixView<T>,
           std::span<std::byte>, Stream) {
  return refusal();
}
template <class T>
Status run_batched(const Plan&, Factor<T>, std::span<const MatrixView<const T>>, std::span<const MatrixView<const T>>,
                   Factor<T>, std::span<const MatrixView<T>>, std::span<std::byte>, Stream) {
  return refusal();
}
template <class T>
Status run_batched(const Plan&, Factor<T>, MatrixArray<const T>, MatrixArray<const T>, Factor<T>, MatrixArray<T>,
                   std::span<std::byte>, Stream) {
  return refusal();
}

// A plan for a device is never made here, and so nothing is ever prepared.
Side PreparedOperand::side() const { return impl_->side; }
std::size_t PreparedOperand::size_bytes() const { return impl_->bytes; }
std::string PreparedOperand::explain() const { return exec::explain_prepared(*impl_); }
Result<std::size_t> prepared_bytes(const Plan&, Side) { return refusal(); }
template <class T>
Result<PreparedOperand> prepare(const Plan&, Side, MatrixView<const T>, std::span<std::byte>, Stream) {
  return refusal();
}
template <class T>
Result<PreparedOperand> prepare(const Plan&, Side, MatrixView<const T>, Stream) {
  return refusal();
}
template <class T>
Status run_prepared(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>, std::type_identity_t<Operand<T>>,
                    Factor<T>, MatrixView<T>, std::span<std::byte>, Stream) {
  return refusal();
}
template <class T>
Status run_prepared(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>, std::type_identity_t<Operand<T>>,
                    Factor<T>, MatrixView<T>, Stream, const EffortNote&) {
  return refusal();
}

bool last_call_writes_c() noexcept { return false; }
Result<Outcome> read_outcome(const Plan&, std::span<const std::byte>, Stream) { return refusal(); }
Status read_outcomes(const Plan&, std::span<const std::byte>, Stream, std::span<Outcome>) { return refusal(); }
Result<WorkspacePool> workspace_pool() { return refusal(); }
void limit_workspaces(std::size_t) {}
Result<std::span<std::uint64_t>> make_effort_words(std::size_t) { return refusal(); }
std::optional<ToldEffort> read_effort(std::uint64_t*) noexcept { return std::nullopt; }
double predicted_seconds(const Plan& plan, const Effort&) { return plan.predicted_seconds(); }

template <class T>
Status gemm(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*, std::int64_t,
            const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*, const EffortNote&) {
  return refusal();
}
template <class T>
Status gemm_strided_batched(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*,
                            std::int64_t, std::int64_t, const T*, std::int64_t, std::int64_t, Factor<T>, T*,
                            std::int64_t, std::int64_t, std::int64_t, const Policy&, Outcome*, const EffortNote&) {
  return refusal();
}
template <class T>
Status gemm_batched(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, PointerArray<const T>,
                    std::int64_t, PointerArray<const T>, std::int64_t, Factor<T>, PointerArray<T>, std::int64_t,
                    std::int64_t, const Policy&, Outcome*, const EffortNote&) {
  return refusal();
}

#define KIZAMI_INSTANTIATE(T)                                                                                          \
  template Status run<T>(const Plan&, Factor<T>, MatrixView<const T>, MatrixView<const T>, Factor<T>, MatrixView<T>,   \
                         std::span<std::byte>, Stream);                                                                \
  template Status run_batched<T>(const Plan&, Factor<T>, std::span<const MatrixView<const T>>,                         \
                                 std::span<const MatrixView<const T>>, Factor<T>, std::span<const MatrixView<T>>,      \
                                 std::span<std::byte>, Stream);                                                        \
  template Status run_batched<T>(const Plan&, Factor<T>, MatrixArray<const T>, MatrixArray<const T>, Factor<T>,        \
                                 MatrixArray<T>, std::span<std::byte>, Stream);                                        \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>, std::span<std::byte>, Stream);   \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>, Stream);                         \
  template Status run_prepared<T>(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>,                            \
                                  std::type_identity_t<Operand<T>>, Factor<T>, MatrixView<T>, std::span<std::byte>,    \
                                  Stream);                                                                             \
  template Status run_prepared<T>(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>,                            \
                                  std::type_identity_t<Operand<T>>, Factor<T>, MatrixView<T>, Stream,                  \
                                  const EffortNote&);                                                                  \
  template Status gemm<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*,       \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*,  \
                          const EffortNote&);                                                                          \
  template Status gemm_strided_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, \
                                          const T*, std::int64_t, std::int64_t, const T*, std::int64_t, std::int64_t,  \
                                          Factor<T>, T*, std::int64_t, std::int64_t, std::int64_t, const Policy&,      \
                                          Outcome*, const EffortNote&);                                                \
  template Status gemm_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>,         \
                                  PointerArray<const T>, std::int64_t, PointerArray<const T>, std::int64_t, Factor<T>, \
                                  PointerArray<T>, std::int64_t, std::int64_t, const Policy&, Outcome*,                \
                                  const EffortNote&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::cuda
