// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/instantiate.hpp"
#include "base/relaxed_capture.hpp"
#include "device/batch_buffers.hpp"
#include "exec/device_call.hpp"
#include "exec/device_prepared.hpp"
#include "problem/lines.hpp"
#include "problem/problem.hpp"
#include "schemes/ec/device_prepare.hpp"
#include "schemes/ec/stage.hpp"
#include "schemes/ozaki2/device_prepare.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::exec {
namespace {

template <class T>
Status validate_matrix(const plan::Plan& plan, Side side, MatrixView<const T> matrix) {
  const bool is_a = side == Side::kA;
  KIZAMI_RETURN_IF_ERROR(problem::validate_operand(is_a ? "A" : "B", matrix, is_a ? plan.shape.m : plan.shape.k,
                                                   is_a ? plan.shape.k : plan.shape.n));
  return device::validate_alignment(is_a ? "A" : "B", matrix.data);
}

[[nodiscard]] std::string kept_text(const plan::Plan& plan) {
  if (plan::is_empty(plan.shape)) return "nothing of an empty product";
  if (plan.first().scheme == Scheme::kEc) {
    const ec::EcRung& rung = ec::ec_of(plan).numerics.rungs[0];
    return "parts of " + std::string(to_string(rung.recipe.variant)) +
           (is_complex(plan.shape.scalar) ? ", as operand of C in either layout" : "") +
           "; what its range is judged by";
  }
  const num::Rung& rung = ozaki2::ozaki2_of(plan).ladder.rungs[0];
  return "residues modulo " + std::to_string(rung.num_moduli) + " moduli, of the lowest rung; statistics" +
         (ozaki2::ozaki2_of(plan).has_certificate ? " and samples for the certificate" : "");
}

}  // namespace

template <class T>
Status prepare_device(const plan::Plan& plan, Side side, MatrixView<const T> matrix, std::span<std::byte> memory,
                      product::Queue queue, device::Prepared& prepared) {
  const base::RelaxedCapture relaxed;
  std::size_t bytes = 0;
  KIZAMI_RETURN_IF_ERROR(prepared_device_bytes(plan, side, bytes));
  KIZAMI_RETURN_IF_ERROR(validate_device_plan(plan));
  KIZAMI_RETURN_IF_ERROR(validate_matrix(plan, side, matrix));
  if (memory.size() < bytes || reinterpret_cast<std::uintptr_t>(memory.data()) % device::kWorkspaceAlignment != 0) {
    return {StatusCode::kInvalidArgument, "memory of the prepared operand = " + std::to_string(memory.size()) +
                                              " bytes, must be >= " + std::to_string(bytes) +
                                              " and begin on a 256-byte boundary"};
  }
  const problem::Lines<T> lines = problem::lines_of(side, matrix);
  prepared = {plan.shape.scalar,
              plan.first().scheme,
              side,
              plan.schedule.facts.device,
              lines.num_lines,
              lines.length,
              plan::prepared_hash(plan),
              matrix.data,
              matrix.row_stride,
              matrix.col_stride,
              matrix.is_conjugated,
              memory.data(),
              bytes,
              {},
              kept_text(plan)};
  if (bytes == 0) return {};
  if constexpr (std::is_same_v<RealOf<T>, float>) {
    if (prepared.scheme == Scheme::kEc)
      return ec::prepare_device_ec(plan, lines, memory.data(), prepared.num_reports, queue);
  }
  return ozaki2::prepare_device_ozaki2(plan, side, lines, memory.data(), queue);
}

#define KIZAMI_INSTANTIATE(T)                                                                           \
  template Status prepare_device<T>(const plan::Plan&, Side, MatrixView<const T>, std::span<std::byte>, \
                                    product::Queue, device::Prepared&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
