// SPDX-License-Identifier: MIT
#include "multi/plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/int_math.hpp"
#include "certify/equilibration_gain.hpp"
#include "device/batch_buffers.hpp"
#include "exec/device_triangle.hpp"
#include "multi/blocks.hpp"
#include "schemes/ozaki1/device_rungs_plan.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::multi {
namespace {

Status validate_placement(const Placement& placement) {
  const auto invalid = [](const std::string& reason) { return Status(StatusCode::kInvalidArgument, reason); };
  const std::size_t count = placement.devices.size();
  if (count < 1 || count > kMostDevices) {
    return invalid("the placement has " + std::to_string(count) + " devices, must have 1 to " +
                   std::to_string(kMostDevices));
  }
  if (!placement.speeds.empty() && placement.speeds.size() != count) {
    return invalid("the placement has " + std::to_string(placement.speeds.size()) + " speeds, must have none or " +
                   std::to_string(count) + ", one for each device");
  }
  for (std::size_t i = 0; i < placement.speeds.size(); ++i) {
    if (placement.speeds[i] > 0 && placement.speeds[i] < 1e300) continue;
    return invalid("speed " + std::to_string(i) + " of the placement = " + std::to_string(placement.speeds[i]) +
                   ", must be above 0 and finite");
  }
  constexpr int kMostParts = 64;
  if (placement.parts >= 0 && placement.parts <= kMostParts) return {};
  return invalid("parts = " + std::to_string(placement.parts) + ", must be in 0.." + std::to_string(kMostParts));
}

/// Memory of a device for its share. @units bytes
struct Budget {
  std::size_t panels = 0;   ///< and staged blocks of C
  std::size_t product = 0;  ///< a limit for the policy of blocks; 0: its default, a quarter of the device's memory
  std::size_t all = 0;
};
[[nodiscard]] Budget budget_of(std::size_t wanted, std::size_t memory, int shares_of_device) {
  const auto shares = static_cast<std::size_t>(shares_of_device);
  if (wanted != 0) return {wanted / 3 * 2, wanted / 3, wanted};
  return {memory / 2 / shares, shares == 1 ? 0 : memory / 4 / shares, memory / 8 * 7 / shares};
}

[[nodiscard]] std::int64_t least_part(std::int64_t extent) { return std::min<std::int64_t>(extent, 128); }

/// Elements that the panels of equal parts take, two places for what comes and goes.
[[nodiscard]] std::int64_t panel_elements(const Rect& block, std::int64_t k, std::int64_t row_parts,
                                          std::int64_t col_parts) {
  const std::int64_t rows = base::ceil_div(block.rows, row_parts);
  const std::int64_t cols = base::ceil_div(block.cols, col_parts);
  const std::int64_t a = staged_stride(rows) * k * std::min<std::int64_t>(row_parts, 2);
  const std::int64_t b = staged_stride(cols) * k * std::min<std::int64_t>(col_parts, 2);
  return a + b + 2 * staged_stride(rows) * cols;
}

/// Four parts of a share were fastest where panels travel between two devices, and two as fast as one where they need not
/// (docs/multi.md); on one device nothing travels.
[[nodiscard]] int parts_wished(const Placement& placement) {
  if (placement.parts != 0) return placement.parts;
  return placement.devices.size() > 1 ? 4 : 1;
}

/// A device's block in parts whose panels fit: cut along one side, so that the panel of the other stays, or where that
/// does not do along both.
Result<std::vector<Rect>> parts_of(const Rect& block, std::int64_t k, std::int64_t most_elements, int parts) {
  if (block.is_empty()) return std::vector<Rect>{};
  // Wished parts are of the longer side, so that the panel that all of them need is the shorter one.
  const bool cuts_cols_first = block.cols >= block.rows;
  std::int64_t row_parts = cuts_cols_first ? 1 : std::clamp<std::int64_t>(parts, 1, block.rows);
  std::int64_t col_parts = cuts_cols_first ? std::clamp<std::int64_t>(parts, 1, block.cols) : 1;
  const auto fits = [&](std::int64_t rows, std::int64_t cols) {
    return panel_elements(block, k, rows, cols) <= most_elements;
  };
  const auto most_parts = [](std::int64_t extent) { return base::ceil_div(extent, least_part(extent)); };
  const auto fewest = [&](bool along_cols) -> std::int64_t {  // parts along one side; 0: none fit
    const std::int64_t first = along_cols ? col_parts : row_parts;
    for (std::int64_t p = first; p <= most_parts(along_cols ? block.cols : block.rows); ++p) {
      if (along_cols ? fits(1, p) : fits(p, 1)) return p;
    }
    return 0;
  };
  if (!fits(row_parts, col_parts)) {
    const std::int64_t along_cols = fewest(true);
    const std::int64_t along_rows = along_cols != 0 ? 0 : fewest(false);
    if (along_cols != 0) {
      col_parts = along_cols;
      row_parts = 1;
    } else if (along_rows != 0) {
      row_parts = along_rows;
      col_parts = 1;
    } else {
      while (!fits(row_parts, col_parts)) {
        const bool cuts_cols = base::ceil_div(block.cols, col_parts) >= base::ceil_div(block.rows, row_parts);
        std::int64_t& more = cuts_cols ? col_parts : row_parts;
        if (++more <= (cuts_cols ? block.cols : block.rows)) continue;
        return Status(
            StatusCode::kWorkspaceTooSmall,
            "workspace limit of a device leaves " + std::to_string(most_elements) +
                " elements for panels, must be >= " + std::to_string(panel_elements(block, k, row_parts, col_parts)) +
                " for lines of k = " + std::to_string(k));
      }
    }
  }
  return cut_block(block, row_parts, col_parts);
}

void add_blocks(Share& share, const MultiPlan& plan, const Budget& budget) {
  const PanelCounts panels = count_panels(share.blocks, plan.panels_of_b());
  std::int64_t most_pairs = 0;
  for (std::size_t i = 0; i < share.blocks.size(); ++i) {
    const Rect& block = share.blocks[i];
    share.most_rows = std::max(share.most_rows, block.rows);
    share.most_cols = std::max(share.most_cols, block.cols);
    most_pairs = std::max(most_pairs, block.rows * block.cols);
    share.product_bytes = std::max(share.product_bytes, share.plans[i]->schedule.workspace_bytes);
  }
  share.most_lines = plan.part.is_all() ? share.most_rows : std::max(share.most_rows, share.most_cols);
  if (plan.has_exchange)
    share.repair_capacity = std::min(most_pairs, (plan.shape.m * plan.shape.n) >> num::kMostRepairShift);
  const auto blocks = static_cast<int>(share.blocks.size());
  share.is_resident = true;
  share.num_workspaces = share.c_places = blocks;
  share.a_places = panels.a;
  share.b_places = panels.b;
  if (blocks <= 1 || share_bytes(plan, share, {}) <= budget.all) return;
  share.is_resident = false;
  share.num_workspaces = 1;
  share.a_places = std::min(panels.a, plan.part.is_all() ? 2 : 4);  // two of a block, and two of the next one
  share.b_places = std::min(panels.b, 2);
  share.c_places = 2;
}

/// What devices have of a product before it is cut.
struct Begun {
  MultiPlan plan;
  std::vector<double> speeds;
  std::vector<Budget> budgets;
};

/// The plan of the whole, and a share without blocks for each device.
Result<Begun> begin(const problem::Shape& shape, const Policy& policy, const Placement& placement,
                    const PlanOn& plan_on) {
  KIZAMI_RETURN_IF_ERROR(validate_placement(placement));
  auto whole = plan_on(placement.devices[0], shape, policy);
  if (!whole.ok()) return whole.status();
  Begun begun;
  begun.plan.shape = shape;
  begun.plan.whole = std::move(whole).value();
  begun.speeds = placement.speeds.empty() ? std::vector<double>(placement.devices.size(), 1.0) : placement.speeds;
  for (const int device : placement.devices) {
    Share share;
    share.device = device;
    // The memory of this device, by a plan that is soon asked for again.
    const auto asked = plan_on(device, shape, policy);
    if (!asked.ok()) return asked.status();
    const auto named = std::count(placement.devices.begin(), placement.devices.end(), device);
    begun.budgets.push_back(
        budget_of(policy.workspace_limit_bytes, asked.value()->schedule.facts.memory_bytes, static_cast<int>(named)));
    begun.plan.shares.push_back(std::move(share));
  }
  return begun;
}

/// How all blocks go together, once they are known.
Status join(MultiPlan& plan) {
  if (plan.num_blocks() <= 1) return {};
  KIZAMI_RETURN_IF_ERROR(validate_scheme(*plan.whole));
  if (plan.whole->first().scheme != Scheme::kOzaki2) return {};
  const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(*plan.whole);
  plan.has_exchange = true;
  plan.may_equilibrate = stage.has_certificate && stage.ladder.may_equilibrate;
  return {};
}

/// Parts that a panel surely comes in, where half of it comes over links.
[[nodiscard]] int least_parts_of(const Rect& block, const MultiPlan& plan) {
  const std::int64_t bytes = std::max(block.rows, block.cols) * plan.shape.k * size_bytes(plan.shape.scalar);
  return static_cast<int>(std::clamp<std::int64_t>(bytes / 2 / plan.least_part_bytes, 1, kMostPanelParts));
}

/// Plans of a share's blocks, and its room. @param policy of the whole
Status plan_blocks(Share& share, const MultiPlan& plan, const Policy& policy, const Budget& budget,
                   const PlanOn& plan_on) {
  const bool is_whole = plan.part.is_all() && plan.num_blocks() == 1 && policy.workspace_limit_bytes == 0;
  const bool is_ozaki2 = plan.whole->first().scheme == Scheme::kOzaki2;
  const std::uint64_t numerics = plan::numerics_hash(*plan.whole);
  Policy of_blocks = policy_of_blocks(*plan.whole, policy);
  of_blocks.workspace_limit_bytes = budget.product;
  for (const Rect& block : share.blocks) {
    auto made =
        plan_on(share.device, {plan.shape.scalar, block.rows, block.cols, plan.shape.k}, is_whole ? policy : of_blocks);
    if (!made.ok()) return made.status();
    share.plans.push_back(std::move(made).value());
    const int parts = least_parts_of(block, plan);
    if (plan.has_exchange && share.blocks.size() == 1 && !plan.is_triangle(block) && parts > 1) {
      if (std::optional<plan::Plan> by_strassen = ozaki2::strassen_plan_of_block(*share.plans.back(), parts))
        share.plans.back() = std::make_shared<const plan::Plan>(*std::move(by_strassen));
    }
    const bool promises_bits = is_ozaki2 || policy.reproducibility == Reproducibility::kEngineToEngine;
    if (promises_bits && plan::numerics_hash(*share.plans.back()) != numerics) {
      return {StatusCode::kUnsupported, "a block of " + std::to_string(block.rows) + " x " +
                                            std::to_string(block.cols) +
                                            " has other numerics than the whole product, which takes one device"};
    }
  }
  add_blocks(share, plan, budget);
  return {};
}

/// Lines along the longer side of the blocks that a share is cut into at least where memory is short.
constexpr std::int64_t kLeastTriangle = 128;

/// Blocks of this orientation, of those of the lower triangle.
[[nodiscard]] std::vector<Rect> in_part(const problem::Part& part, std::vector<Rect> blocks) {
  if (part.kind == problem::PartKind::kUpper)
    std::transform(blocks.begin(), blocks.end(), blocks.begin(), [](const Rect& block) { return block.transposed(); });
  return blocks;
}

/// Whether smaller blocks may have what these lack: room, and not an engine that leaves a triangle out.
[[nodiscard]] bool may_fit_in_less(const Status& lack, const Share& share, const MultiPlan& plan, const Policy& policy,
                                   const PlanOn& plan_on) {
  if (lack.code() == StatusCode::kWorkspaceTooSmall) return true;
  if (lack.code() != StatusCode::kUnsupported) return false;
  const auto small = plan_on(share.device, {plan.shape.scalar, kLeastTriangle, kLeastTriangle, plan.shape.k},
                             policy_of_blocks(*plan.whole, policy));
  return small.ok() && !exec::why_no_part(*small.value());
}

/// Time of a pair beside the diagonal, of one in a triangle 1: where blocks there have Strassen's products, which no
/// triangle has, 0.73 to 0.79 was measured (docs/multi.md).
[[nodiscard]] double time_beside(const std::vector<std::vector<Rect>>& dealt, const MultiPlan& plan,
                                 const Policy& policy, const std::vector<Budget>& budgets, const PlanOn& plan_on) {
  constexpr double kOfStrassen = 0.8;
  Rect largest;
  std::size_t owner = 0;
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    for (const Rect& block : dealt[i]) {
      if (multi::is_triangle(block) || num_pairs(block) <= num_pairs(largest)) continue;
      largest = block;
      owner = i;
    }
  }
  if (largest.is_empty()) return 1;
  Policy of_blocks = policy_of_blocks(*plan.whole, policy);
  of_blocks.workspace_limit_bytes = budgets[owner].product;
  const auto made =
      plan_on(plan.shares[owner].device, {plan.shape.scalar, largest.rows, largest.cols, plan.shape.k}, of_blocks);
  return made.ok() && ozaki2::ozaki2_of(*made.value()).takes_strassen ? kOfStrassen : 1;
}

