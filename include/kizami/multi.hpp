// SPDX-License-Identifier: MIT
// One product on 1 to 8 CUDA devices of a host: the bits of the call on one device (cuda.hpp), and the same bound,
// whatever the devices and wherever the matrices lie: on one device, in pieces on several, or in host memory, larger
// than a device's; and one triangle of a matrix times itself (cuda_triangle.hpp). No CUDA header is needed to include
// this.
//   multi::Placement both{.devices = {0, 1}};
//   Status s = multi::gemm<double>(both, Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 1.0, A, lda, B, ldb, 0.0, C, ldc);
// Built with CUDA only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kizami/export.h"
#include "kizami/outcome.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::multi {

struct MultiPlan;  // src/multi: blocks of C, a plan for each, panels and their places

inline constexpr int kMostDevices = 8;

/// The devices that share a product.
struct Placement {
  /// CUDA's numbers, at most kMostDevices. One that is named several times is taken for as many: the work is cut and
  /// carried alike.
  std::vector<int> devices = {0};
  std::vector<double> speeds = {};  ///< of the devices, in any unit: shares of C follow them; empty: all alike
  /// Parts that a device's share is cut into at least, so that matrices travel while others are computed; 0: the
  /// planner's choice. Never changes a bit.
  int parts = 0;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// A rectangle of a matrix: its first element is element (row, col) of the matrix.
template <class T>
struct Piece {
  std::int64_t row = 0;
  std::int64_t col = 0;
  /// Device memory, or host memory: CUDA tells which. Page-locked host memory travels while devices compute; other
  /// host memory holds the call up.
  MatrixView<T> view;
};

/// An immutable decision how to share a product. Cheap to copy, safe to share among threads.
class KIZAMI_API Plan {
 public:
  [[nodiscard]] Scalar scalar() const;
  [[nodiscard]] std::int64_t m() const;
  [[nodiscard]] std::int64_t n() const;
  [[nodiscard]] std::int64_t k() const;
  [[nodiscard]] Scheme scheme() const;
  [[nodiscard]] double bound() const;
  [[nodiscard]] Gauge gauge() const;
  /// Of cuda::make_plan() for the whole product: equal ones give equal bits, on any devices.
  [[nodiscard]] std::uint64_t numerics_hash() const;
  [[nodiscard]] int num_devices() const;
  [[nodiscard]] int device(int i) const;  ///< CUDA's number
  /// Device memory that run() needs there, wherever the matrices lie; less where blocks take them in place. @units bytes
  [[nodiscard]] std::size_t workspace_bytes(int i) const;
  /// The plan in words, one fact a line: that of the whole product, and the blocks of each device.
  [[nodiscard]] std::string explain() const;

