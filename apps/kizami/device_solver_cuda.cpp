// SPDX-License-Identifier: MIT
// Cases in the memory of a CUDA device. All that a call reads or writes lies in one region (device_region.hpp). A lone
// product is made by cuda::run() in a workspace between guards, which holds what earlier cases left; a batch takes its
// workspace from the library.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "case_solver.hpp"
#include "check/compare.hpp"
#include "check/operands.hpp"
#include "check/reference.hpp"
#include "device_buffers.hpp"
#include "device_cases.hpp"
#include "device_region.hpp"
#include "exact_sample.hpp"
#include "kizami/cuda.hpp"
#include "kizami/gemm.hpp"

namespace kizami::cli {
namespace {

using check::BatchForm;
using check::Case;
using check::Which;

constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;
/// Terms of exact dot products for one case whose bits are not promised: milliseconds.
constexpr double kMaxTerms = 1 << 19;

class DeviceSolver final : public CaseSolver {
 public:
  DeviceSolver() {
    require_device();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~DeviceSolver() override { static_cast<void>(cudaStreamDestroy(stream_)); }
  DeviceSolver(const DeviceSolver&) = delete;
  DeviceSolver& operator=(const DeviceSolver&) = delete;

  SolvedCase solve(const Case& spec) override {
    return with_scalar(spec.scalar, [&]<class T>() {
      std::vector<check::Operands<T>> products;
      return solve_as<T>(spec, products);
    });
  }
  std::string difference(const Case& spec) override {
    return with_scalar(spec.scalar, [&]<class T>() { return difference_as<T>(spec); });
  }

 private:
  template <class T>
  SolvedCase solve_as(const Case& spec, std::vector<check::Operands<T>>& products);
  template <class T>
  std::string difference_as(const Case& spec);
  template <class T>
  Status enqueue(const Case& spec, const Plan& plan, const Region<T>& region, std::vector<Outcome>& outcomes);
  template <class T>
  void fill(const Case& spec, const std::vector<check::Operands<T>>& products, const Region<T>& region);
  template <class T>
  std::string copied_back(const Case& spec, std::vector<check::Operands<T>>& products, const Region<T>& region,
                          bool is_untouched);

  cudaStream_t stream_ = nullptr;
  GrowingBuffer<false> device_, workspace_;
  GrowingBuffer<true> before_, after_;
};

/// The region on the host, as it is before the call, and the copy to the device.
template <class T>
void DeviceSolver::fill(const Case& spec, const std::vector<check::Operands<T>>& products, const Region<T>& region) {
  std::byte* const host = before_.reserve(region.bytes());
  after_.reserve(region.bytes() + 2 * kGuardBytes);
  std::byte* const device = device_.reserve(region.bytes());
  std::memset(host, kGuard, region.bytes());
  for (std::int64_t i = 0; i < spec.num_products; ++i) {
    const check::Operands<T>& x = products[static_cast<std::size_t>(i)];
    const check::Operand<T>* const operands[] = {&x.a, &x.b, &x.c};
    for (const Which which : {Which::kA, Which::kB, Which::kC}) {
      const std::span<const T> elems = operands[static_cast<std::size_t>(which)]->guarded();
      std::memcpy(host + region.guarded(which, i), elems.data(), elems.size_bytes());
      const std::byte* const pointer = device + region.matrix(which, i);
      std::memcpy(host + region.pointers(which) + static_cast<std::size_t>(i) * sizeof(void*), &pointer,
                  sizeof pointer);
    }
  }
  const T factors[] = {check::alpha_of<T>(spec), check::beta_of<T>(spec)};
  std::memcpy(host + region.factors(), factors, sizeof factors);
  check_cuda(cudaMemcpyAsync(device, host, region.bytes(), cudaMemcpyHostToDevice, stream_), "copying operands");
}

template <class T>
Status DeviceSolver::enqueue(const Case& spec, const Plan& plan, const Region<T>& region,
                             std::vector<Outcome>& outcomes) {
  std::byte* const device = device_.reserve(region.bytes());
  const auto at = [&](Which which) { return reinterpret_cast<T*>(device + region.matrix(which, 0)); };
  const T* const factors = reinterpret_cast<const T*>(device + region.factors());
  const bool on_device = spec.has_device_factors;
  const Factor<T> alpha = on_device ? Factor<T>::at(factors) : Factor<T>(check::alpha_of<T>(spec));
  const Factor<T> beta = on_device ? Factor<T>::at(factors + 1) : Factor<T>(check::beta_of<T>(spec));
  const check::StoredShape a = check::stored_shape(spec, Which::kA), b = check::stored_shape(spec, Which::kB),
                           c = check::stored_shape(spec, Which::kC);
  outcomes.resize(static_cast<std::size_t>(spec.num_products));
  if (spec.num_products == 1) {
    const auto view = [&](Which which, const check::StoredShape& s) {
      const Op op = check::op_of(spec, which);
      MatrixView<const T> v = blas_view(static_cast<const T*>(at(which)), s.rows, s.cols, s.ld, spec.layout);
      if (is_transposed(op)) v = v.transposed();
      v.is_conjugated = kIsComplex<T> && is_conjugated(op);
      return v;
    };
    const std::size_t bytes = plan.workspace_bytes();
    std::byte* const workspace = workspace_.reserve(bytes + 2 * kGuardBytes) + kGuardBytes;
    for (std::byte* const guard : {workspace - kGuardBytes, workspace + bytes})
      check_cuda(cudaMemsetAsync(guard, kGuard, kGuardBytes, stream_), "writing guards");
    KIZAMI_RETURN_IF_ERROR(cuda::run<T>(plan, alpha, view(Which::kA, a), view(Which::kB, b), beta,
                                        blas_view(at(Which::kC), c.rows, c.cols, c.ld, spec.layout), {workspace, bytes},
                                        stream_));
    return cuda::read_outcomes(plan, {workspace, bytes}, stream_, outcomes);
  }
  if (spec.batch_form == BatchForm::kStrides) {
    return cuda::gemm_strided_batched<T>(stream_, spec.layout, spec.op_a, spec.op_b, spec.m, spec.n, spec.k, alpha,
                                         at(Which::kA), a.ld, region.stride(Which::kA), at(Which::kB), b.ld,
                                         region.stride(Which::kB), beta, at(Which::kC), c.ld, region.stride(Which::kC),
                                         spec.num_products, spec.policy, outcomes.data());
  }
  const bool is_on_device = spec.batch_form == BatchForm::kDevicePointers;
  std::byte* const memory = is_on_device ? device : before_.reserve(region.bytes());
  const auto array = [&]<class Element>(Which which, Element*) {
    auto* const pointers = reinterpret_cast<Element* const*>(memory + region.pointers(which));
    return is_on_device ? PointerArray<Element>::at(pointers) : PointerArray<Element>(pointers);
  };
  const T* const element = nullptr;
  T* const output = nullptr;
  return cuda::gemm_batched<T>(stream_, spec.layout, spec.op_a, spec.op_b, spec.m, spec.n, spec.k, alpha,
                               array(Which::kA, element), a.ld, array(Which::kB, element), b.ld, beta,
                               array(Which::kC, output), c.ld, spec.num_products, spec.policy, outcomes.data());
}

/// C comes back into the operands. @param is_untouched  the call must not have written C @return what was written besides; empty: nothing
template <class T>
std::string DeviceSolver::copied_back(const Case& spec, std::vector<check::Operands<T>>& products,
                                      const Region<T>& region, bool is_untouched) {
  const std::byte* const before = before_.reserve(region.bytes());
  std::byte* const after = after_.reserve(region.bytes());
  check_cuda(cudaMemcpyAsync(after, device_.reserve(region.bytes()), region.bytes(), cudaMemcpyDeviceToHost, stream_),
             "copying results");
  check_cuda(cudaStreamSynchronize(stream_), "waiting for a product");
  for (std::int64_t i = 0; i < spec.num_products; ++i) {
    check::Operands<T>& x = products[static_cast<std::size_t>(i)];
    const std::size_t c = region.guarded(Which::kC, i);
    const auto is_changed = [&](Which which, std::size_t bytes) {
      const std::size_t first = region.guarded(which, i);
      return std::memcmp(before + first, after + first, bytes) != 0;
    };
    if (is_changed(Which::kA, x.a.guarded().size_bytes())) return "A or its padding was written";
    if (is_changed(Which::kB, x.b.guarded().size_bytes())) return "B or its padding was written";
    if (is_untouched && is_changed(Which::kC, x.c.guarded().size_bytes())) return "refused, but C was written";
    std::memcpy(x.c.guarded().data(), after + c, x.c.guarded().size_bytes());
    if (const check::Verdict intact = x.c.canaries_intact(); !intact) return intact.message;
  }
  return {};
}

/// Whether elements keep to the reported bound.
template <class T>
std::string beyond_bound(const Case& spec, const check::Reference<T>& reference, MatrixView<const T> c,
                         const Outcome& outcome) {
  if (spec.m == 0 || spec.n == 0) return {};
  const double lines = std::sqrt(kMaxTerms / static_cast<double>(std::max<std::int64_t>(spec.k, 1)));
  const std::int64_t sampled = std::max<std::int64_t>(16, static_cast<std::int64_t>(lines));
  const check::Allowance allowed =
      allowance_of(check::alpha_of<T>(spec), check::beta_of<T>(spec), outcome.bound, outcome.gauge);
  const check::Verdict verdict =
      check::ratio_at_most_one(check::error_ratios<T>(reference, c, allowed, {sampled, sampled}, 1));
  return verdict ? "" : verdict.message;
}

/// Guards of the workspace of a lone product.
std::string workspace_fault(const std::byte* workspace, std::size_t bytes, std::byte* host, cudaStream_t stream) {
  check_cuda(cudaMemcpyAsync(host, workspace, kGuardBytes, cudaMemcpyDeviceToHost, stream), "copying guards");
  check_cuda(
      cudaMemcpyAsync(host + kGuardBytes, workspace + kGuardBytes + bytes, kGuardBytes, cudaMemcpyDeviceToHost, stream),
      "copying guards");
  check_cuda(cudaStreamSynchronize(stream), "waiting for guards");
  for (std::size_t i = 0; i < 2 * kGuardBytes; ++i) {
    if (host[i] != std::byte{kGuard})
      return i < kGuardBytes ? "memory before the workspace was written" : "memory behind the workspace was written";
  }
  return {};
}

template <class T>
SolvedCase DeviceSolver::solve_as(const Case& spec, std::vector<check::Operands<T>>& products) {
  SolvedCase out;
  const bool is_batch = spec.num_products > 1;
  const Result<Plan> plan =
      cuda::make_plan(spec.scalar, spec.m, spec.n, spec.k, spec.policy,
                      {spec.num_products, is_batch && spec.batch_form == BatchForm::kDevicePointers});
  if (!plan.ok()) return out.answer = refusal(plan.status()), out;
  const Result<Plan> on_host = make_plan(spec.scalar, spec.m, spec.n, spec.k, host_policy(spec));
  out.promises_bits = may_promise_bits(spec.policy) && on_host.ok() && promise_same_bits(plan.value(), on_host.value());

  products.reserve(static_cast<std::size_t>(spec.num_products));
  for (std::int64_t i = 0; i < spec.num_products; ++i) products.emplace_back(check::product_of_batch(spec, i));
  std::vector<check::Reference<T>> references;
  for (const check::Operands<T>& x : products) {
    if (out.promises_bits) break;
    references.emplace_back(check::alpha_of<T>(spec), x.a.view(), x.b.view(), check::beta_of<T>(spec), x.c.view());
  }
  const Region<T> region(spec, products[0]);
  fill(spec, products, region);
  std::vector<Outcome> outcomes;
  const Status status = enqueue(spec, plan.value(), region, outcomes);
  // Of a batch the products before the refused one are done.
  out.fault = copied_back(spec, products, region, !status.ok() && !is_batch);
  if (!status.ok()) return out.answer = refusal(status), out;
  if (out.fault.empty() && !is_batch) {
    const std::size_t bytes = plan.value().workspace_bytes();
    out.fault =
        workspace_fault(workspace_.reserve(bytes + 2 * kGuardBytes), bytes, after_.reserve(2 * kGuardBytes), stream_);
  }
  BitsHash hash;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const MatrixView<const T> c = std::as_const(products[i]).c.view();
    hash.add(c);
    out.answer.outcome += (i > 0 ? ";" : "") + outcome_text(outcomes[i]);
    if (!out.promises_bits && out.fault.empty()) out.fault = beyond_bound(spec, references[i], c, outcomes[i]);
  }
  out.answer.bits = hash.value();
  const bool is_quick = outcomes[0].engine == "none";
  out.how = (is_quick ? "" : std::string(to_string(outcomes[0].scheme)) + " ") + std::string(outcomes[0].engine);
  return out;
}

template <class T>
std::string DeviceSolver::difference_as(const Case& spec) {
  std::vector<check::Operands<T>> products;
  const SolvedCase solved = solve_as<T>(spec, products);
  if (!solved.answer.status.ok()) return "the device refuses it now: " + solved.answer.status.reason();
  if (!solved.fault.empty()) return solved.fault;
  if (!solved.promises_bits) return "no bits are promised, and every element compared is within its bound";
  for (std::int64_t i = 0; i < spec.num_products; ++i) {
    const Case one = check::product_of_batch(spec, i);
    check::Operands<T> x(one);
    const Status status =
        gemm<T>(one.layout, one.op_a, one.op_b, one.m, one.n, one.k, check::alpha_of<T>(one), x.a.data(), x.a.ld(),
                x.b.data(), x.b.ld(), check::beta_of<T>(one), x.c.data(), x.c.ld(), host_policy(spec));
    if (!status.ok()) return "the host refuses it: " + status.reason();
    const check::Verdict same = check::promised_bits_equal<T>(
        std::as_const(products[static_cast<std::size_t>(i)]).c.view(), std::as_const(x).c.view());
    if (!same) return "product " + std::to_string(i) + ": " + same.message;
  }
  return "computed again, the device gives the host's bits";
}

}  // namespace

std::unique_ptr<CaseSolver> device_solver() { return std::make_unique<DeviceSolver>(); }

}  // namespace kizami::cli