/// Why a share cannot be run in blocks like these but perhaps in smaller ones, or nothing.
[[nodiscard]] Status require_room(const Share& share, const MultiPlan& plan, const Budget& budget) {
  for (std::size_t i = 0; i < share.blocks.size(); ++i) {
    if (!plan.is_triangle(share.blocks[i])) continue;
    if (const std::optional<std::string> reason = exec::why_no_part(*share.plans[i]))
      return {StatusCode::kUnsupported, *reason};
  }
  const std::size_t bytes = share_bytes(plan, share, {});
  if (bytes <= budget.all) return {};
  return {StatusCode::kWorkspaceTooSmall,
          "workspace limit of device " + std::to_string(share.device) + " = " + std::to_string(budget.all) +
              " bytes, must be >= " + std::to_string(bytes) + " for its blocks of a triangle"};
}

}  // namespace

Status validate_scheme(const plan::Plan& whole) {
  if (whole.first().scheme != Scheme::kOzaki1) return {};
  const ozaki1::SliceNumerics& slices = ozaki1::ozaki1_of(whole).numerics;
  const char* const why = ozaki1::has_slice_rungs(whole) ? "whose number the elements choose (gauge entry)"
                          : slices.until_zero            ? "until nothing is left of any element"
                          : slices.one_scale             ? "with one scale for a matrix"
                                                         : nullptr;
  if (why == nullptr) return {};
  return {StatusCode::kUnsupported,
          "scheme ozaki1 with slices " + std::string(why) + " takes one device or rank, or scheme ozaki2"};
}

