// SPDX-License-Identifier: MIT
// What a product shared by several devices, of one node or more, is predicted to take: what travels, beside the model of
// one device. kizami/predict.hpp has the equations.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kizami/multi.hpp"
#include "kizami/predict.hpp"
#include "multi/blocks.hpp"

namespace kizami::model {
namespace {

constexpr int kMostDevices = 1 << 20;
constexpr int kMostParts = 64;
constexpr double kHostWait = 100e-6;  ///< of one process: for what blocks have counted, and for the end. Unmeasured

[[nodiscard]] Status invalid(std::string reason) { return {StatusCode::kInvalidArgument, std::move(reason)}; }

Status check_cluster(const Cluster& cluster) {
  if (cluster.devices < 1 || cluster.devices > kMostDevices)
    return invalid(fmt::format("devices = {}, must be in [1, {}]", cluster.devices, kMostDevices));
  if (cluster.devices_of_node < 1)
    return invalid(fmt::format("devices of a node = {}, must be at least 1", cluster.devices_of_node));
  if (cluster.parts < 0 || cluster.parts > kMostParts)
    return invalid(fmt::format("parts = {}, must be in [0, {}]", cluster.parts, kMostParts));
  const std::pair<const char*, double> rates[] = {
      {"link", cluster.link_gbs}, {"network", cluster.network_gbs}, {"host memory", cluster.host_gbs}};
  for (const auto& [name, rate] : rates) {
    if (!(rate > 0)) return invalid(fmt::format("the rate of the {} = {} GB/s, must be above 0", name, rate));
  }
  if (cluster.latency_us >= 0) return {};
  return invalid(fmt::format("the latency = {} us, must not be negative", cluster.latency_us));
}

[[nodiscard]] std::int64_t ceil_div(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

struct Grid {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};
/// Of all grids the one whose blocks need the fewest lines, of equal ones that of most rows.
[[nodiscard]] Grid grid_of(std::int64_t m, std::int64_t n, std::int64_t devices) {
  Grid best;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t cols = 1; cols <= devices; ++cols) {
    if (devices % cols != 0) continue;
    const std::int64_t lines = ceil_div(m, devices / cols) + ceil_div(n, cols);
    if (lines >= fewest) continue;
    fewest = lines;
    best = {devices / cols, cols};
  }
  return best;
}

/// The part of a grid that a node has: the largest divisors of it, as square as they can be.
[[nodiscard]] Grid grid_of_node(const Grid& all, std::int64_t devices) {
  Grid best;
  for (std::int64_t rows = 1; rows <= std::min(devices, all.rows); ++rows) {
    const std::int64_t cols = devices / rows;
    if (devices % rows != 0 || all.rows % rows != 0 || cols > all.cols || all.cols % cols != 0) continue;
    if (std::abs(rows - cols) <= std::abs(best.rows - best.cols) || best.rows * best.cols == 1) best = {rows, cols};
  }
  return best;
}

/// Bytes to a device, by the way they come.
struct Travel {
  double link = 0;
  double network = 0;
  double host = 0;

  [[nodiscard]] Travel times(double share) const { return {link * share, network * share, host * share}; }
  [[nodiscard]] Travel plus(const Travel& x) const { return {link + x.link, network + x.network, host + x.host}; }
};

[[nodiscard]] constexpr std::size_t at(Limit limit) { return static_cast<std::size_t>(limit); }

/// Seconds add up; the rates are of all devices. @param alone  the whole product on one
void add_up(const Prediction& alone, int devices, SharedPrediction& out) {
  for (const double seconds : out.seconds_of) out.seconds += seconds;
  const double operations = alone.tflops * alone.seconds;  // 1e12
  out.tflops = operations / out.seconds;
  out.efficiency = out.tflops / (static_cast<double>(devices) * alone.tflops);
}

// ---- one triangle ---------------------------------------------------------------------------------------------------

using multi::is_triangle;
using multi::num_pairs;
using multi::Rect;

/// Lines of A that blocks are made of: those of their rows, and those across the diagonal.
[[nodiscard]] std::int64_t lines_of(std::span<const Rect> blocks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Rect& block : blocks) {
    ranges.emplace_back(block.row, block.row + block.rows);
    ranges.emplace_back(block.col, block.col + block.cols);
  }
  std::sort(ranges.begin(), ranges.end());
  std::int64_t lines = 0;
  std::int64_t end = 0;
  for (const auto& [first, last] : ranges) {
    lines += std::max<std::int64_t>(last - std::max(first, end), 0);
    end = std::max(end, last);
  }
  return lines;
}

/// How lines come to a device, and how C leaves it.
struct Road {
  double lacking = 0;  ///< of all bytes those that travel
  double rate = 0;     ///< bytes a second
};
[[nodiscard]] Road road_of(const Cluster& cluster, bool is_first) {
  const double link = cluster.link_gbs * 1e9;
  const double others = static_cast<double>(cluster.devices) - 1;
  switch (cluster.home) {
    case Home::kDevice:
      return is_first ? Road{0, link} : Road{1, link / others};
    case Home::kHost:
      return {1, cluster.host_gbs * 1e9};
    case Home::kPieces:
      break;
  }
  return {others / (others + 1), link};
}

/// One device's share.
struct TriangleShare {
  Prediction one;  ///< of the largest block
  Rect largest;
  int num_blocks = 0;
  double products = 0;  ///< seconds of all blocks
  double waits = 0;     ///< seconds for lines that nothing hides, and until C of the last block has left
  double travel = 0;    ///< seconds of all lines
  double bytes_in = 0;

