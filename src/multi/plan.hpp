// SPDX-License-Identifier: MIT
// How devices share a product: the plan of the whole, which fixes its bits and bound, and for each device blocks of C
// with a plan each, and room for what travels. Pure: plans of devices come from whoever asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/multi.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "multi/rect.hpp"
#include "multi/schedule.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "problem/part.hpp"
#include "problem/problem.hpp"

namespace kizami::multi {

/// One device of the placement.
struct Share {
  int device = 0;
  std::vector<Rect> blocks;                              ///< none is empty; in the order in which they are taken
  std::vector<std::shared_ptr<const plan::Plan>> plans;  ///< of the blocks
  /// All blocks have a workspace and places of their own: nothing is made or brought twice.
  bool is_resident = true;
  int num_workspaces = 0;
  int a_places = 0;
  int b_places = 0;
  int c_places = 0;
  std::int64_t most_rows = 0;  ///< of a block
  std::int64_t most_cols = 0;
  std::int64_t most_lines = 0;       ///< of a panel of A
  std::size_t product_bytes = 0;     ///< of a workspace
  std::int64_t repair_capacity = 0;  ///< pairs of a block that the whole product may leave to repairs
};

struct MultiPlan {
  problem::Shape shape;
  /// Of C that is made. A triangle: B is A mirrored, A^T, or A^H where the diagonal is real; of blocks on the diagonal
  /// the same triangle is made.
  problem::Part part;
  std::shared_ptr<const plan::Plan> whole;
  std::vector<Share> shares;
  /// Several blocks of scheme ozaki2: they tell each other counts before they multiply.
  bool has_exchange = false;
  bool may_equilibrate = false;
  /// Of a panel that comes in parts over links, at least.
  std::int64_t least_part_bytes = std::int64_t{1} << 27;

  [[nodiscard]] std::size_t num_blocks() const;
  [[nodiscard]] PanelsOfB panels_of_b() const { return part.is_all() ? PanelsOfB::kOfB : PanelsOfB::kOfA; }
  [[nodiscard]] bool is_triangle(const Rect& block) const { return !part.is_all() && block.row == block.col; }
  [[nodiscard]] problem::Part part_of(const Rect& block) const { return is_triangle(block) ? part : problem::Part{}; }
  /// Whether a block is one product of Strassen's. No triangle is, whatever its plan says of all of the block.
  [[nodiscard]] bool is_strassen_product(const Share& share, std::size_t block) const;
  /// As how many blocks of C its pairs count: beside the diagonal of a triangle for those across it too, whose pairs
  /// are the same lines.
  [[nodiscard]] int times_of(const Rect& block) const { return part.is_all() || is_triangle(block) ? 1 : 2; }
  /// Whether what is counted of lines is that of its rows, so that each row of C is counted once; and of its columns.
  [[nodiscard]] bool counts_rows(const Rect& block) const {
    return part.is_all() ? block.col == 0 : is_triangle(block);
  }
  [[nodiscard]] bool counts_cols(const Rect& block) const {
    return part.is_all() ? block.row == 0 : is_triangle(block);
  }
};

/// Whether copies out of one device follow one another: with three devices and more, for with two each has one other to read from; and of all of C, for
/// devices that share a triangle want different amounts, and were slower.
[[nodiscard]] bool copies_take_turns(const MultiPlan& plan);

/// Parts of what comes, or leaves, while others are split or made, at most.
inline constexpr int kMostPanelParts = 4;

/// What of the matrices must travel to a device.
struct Travels {
  bool a = true;
  bool b = true;
  bool c = true;
};

/// The workspace of one device.
struct ShareBuffers {
  std::vector<std::byte*> products;  ///< [product_bytes] each
  std::vector<std::byte*> a;         ///< [most_lines][k] elements each, or none; likewise below
  std::vector<std::byte*> b;         ///< [k][most_cols]
  std::vector<std::byte*> c;         ///< [most_rows][most_cols]
  device::Pair* repairs = nullptr;   ///< [repair_capacity]
  std::byte* a_samples = nullptr;    ///< [certify::kGainLines][k] elements, if the whole may be equilibrated
  std::byte* b_samples = nullptr;
};
[[nodiscard]] ShareBuffers carve_share(base::Carver& carver, const MultiPlan& plan, const Share& share,
                                       const Travels& travels);
/// @units bytes
[[nodiscard]] std::size_t share_bytes(const MultiPlan& plan, const Share& share, const Travels& travels);

/// Elements from one line of a panel or of a staged C to the next.
[[nodiscard]] std::int64_t staged_stride(std::int64_t contiguous);

/// Whether a plan can be cut. @status kUnsupported: what its slices are depends on elements of all lines
Status validate_scheme(const plan::Plan& whole);
/// What blocks must have in common with the whole: its scheme and engine, for both may depend on shapes.
[[nodiscard]] Policy policy_of_blocks(const plan::Plan& whole, Policy policy);

/// A plan for a device.
using PlanOn = std::function<Result<std::shared_ptr<const plan::Plan>>(int device, const problem::Shape& shape,
                                                                       const Policy& policy)>;

/// @status as kizami::multi::make_plan()
[[nodiscard]] Result<MultiPlan> make(const problem::Shape& shape, const Policy& policy, const Placement& placement,
                                     const PlanOn& plan_on);

/// Of one triangle of C <- alpha A B + beta C with a mirrored A in place of B. Scheme kAuto means ozaki2.
/// @range  shape.m = shape.n; part is a triangle
/// @status as kizami::multi::make_syrk_plan()
[[nodiscard]] Result<MultiPlan> make_triangle(const problem::Shape& shape, const problem::Part& part,
                                              const Policy& policy, const Placement& placement, const PlanOn& plan_on);

[[nodiscard]] std::string explain(const MultiPlan& plan);

}  // namespace kizami::multi