Policy policy_of_blocks(const plan::Plan& whole, Policy policy) {
  policy.scheme = whole.first().scheme;
  if (policy.scheme == Scheme::kOzaki2)
    policy.engine = named<EngineName>(whole.first().engine_name()).value_or(policy.engine);
  return policy;
}

bool copies_take_turns(const MultiPlan& plan) {
  std::set<int> devices;
  for (const Share& share : plan.shares) devices.insert(share.device);
  return devices.size() > 2 && plan.part.is_all();
}

bool MultiPlan::is_strassen_product(const Share& share, std::size_t block) const {
  return !is_triangle(share.blocks[block]) && ozaki2::is_one_strassen_chunk(*share.plans[block]);
}

std::size_t MultiPlan::num_blocks() const {
  return std::accumulate(shares.begin(), shares.end(), std::size_t{0},
                         [](std::size_t sum, const Share& share) { return sum + share.blocks.size(); });
}

std::int64_t staged_stride(std::int64_t contiguous) {
  return base::round_up(std::max<std::int64_t>(contiguous, 1), std::int64_t{32});
}

ShareBuffers carve_share(base::Carver& carver, const MultiPlan& plan, const Share& share, const Travels& travels) {
  ShareBuffers buffers;
  const auto take = [&](int count, std::size_t bytes, std::vector<std::byte*>& pieces) {
    const auto aligned = static_cast<std::size_t>(
        base::round_up(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(device::kWorkspaceAlignment)));
    for (int i = 0; i < count; ++i) pieces.push_back(carver.take<std::byte>(aligned));
  };
  const auto element = static_cast<std::int64_t>(size_bytes(plan.shape.scalar));
  const std::int64_t k = plan.shape.k;
  // Lines beside one another along either side.
  const auto matrix_bytes = [&](std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(std::max(staged_stride(rows) * cols, staged_stride(cols) * rows) * element);
  };
  take(share.num_workspaces, share.product_bytes, buffers.products);
  if (travels.a) take(share.a_places, matrix_bytes(share.most_lines, k), buffers.a);
  if (travels.b) take(share.b_places, matrix_bytes(k, share.most_cols), buffers.b);
  if (travels.c) take(share.c_places, matrix_bytes(share.most_rows, share.most_cols), buffers.c);
  if (share.blocks.empty()) return buffers;
  buffers.repairs = carver.take<device::Pair>(share.repair_capacity);
  if (plan.may_equilibrate) {
    buffers.a_samples = carver.take<std::byte>(certify::kGainLines, k, element);
    buffers.b_samples = carver.take<std::byte>(certify::kGainLines, k, element);
  }
  return buffers;
}