  [[nodiscard]] double seconds() const { return products + waits; }
};

/// Blocks one after another, each behind its lines.
[[nodiscard]] Result<TriangleShare> predict_share(const Device& device, const Request& request,
                                                  std::span<const Rect> blocks, const Road& road) {
  const auto element = static_cast<double>(size_bytes(request.scalar));
  const double line_bytes = static_cast<double>(request.k) * element * road.lacking;
  TriangleShare share;
  share.num_blocks = static_cast<int>(blocks.size());
  double end = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Rect& block = blocks[i];
    Request of_block = request;
    of_block.m = block.rows;
    of_block.n = block.cols;
    of_block.is_triangle = is_triangle(block);
    of_block.may_take_quadrants = false;  // docs/predict.md: why
    Result<Prediction> made = predict(device, of_block);
    if (!made.ok()) return made.status();
    share.bytes_in = static_cast<double>(lines_of(blocks.first(i + 1))) * line_bytes;
    share.travel = share.bytes_in / road.rate;
    share.products += made.value().seconds;
    end = std::max(end, share.travel) + made.value().seconds;
    if (i + 1 == blocks.size()) end += num_pairs(block) * element * road.lacking / road.rate;
    if (num_pairs(block) <= num_pairs(share.largest)) continue;
    share.largest = block;
    share.one = std::move(made).value();
  }
  share.waits = end - share.products;
  return share;
}

/// @range a cluster and a request that have been checked
[[nodiscard]] Result<SharedPrediction> share_triangle(const Device& device, const Request& request,
                                                      const Cluster& cluster, const Prediction& alone) {
  if (cluster.devices > std::min(multi::kMostDevices, cluster.devices_of_node)) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} devices, must be at most {} of one node for one triangle", cluster.devices,
                              std::min(multi::kMostDevices, cluster.devices_of_node)));
  }
  const std::vector<double> speeds(static_cast<std::size_t>(cluster.devices), 1.0);
  const std::vector<std::vector<Rect>> dealt = multi::deal_triangle(request.n, speeds);
  TriangleShare last;  // to end
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    const std::vector<Rect> blocks = multi::cut_share_of_triangle(dealt[i], cluster.parts, dealt.size());
    Result<TriangleShare> share = predict_share(device, request, blocks, road_of(cluster, i == 0));
    if (!share.ok()) return share.status();
    if (share.value().seconds() > last.seconds()) last = std::move(share).value();
  }
  SharedPrediction out;
  out.grid_rows = out.grid_cols = 0;
  out.block_rows = last.largest.rows;
  out.block_cols = last.largest.cols;
  out.parts = last.num_blocks;
  out.bytes_in = last.bytes_in;
  const Limit way = cluster.home == Home::kHost ? Limit::kHostMemory : Limit::kLinks;
  out.of_limit[at(Limit::kProducts)] = out.seconds_of[at(Limit::kProducts)] = last.products;
  out.of_limit[at(way)] = last.travel;
  out.seconds_of[at(way)] = last.waits;
  out.of_limit[at(Limit::kAgreement)] = out.seconds_of[at(Limit::kAgreement)] = cluster.devices == 1 ? 0 : kHostWait;
  out.one = std::move(last.one);
  add_up(alone, cluster.devices, out);
  return out;
}

}  // namespace

Limit SharedPrediction::limit() const {
  return static_cast<Limit>(std::max_element(seconds_of.begin(), seconds_of.end()) - seconds_of.begin());
}

