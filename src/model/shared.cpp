// SPDX-License-Identifier: MIT
// Several devices, of one node or more: what travels, beside the model of one device.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "kizami/predict.hpp"

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
  const auto at = [](Limit limit) { return static_cast<std::size_t>(limit); };
  out.of_limit = {products, all.link / link, all.network / network, all.host / host, agreement};
  out.seconds_of[at(Limit::kProducts)] = products;
  out.seconds_of[at(way)] = slowest(first) + waits + slowest(back);
  out.seconds_of[at(Limit::kAgreement)] = agreement;
  for (const double seconds : out.seconds_of) out.seconds += seconds;
  const double operations = alone.value().tflops * alone.value().seconds;  // 1e12
  out.tflops = operations / out.seconds;
  out.efficiency = out.tflops / (static_cast<double>(p) * alone.value().tflops);
  return out;
}

}  // namespace kizami::model