std::size_t share_bytes(const MultiPlan& plan, const Share& share, const Travels& travels) {
  base::Carver counter;
  static_cast<void>(carve_share(counter, plan, share, travels));
  return counter.bytes();
}

Result<MultiPlan> make(const problem::Shape& shape, const Policy& policy, const Placement& placement,
                       const PlanOn& plan_on) {
  auto begun = begin(shape, policy, placement, plan_on);
  if (!begun.ok()) return begun.status();
  auto& [plan, speeds, budgets] = begun.value();
  const std::vector<Rect> dealt = deal_blocks(shape.m, shape.n, speeds);
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    const auto most_elements =
        static_cast<std::int64_t>(budgets[i].panels / static_cast<std::size_t>(size_bytes(shape.scalar)));
    auto parts = parts_of(dealt[i], std::max<std::int64_t>(shape.k, 1), most_elements, parts_wished(placement));
    if (!parts.ok()) return parts.status();
    plan.shares[i].blocks = std::move(parts).value();
  }
  KIZAMI_RETURN_IF_ERROR(join(plan));
  for (std::size_t i = 0; i < plan.shares.size(); ++i)
    KIZAMI_RETURN_IF_ERROR(plan_blocks(plan.shares[i], plan, policy, budgets[i], plan_on));
  return std::move(plan);
}