Result<SharedPrediction> predict_shared(const Device& device, const Request& request, const Cluster& cluster) {
  KIZAMI_RETURN_IF_ERROR(check_cluster(cluster));
  const Result<Prediction> alone = predict(device, request);
  if (!alone.ok()) return alone.status();
  const std::int64_t p = cluster.devices;
  const bool has_network = cluster.devices > cluster.devices_of_node;
  if (p > request.m * request.n)
    return invalid(fmt::format("devices = {}, must be at most m n = {}", p, request.m * request.n));
  if (has_network && cluster.home != Home::kPieces) {
    return invalid(fmt::format("{} devices of nodes of {} share matrices in pieces, not from one device or host",
                               cluster.devices, cluster.devices_of_node));
  }
  if (request.is_triangle) return share_triangle(device, request, cluster, alone.value());

  SharedPrediction out;
  const Grid grid = grid_of(request.m, request.n, p);
  const Grid near = grid_of_node(grid, std::min<std::int64_t>(p, cluster.devices_of_node));
  out.grid_rows = static_cast<int>(grid.rows);
  out.grid_cols = static_cast<int>(grid.cols);
  out.block_rows = ceil_div(request.m, grid.rows);
  out.block_cols = ceil_div(request.n, grid.cols);
  const bool cuts_cols = out.block_cols >= out.block_rows;
  const std::int64_t longer = cuts_cols ? out.block_cols : out.block_rows;
  const int wished = cluster.parts != 0 ? cluster.parts : p == 1 || has_network ? 1 : 4;
  out.parts = static_cast<int>(std::min<std::int64_t>(wished, longer));

  Request part = request;
  part.m = cuts_cols ? out.block_rows : ceil_div(out.block_rows, out.parts);
  part.n = cuts_cols ? ceil_div(out.block_cols, out.parts) : out.block_cols;
  part.may_take_quadrants = request.may_take_quadrants && p == 1 && out.parts == 1;  // docs/predict.md: why not several
  Result<Prediction> one = predict(device, part);
  if (!one.ok()) return one.status();
  out.one = std::move(one).value();

  // What a device lacks of a panel of so many lines, which so many devices of its row or column of the grid share.
  const auto element = static_cast<double>(size_bytes(request.scalar));
  const auto lacking = [&](std::int64_t lines, std::int64_t sharers, std::int64_t near_ones) -> Travel {
    const double bytes = static_cast<double>(lines) * static_cast<double>(request.k) * element;
    if (cluster.home == Home::kHost) return {0, 0, bytes};
    if (cluster.home == Home::kDevice) return {bytes * static_cast<double>(p - 1), 0, 0};
    const double all = static_cast<double>(sharers);
    return {bytes * static_cast<double>(near_ones - 1) / all, bytes * static_cast<double>(sharers - near_ones) / all,
            0};
  };
  const Travel a = lacking(out.block_rows, grid.cols, near.cols);
  const Travel b = lacking(out.block_cols, grid.rows, near.rows);
  const double share = 1.0 / out.parts;
  const Travel first = cuts_cols ? a.plus(b.times(share)) : b.plus(a.times(share));
  const Travel rest = cuts_cols ? b.times(1 - share) : a.times(1 - share);
  const double c_bytes = cluster.home == Home::kPieces
                             ? 0
                             : static_cast<double>(out.block_rows) * static_cast<double>(out.block_cols) * element *
                                   (cluster.home == Home::kDevice ? static_cast<double>(p - 1) : 1.0);
  const Travel back = cluster.home == Home::kHost ? Travel{0, 0, c_bytes * share} : Travel{c_bytes * share, 0, 0};
  out.bytes_in = a.plus(b).link + a.plus(b).network + a.plus(b).host;

  const double link = cluster.link_gbs * 1e9;
  const double network = cluster.network_gbs * 1e9;
  const double host = cluster.host_gbs * 1e9;
  const auto slowest = [&](const Travel& t) { return std::max({t.link / link, t.network / network, t.host / host}); };
  const double products = out.one.seconds * out.parts;
  const double agreement =
      p == 1        ? 0
      : has_network ? kReductions * 2.0 * std::bit_width(static_cast<std::uint32_t>(p - 1)) * cluster.latency_us * 1e-6
                    : kHostWait;
  const double waits = std::max(0.0, slowest(rest) - (products - out.one.seconds));
  const Travel all = a.plus(b);
  const Limit way = all.host > 0                              ? Limit::kHostMemory
                    : all.network / network > all.link / link ? Limit::kNetwork
                                                              : Limit::kLinks;
  out.of_limit = {products, all.link / link, all.network / network, all.host / host, agreement};
  out.seconds_of[at(Limit::kProducts)] = products;
  out.seconds_of[at(way)] = slowest(first) + waits + slowest(back);
  out.seconds_of[at(Limit::kAgreement)] = agreement;
  add_up(alone.value(), cluster.devices, out);
  return out;
}

}  // namespace kizami::model