  [[nodiscard]] const MultiPlan& impl() const { return *impl_; }
  explicit Plan(std::shared_ptr<const MultiPlan> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const MultiPlan> impl_;
};

/// Decides how to share a product. C is cut into a block for each device, k never.
/// @range  as cuda::make_plan(). Policy::workspace_limit_bytes is for each device; 0: seven eighths of its memory at most
/// @status as cuda::make_plan(). kUnsupported: several blocks, and slices that depend on all elements (scheme ozaki1 in
///         gauge entry, until zero, or with one scale): such a call takes one device. kWorkspaceTooSmall: the lines of
///         one block do not fit
KIZAMI_API Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                  const Policy& policy = {}, const Placement& placement = {});

/// C <- alpha A B + beta C.
/// @shape  a: pieces of A, m x k, in which every element lies once; b: of B, k x n; c: of C, m x n. workspaces: one for
///         each device, workspace_bytes() of its memory from a 256-byte boundary on; none: taken from a pool
/// @bound, @alias as cuda::run(): plan.bound(). Bits: those of cuda::run() with a plan of equal numerics_hash(), of
///         schemes ozaki2 and ozaki1. Where the policy promises no bits, every block takes what it needs by itself.
/// @status as cuda::run(), before anything is written. kUnsupported also: pieces of one matrix that must travel are
///         stored neither all by columns nor all by rows. An error of a device names it; what the others had begun they
///         finish before the call returns, so that C may be written in part.
/// @queue  begins after what the default streams of the devices have, and blocks until C is written. Not capturable.
template <class T>
KIZAMI_API Status run(const Plan& plan, T alpha, std::span<const Piece<const std::type_identity_t<T>>> a,
                      std::span<const Piece<const std::type_identity_t<T>>> b, std::type_identity_t<T> beta,
                      std::span<const Piece<std::type_identity_t<T>>> c,
                      std::span<const std::span<std::byte>> workspaces = {}, Outcome* outcome = nullptr);

/// run() in BLAS terms, of matrices in one piece each, anywhere: in the memory of a device, also of none of the
/// placement, or of the host.
/// @status as kizami::gemm(), make_plan() and run()
template <class T>
KIZAMI_API Status gemm(const Placement& placement, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::type_identity_t<T> alpha, const T* a, std::int64_t lda, const T* b,
                       std::int64_t ldb, std::type_identity_t<T> beta, T* c, std::int64_t ldc,
                       const Policy& policy = {}, Outcome* outcome = nullptr);

/// What BLAS calls syrk, C <- alpha A A^T + beta C, or herk, with A^H: one triangle of an n x n C. The elements of the
/// other are neither read nor written.
struct Syrk {
  bool is_lower = true;  ///< elements (i, j) with i >= j, or those with i <= j
  /// A^H, and imaginary parts of the diagonal count as 0 and become 0. Of real types as without.
  bool is_hermitian = false;
};

/// Decides how to share one triangle of a matrix times itself. It is cut into blocks of equal areas, or such as
/// Placement::speeds says; one device has triangles on the diagonal, another what is beside them.
/// @range  as cuda::make_triangle_plan(); Policy::scheme kOzaki2, or kAuto, which means that. workspace limit as make_plan()
/// @status as cuda::make_plan(). kUnsupported: another scheme, or an engine that leaves no triangle out (hopper does).
///         kWorkspaceTooSmall: no blocks fit
KIZAMI_API Result<Plan> make_syrk_plan(Scalar scalar, const Syrk& triangle, std::int64_t n, std::int64_t k,
                                       const Policy& policy = {}, const Placement& placement = {});

/// The triangle, by a plan of make_syrk_plan().
/// @shape  a: pieces of A, n x k, in which every element lies once; c: of all of C, n x n. workspaces as run()
/// @range  Hermitian: alpha and beta are real
/// @bound, @alias, @status, @queue as run(). Bits: those of cuda::gemmt() with op(B) = A^T, or A^H, by scheme ozaki2,
///         and so does it decide: pairs across the diagonal count twice, as they would there
template <class T>
KIZAMI_API Status run_syrk(const Plan& plan, T alpha, std::span<const Piece<const std::type_identity_t<T>>> a,
                           std::type_identity_t<T> beta, std::span<const Piece<std::type_identity_t<T>>> c,
                           std::span<const std::span<std::byte>> workspaces = {}, Outcome* outcome = nullptr);

/// run_syrk() in BLAS terms, C <- alpha op(A) op(A)^T + beta C, or op(A)^H: op(A) is n x k. As gemm() otherwise.
/// @status as kizami::gemm(), make_syrk_plan() and run_syrk()
template <class T>
KIZAMI_API Status syrk(const Placement& placement, Layout layout, const Syrk& triangle, Op op, std::int64_t n,
                       std::int64_t k, std::type_identity_t<T> alpha, const T* a, std::int64_t lda,
                       std::type_identity_t<T> beta, T* c, std::int64_t ldc, const Policy& policy = {},
                       Outcome* outcome = nullptr);

}  // namespace kizami::multi