Result<MultiPlan> make_triangle(const problem::Shape& shape, const problem::Part& part, const Policy& wanted,
                                const Placement& placement, const PlanOn& plan_on) {
  Policy policy = wanted;
  if (policy.scheme == Scheme::kAuto) policy.scheme = Scheme::kOzaki2;
  if (policy.scheme != Scheme::kOzaki2) {
    return Status(StatusCode::kUnsupported, "scheme " + std::string(to_string(policy.scheme)) +
                                                " makes no shared triangle, must be ozaki2 or auto");
  }
  auto begun = begin(shape, policy, placement, plan_on);
  if (!begun.ok()) return begun.status();
  auto& [plan, speeds, budgets] = begun.value();
  plan.part = part;
  // A plan takes a quarter of the memory by itself; the product of a triangle holds whole operands.
  for (Budget& budget : budgets) budget.product = policy.workspace_limit_bytes == 0 ? budget.panels : budget.product;
  const auto deal = [&, &speeds = speeds](double beside) {
    std::vector<std::vector<Rect>> dealt = deal_triangle(shape.n, speeds, beside);
    for (std::vector<Rect>& blocks : dealt)
      blocks = cut_share_of_triangle(std::move(blocks), placement.parts, speeds.size());
    return dealt;
  };
  std::vector<std::vector<Rect>> cut = deal(1);
  if (const double beside = time_beside(cut, plan, policy, budgets, plan_on); beside != 1) cut = deal(beside);
  // Where one share has no room all of it is cut again: whether there is one block in all decides how it is run.
  for (std::size_t i = 0; i < cut.size();) {
    for (std::size_t x = 0; x < cut.size(); ++x) plan.shares[x].blocks = in_part(part, cut[x]);
    plan.has_exchange = plan.may_equilibrate = false;
    KIZAMI_RETURN_IF_ERROR(join(plan));
    Share share;
    share.device = plan.shares[i].device;
    share.blocks = plan.shares[i].blocks;
    Status status = plan_blocks(share, plan, policy, budgets[i], plan_on);
    if (status.ok()) status = require_room(share, plan, budgets[i]);
    if (status.ok()) {
      plan.shares[i] = std::move(share);
      ++i;
      continue;
    }
    const bool was_one_block = plan.num_blocks() == 1;
    const bool is_small = std::all_of(share.blocks.begin(), share.blocks.end(), [](const Rect& block) {
      return std::max(block.rows, block.cols) < 2 * kLeastTriangle;
    });
    if (is_small || !may_fit_in_less(status, share, plan, policy, plan_on) || !halve_all(cut[i])) return status;
    if (was_one_block) i = 0;
  }
  return std::move(plan);
}

std::string explain(const MultiPlan& plan) {
  std::string text = plan::explain(*plan.whole);
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (!plan.part.is_all()) {
    text += std::string(plan.part.kind == problem::PartKind::kLower ? "lower" : "upper") +
            " triangle, a matrix times itself " + (plan.part.has_real_diagonal ? "conjugated\n" : "transposed\n");
  }
  text += "devices: " + std::to_string(plan.shares.size()) +
          (plan.has_exchange ? ", which tell each other counts before they multiply\n" : "\n");
  for (const Share& share : plan.shares) {
    text += "device " + std::to_string(share.device) + ": " + std::to_string(share.blocks.size()) + " blocks of C";
    if (!share.blocks.empty()) {
      text += " up to " + std::to_string(share.most_rows) + " x " + std::to_string(share.most_cols) +
              (share.is_resident ? "" : ", one after another, each twice") + "; workspace " +
              std::to_string(share_bytes(plan, share, {})) + " bytes";
    }
    text += '\n';
  }
  return text;
}

}  // namespace kizami::multi
