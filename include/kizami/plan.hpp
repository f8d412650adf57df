// SPDX-License-Identifier: MIT
// The call in two steps: decide once, run many times.
//   Result<Plan> plan = make_plan(Scalar::kF64, m, n, k, policy);
//   Status s = run(plan.value(), alpha, A, B, beta, C);
// A Plan is immutable, printable and depends on shapes and wishes only, never on the elements. What the elements decide
// (the rung of the plan's ladder) is reported in an Outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kizami/export.h"
#include "kizami/outcome.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami {

namespace plan {
struct Plan;  // src/plan: scheme, ladder, bounds, engine, chunks
}
namespace schemes {
struct Prepared;  // src/schemes: planes, statistics and the numerics that made them
}

/// An immutable decision how to multiply op(A) (m x k) by op(B) (k x n). Cheap to copy, safe to share among threads.
class KIZAMI_API Plan {
 public:
  [[nodiscard]] Scalar scalar() const;
  [[nodiscard]] std::int64_t m() const;
  [[nodiscard]] std::int64_t n() const;
  [[nodiscard]] std::int64_t k() const;
  [[nodiscard]] std::int64_t num_products() const;  ///< of a batch on a device (kizami::cuda); else 1
  [[nodiscard]] Scheme scheme() const;              ///< never kAuto
  [[nodiscard]] std::string_view engine() const;
  [[nodiscard]] double bound() const;  ///< guaranteed, relative to gauge()
  [[nodiscard]] Gauge gauge() const;
  [[nodiscard]] EcVariant variant() const;  ///< scheme ec: the variant tried first; kAuto otherwise
  [[nodiscard]] int base_moduli() const;    ///< moduli of the lowest rung; 0 for scheme native
  [[nodiscard]] int max_moduli() const;     ///< moduli of the highest rung
  /// Scratch that run() needs; within the policy's limit. @units bytes
  [[nodiscard]] std::size_t workspace_bytes() const;
  [[nodiscard]] double predicted_seconds() const;  ///< of all products
  /// Equal for two plans exactly if they give equal bits on equal operands (schemes ozaki2 and
  /// ozaki1).
  [[nodiscard]] std::uint64_t numerics_hash() const;
  /// The plan in words, one fact a line: scheme, ladder, bound and gauge, blocks of k, engine, refusals with reasons,
  /// workspace.
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] const plan::Plan& impl() const { return *impl_; }
  explicit Plan(std::shared_ptr<const plan::Plan> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const plan::Plan> impl_;
};

/// Decides how to multiply. Plans are cached by their arguments.
/// @range m, n, k in [0, 2^34), k in [0, 2^33) for complex types
/// @status kInvalidArgument: dimension, bits, thread count or forced_moduli out of range. kAccuracyUnreachable: the
///         forced scheme cannot guarantee the accuracy (the reason gives the best bound). kUnsupported: engine and
///         scheme do not go together, or the engine refuses. kWorkspaceTooSmall: the limit is below the least possible
///         workspace.
KIZAMI_API Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                  const Policy& policy = {});

/// One operand split once for many products: planes, exponents and statistics, bound to the base rung of the plan that
/// made it. A type, not a flag: it cannot be mistaken for the matrix, and a plan of other numerics refuses it.
class KIZAMI_API PreparedOperand {
 public:
  [[nodiscard]] Side side() const;
  [[nodiscard]] std::size_t size_bytes() const;
  [[nodiscard]] const schemes::Prepared& impl() const { return *impl_; }
  explicit PreparedOperand(std::shared_ptr<const schemes::Prepared> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const schemes::Prepared> impl_;
};

/// An operand of run(): a matrix, a prepared operand, or both (the matrix is then used where a rung above the prepared
/// one is needed). Without the matrix such a call is refused.
template <class T>
struct Operand {
  MatrixView<const T> matrix;
  const PreparedOperand* prepared = nullptr;

  // NOLINTBEGIN(google-explicit-constructor): a matrix is an operand, and so is a prepared one
  Operand(MatrixView<const T> a) : matrix(a) {}
  Operand(MatrixView<T> a) requires(!std::is_const_v<T>) : matrix(a) {}
  Operand(const PreparedOperand& p) : prepared(&p) {}
  // NOLINTEND(google-explicit-constructor)
  Operand(const PreparedOperand& p, MatrixView<const T> original) : matrix(original), prepared(&p) {}
};

/// Splits one operand for plans of equal numerics.
/// @shape  side A: op(A), m x k; side B: op(B), k x n
/// @status kInvalidArgument: shape or scalar type differs from the plan; kUnsupported: scheme native;
///         kOutOfMemory; kNonFinite if the policy rejects non-finite elements
template <class T>
KIZAMI_API Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op);

/// C <- alpha op(A) op(B) + beta C.
/// @shape  op_a: m x k, op_b: k x n, c: m x n, as in the plan; any strides that do not make elements of C overlap
/// @bound  alpha = +-1, beta = 0: |C - alpha AB| <= plan.bound() gauge, plus half the smallest subnormal number where C
///         is subnormal. Otherwise num::epilogue_bound() comes on top: 2 u (|alpha AB| + |beta C|). Scheme native adds
///         to beta C block by block of k: there |beta C| is one more term of the gauge. Signs of zero: a product that
///         is exactly zero is +0, so alpha = -1 gives -0. A subnormal FP32 or FP64 result of scheme ozaki2 is rounded
///         twice, first to 53 bits: that is what half the smallest subnormal number stands for.
/// @alias  C must not overlap A or B; A and B may be the same memory. beta = 0 never reads C, alpha = 0 never A or B.
/// @status kInvalidArgument: a view does not fit the plan; kNonFinite: the policy rejects; kAccuracyUnreachable: FP64
///         arithmetic was needed but the policy forbids it, or a prepared operand lacks its original; kOutOfMemory. On
///         every error C is untouched.
/// @queue  blocks until done; allocates nothing if workspace holds plan.workspace_bytes(), aligned to 64 bytes; an
///         empty workspace is allocated and freed inside.
template <class T>
KIZAMI_API Status run(const Plan& plan, T alpha, std::type_identity_t<Operand<T>> op_a,
                      std::type_identity_t<Operand<T>> op_b, T beta, MatrixView<T> c,
                      std::span<std::byte> workspace = {}, Outcome* outcome = nullptr);

/// run() into double-double. @range a plan of Scalar::kDD; In: double or DoubleDouble
template <class In>
KIZAMI_API Status run_dd(const Plan& plan, DoubleDouble alpha, MatrixView<const In> a, MatrixView<const In> b,
                         DoubleDouble beta, MatrixView<DoubleDouble> c, std::span<std::byte> workspace = {},
                         Outcome* outcome = nullptr);

/// run() for many products of one plan, side by side where there are more of them than threads.
/// @shape  a, b, c: one view for each product; outcomes: as many, or none
/// @alias  the matrices C overlap neither each other nor any operand
/// @status as run(), with the number of the first product that failed; its C is untouched, others may be written
/// @queue  blocks until done; allocates workspace for the products that run side by side, within the policy's limit or
///         one product's need
template <class T>
KIZAMI_API Status run_batched(const Plan& plan, T alpha, std::span<const MatrixView<const T>> a,
                              std::span<const MatrixView<const T>> b, T beta, std::span<const MatrixView<T>> c,
                              std::span<Outcome> outcomes = {});

}  // namespace kizami
