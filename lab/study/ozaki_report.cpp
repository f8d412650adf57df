// SPDX-License-Identifier: MIT
// The code that the report on tile kernels prints, run: its rho of k = n, its split with one largest element, its
// product with FP32 sums over all of k. What it does not print is by how many bits one slice lies below the one before:
// two readings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/case.hpp"
#include "check/exact.hpp"
#include "check/operands.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "num/float_slices.hpp"
#include "ozaki.hpp"
#include "ozaki_printed.hpp"
#include "tile_kernels/slice_product.hpp"
#include "tile_kernels/slice_product_whole_k.hpp"
#include "tile_kernels/veltkamp_split.hpp"

namespace kizami::study {
namespace {

constexpr std::int64_t kMostK = 16384;
constexpr std::int64_t kKOfN = 64;  // k in units of max_n
constexpr std::int64_t kMostRows = 32;
/// Of normal numbers: the largest of 2^20 to 2^28 lies between 4 and 8.
constexpr int kExponent = 3;
/// Two figures are one: the report does not define its error, and Frobenius and the largest elements lie so far apart.
constexpr double kNear = 1.25;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void require(const Status& status, const std::string& what) {
  if (!status.ok()) throw cli::Failure(cli::ExitCode::kInternal, fmt::format("{}: {}", what, status.reason()));
}

/// Row-major operands, and what products of them are compared with.
struct Operands {
  Operands(std::int64_t rows_, std::int64_t k_) : rows(rows_), k(k_), a(at(rows * k)), b(at(k * rows)) {
    const auto parsed = check::parse_case(fmt::format("d nn {0}x{0}x{1} A=randn B=randn", rows, k));
    require(parsed.status(), "operands");
    const check::Operands<double> x(parsed.value());
    exact.resize(at(rows * rows));
    native.resize(exact.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < k; ++l) {
        a[at(i * k + l)] = x.a.view()(i, l);
        b[at(l * rows + i)] = x.b.view()(l, i);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < rows; ++j) {
        check::ExactDot dot;
        for (std::int64_t l = 0; l < k; ++l) dot.add(a[at(i * k + l)], b[at(l * rows + j)]);
        exact[at(i * rows + j)] = dot.sum();
      }
    }
    Policy policy;
    policy.scheme = Scheme::kNative;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    require(gemm<double>(Layout::kRowMajor, Op::kNone, Op::kNone, rows, rows, k, 1.0, a.data(), k, b.data(), rows, 0.0,
                         native.data(), rows, policy),
            "native product");
  }

  /// ||C - AB|| / ||AB||
  [[nodiscard]] double error_of(const std::vector<double>& c) const {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      check::Exact error = exact[i];
      error.add(-c[i]);
      difference += std::pow(error.rounded<double>(), 2);
      norm += std::pow(exact[i].rounded<double>(), 2);
    }
    return std::sqrt(difference / norm);
  }

  std::int64_t rows, k;
  std::vector<double> a, b, native;
  std::vector<check::Exact> exact;
};

/// A reading of the report.
struct Reading {
  const char* format;
  int num_slices;
  int advance;
  int depth;           ///< 0: all pairs
  int digit_bits = 0;  ///< 0: by the printed rho
  int sum_block = 0;   ///< 0: all of k
};

template <class Slice>
struct Side {
  Side(const std::vector<double>& x, std::int64_t rows, std::int64_t cols, int rho, const Reading& reading)
      : slices(x.size() * at(reading.num_slices)) {
    constexpr int kTileRows = 16;
    constexpr int kTileCols = 32;
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < reading.num_slices; ++p) {
      const int exponent = kExponent - p * reading.advance;
      scales.push_back(num::slice_scale(exponent, rho, 0));
      sigmas.push_back(num::slice_sigma(exponent, rho, 0));
      inverse_scales.push_back(1 / scales.back());
    }
    const auto grid =
        static_cast<unsigned>(((rows + kTileRows - 1) / kTileRows) * ((cols + kTileCols - 1) / kTileCols));
    require(
        KIZAMI_TILE_LAUNCH(
            (tile_kernels::veltkamp_split_block<Slice, kTileRows, kTileCols, tile_kernels::ScaleOf::kMatrix, false>),
            grid, nullptr, x.data(), static_cast<int>(cols), slices.data(), static_cast<std::uint32_t>(rows * cols),
            static_cast<int>(cols), sigmas.data(), inverse_scales.data(), 1, reading.num_slices, static_cast<int>(rows),
            static_cast<int>(cols)),
        "split");
  }

  std::vector<Slice> slices;
  std::vector<double> scales;
};

/// C of the tile kernel.
template <class Slice>
std::vector<double> multiply(const Operands& x, const Reading& reading, int depth, const Side<Slice>& a,
                             const Side<Slice>& b, const std::vector<double>& scales) {
  constexpr int kTile = 16;
  std::vector<double> c(x.native.size());
  const auto rows = static_cast<int>(x.rows);
  const auto k = static_cast<int>(x.k);
  const auto tiles = static_cast<unsigned>((rows + kTile - 1) / kTile);
  const auto plane = static_cast<std::uint32_t>(x.rows * x.k);
  const auto launch = [&](auto kernel) {
    require(KIZAMI_TILE_LAUNCH((kernel), tiles * tiles, nullptr, a.slices.data(), plane, k, b.slices.data(), plane,
                               rows, scales.data(), c.data(), rows, reading.num_slices, reading.num_slices, depth, rows,
                               rows, k, 1),
            "product");
  };
  if (reading.sum_block == 0) {
    launch(tile_kernels::slice_product_whole_k_block<Slice, kTile, kTile, 128, false>);
  } else {
    launch(tile_kernels::slice_product_block<Slice, kTile, kTile, 128, false>);
  }
  return c;
}

/// C of the same slices, the sum of each pair exact and added in FP64 in the same order, as sums of so many elements.
template <class Slice>
std::vector<double> multiply_exactly(const Operands& x, const Reading& reading, int depth, const Side<Slice>& a,
                                     const Side<Slice>& b, const std::vector<double>& scales) {
  const auto numbers = [](const std::vector<Slice>& slices) {
    std::vector<double> all;
    all.reserve(slices.size());
    for (const Slice s : slices) all.push_back(static_cast<double>(static_cast<float>(s)));
    return all;
  };
  const std::vector<double> a_numbers = numbers(a.slices);
  const std::vector<double> b_numbers = numbers(b.slices);
  const std::int64_t block = reading.sum_block == 0 ? x.k : reading.sum_block;
  std::vector<double> c(x.native.size());
  std::vector<double> sums(at(x.rows));
  for (int p = 0; p < reading.num_slices; ++p) {
    for (int q = 0; q < reading.num_slices && p + q < depth; ++q) {
      for (std::int64_t i = 0; i < x.rows; ++i) {
        for (std::int64_t first = 0; first < x.k; first += block) {
          std::fill(sums.begin(), sums.end(), 0.0);
          for (std::int64_t l = first; l < std::min(first + block, x.k); ++l) {
            const double of_a = a_numbers[at((p * x.rows + i) * x.k + l)];
            const double* const of_b = &b_numbers[at((q * x.k + l) * x.rows)];
            for (std::int64_t j = 0; j < x.rows; ++j) sums[at(j)] += of_a * of_b[j];  // whole numbers below 2^53
          }
          for (std::int64_t j = 0; j < x.rows; ++j)
            c[at(i * x.rows + j)] += sums[at(j)] * scales[at(p * reading.num_slices + q)];
        }
      }
    }
  }
  return c;
}

template <class Slice>
ReportProduct measure(const Operands& x, const Reading& reading, int significand_bits) {
  const int rho = reading.digit_bits > 0 ? 53 - reading.digit_bits : num::slice_rho(x.k, significand_bits);
  const Side<Slice> a(x.a, x.rows, x.k, rho, reading);
  const Side<Slice> b(x.b, x.k, x.rows, rho, reading);
  std::vector<double> scales;
  for (const double of_a : a.scales) {
    for (const double of_b : b.scales) scales.push_back(of_a * of_b);
  }
  const int depth = reading.depth > 0 ? reading.depth : 2 * reading.num_slices - 1;
  const std::vector<double> c = multiply(x, reading, depth, a, b, scales);
  const std::vector<double> exact = multiply_exactly(x, reading, depth, a, b, scales);
  ReportProduct product{"",
                        x.k,
                        reading.format,
                        53 - rho,
                        reading.advance,
                        reading.num_slices,
                        reading.num_slices,
                        reading.depth,
                        num::num_slice_pairs(reading.num_slices, reading.num_slices, depth),
                        reading.sum_block,
                        x.error_of(c),
                        0,
                        0,
                        x.error_of(exact),
                        0};
  double squares = 0;
  double norm = 0;
  double largest = 0;
  double largest_native = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double difference = c[i] - x.native[i];
    squares += difference * difference;
    norm += x.native[i] * x.native[i];
    largest = std::max(largest, std::abs(difference));
    largest_native = std::max(largest_native, std::abs(x.native[i]));
    product.changed += c[i] != exact[i] ? 1 : 0;
  }
  product.from_native = std::sqrt(squares / norm);
  product.largest_from_native = largest / largest_native;
  return product;
}

ReportProduct measure(const Operands& x, const Reading& reading) {
  const std::string format = reading.format;
  if (format == "bf16") return measure<__nv_bfloat16>(x, reading, 8);
  if (format == "fp16") return measure<__half>(x, reading, 11);
  return measure<__nv_fp8_e4m3>(x, reading, 4);
}

ReportProduct parse_record(const nlohmann::json& json) {
  ReportProduct product;
  product.device = json.at("device").get<std::string>();
  product.n = json.at("n").get<std::int64_t>();
  product.format = json.at("format").get<std::string>();
  product.digit_bits = json.at("digit_bits").get<int>();
  product.advance = json.at("advance").get<int>();
  product.slices_a = json.at("slices_a").get<int>();
  product.slices_b = json.at("slices_b").get<int>();
  product.depth = json.at("depth").get<int>();
  product.products = json.at("products").get<int>();
  product.sum_block = json.at("sum_block").get<int>();
  product.frobenius = json.at("frobenius").get<double>();
  product.from_native = json.at("from_native").at(0).get<double>();
  product.largest_from_native = json.at("from_native").at(1).get<double>();
  return product;
}

/// The printed slices of A and B, "15 x 16".
std::pair<int, int> counts_of(const PrintedProduct& printed) {
  const std::string text = printed.slices;
  return {std::stoi(text), std::stoi(text.substr(text.find('x') + 1))};
}

/// Where a product was measured, as claims say it.
std::string place_of(const ReportProduct& x) {
  return x.device.empty() ? fmt::format("k = {}, on a processor", x.n) : fmt::format("n = {}, {}", x.n, x.device);
}

class Judge {
 public:
  Judge(const std::vector<ReportProduct>& products, std::vector<Claim>& claims)
      : products_(products), claims_(claims) {}

  void judge_errors() {
    for (const PrintedProduct& printed : kPrinted) {
      if (printed.diagonals == 0) continue;
      const bool is_fp8 = std::string_view(printed.format) == "e4m3";
      // The bits of a significand without the hidden one.
      const int advance = is_fp8 ? 3 : 7;
      const auto found = measured(printed, advance);
      if (found.empty()) continue;
      const auto others = measured(printed, advance + 1);
      std::string text;
      for (const ReportProduct* x : found) {
        text += fmt::format("{}{:.3g}, largest elements {:.3g} ({})", text.empty() ? "" : "; ", x->from_native,
                            x->largest_from_native, place_of(*x));
      }
      if (!others.empty()) text += fmt::format("; with {} bits {:.2g}", advance + 1, others.front()->from_native);
      const double ratio = found.front()->from_native / printed.error;
      claims_.push_back(
          {"report, code as printed",
           fmt::format("{}, {} slices, d = {}, n = {}: {:.3g} from native FP64 follows, if a slice "
                       "advances {} bits",
                       printed.format, printed.slices, printed.diagonals, printed.n, printed.error, advance),
           reproduced_if(ratio <= kNear && ratio >= 1 / kNear), text});
    }
  }

  void judge_sums() {
    std::int64_t most_k = 0;
    std::int64_t changed = 0;
    for (const ReportProduct& x : products_) {
      if (!x.device.empty() || x.format == "fp16") continue;
      most_k = std::max(most_k, x.n);
      changed += x.changed;
    }
    if (most_k == 0) return;
    claims_.push_back({"report, code as printed",
                       "FP32 sums of BF16 and FP8 slices over all of k are exact, as equation 11 has it",
                       reproduced_if(changed == 0),
                       fmt::format("of normal operands, k up to {}: exact sums change {} elements", most_k, changed)});
    judge_full_fp16(most_k);
  }

  /// Counts of slices until nothing is left, which the smallest element decides: by chance one more or less.
  void judge_counts() {
    for (const char* format : {"fp16", "e4m3"}) {
      std::string printed;
      std::string counted;
      bool is_near = true;
      for (const PrintedProduct& row : kPrinted) {
        if (row.diagonals != 0 || std::string_view(row.format) != format) continue;
        const ReportProduct* const x = find(format, 0, 0, row.n, true);
        if (x == nullptr) continue;
        printed += fmt::format("{}{}", printed.empty() ? "" : ", ", row.slices);
        counted += fmt::format("{}{} x {}", counted.empty() ? "" : ", ", x->slices_a, x->slices_b);
        const auto [a, b] = counts_of(row);
        is_near = is_near && std::abs(a - x->slices_a) <= 1 && std::abs(b - x->slices_b) <= 1;
      }
      if (printed.empty()) continue;
      claims_.push_back(
          {"report, code as printed",
           fmt::format("{} needs {} slices of A and B until nothing is left, n = 1024, 2048, ...", format, printed),
           reproduced_if(is_near), counted});
    }
  }

 private:
  /// FP16 digits of all bits of the significand at the k of this machine, and over blocks at the largest n of a device.
  void judge_full_fp16(std::int64_t k) {
    std::string here;
    std::string there;
    std::int64_t most_n = 0;
    bool rounds = false;
    for (const ReportProduct& x : products_) {
      if (x.format != "fp16" || x.advance == 0) continue;
      const std::string what = fmt::format("{} bits, sums of {}", x.advance, x.sum_block == 0 ? "k" : "128");
      if (!x.device.empty()) {
        if (x.sum_block == 0 || x.n < most_n) continue;
        if (x.n > most_n) there.clear();
        most_n = x.n;
        there += fmt::format("{}{}: {:.2g} from native", there.empty() ? "; " + place_of(x) + ", advance " : ", ", what,
                             x.from_native);
      } else if (x.n == k) {
        // Digits that use all bits: each slice takes away what it can.
        rounds = rounds || (x.advance == x.digit_bits + 1 && x.sum_block != 0 && x.changed > 0);
        here += fmt::format("{}{}: {:.2g}, {:.2g} if exact", here.empty() ? place_of(x) + ", advance " : ", ", what,
                            x.frobenius, x.with_exact_sums);
      }
    }
    claims_.push_back({"report, code as printed", "products of FP16 slices of 11 bits round in FP32 sums of 128",
                       reproduced_if(rounds), here + there});
  }

  /// Null: not measured.
  [[nodiscard]] const ReportProduct* find(std::string_view format, int advance, int depth, std::int64_t n,
                                          bool on_device) const {
    const auto found = std::find_if(products_.rbegin(), products_.rend(), [&](const ReportProduct& x) {
      return x.format == format && x.advance == advance && x.depth == depth && x.n == n && x.sum_block == 0 &&
             x.device.empty() != on_device;
    });
    return found == products_.rend() ? nullptr : &*found;
  }
  /// On a device before on this machine.
  [[nodiscard]] std::vector<const ReportProduct*> measured(const PrintedProduct& printed, int advance) const {
    std::vector<const ReportProduct*> all;
    for (const bool on_device : {true, false}) {
      const ReportProduct* const x = find(printed.format, advance, printed.diagonals, printed.n, on_device);
      if (x != nullptr) all.push_back(x);
    }
    return all;
  }

  const std::vector<ReportProduct>& products_;
  std::vector<Claim>& claims_;
};

}  // namespace

std::vector<ReportProduct> measure_report(std::int64_t max_n) {
  std::vector<ReportProduct> measured;
  const std::int64_t most_k = std::min(kMostK, kKOfN * max_n);
  for (std::int64_t k = 1024; k <= most_k; k *= 2) {
    const Operands x(std::min(kMostRows, max_n), k);
    const int least_depth = k == kMostK ? 5 : 9;
    for (const int advance : {7, 8}) {
      for (int depth = 9; depth >= least_depth; --depth) measured.push_back(measure(x, {"bf16", 7, advance, depth}));
    }
    if (k <= 4096) {
      for (const int advance : {3, 4}) measured.push_back(measure(x, {"e4m3", 14, advance, 16}));
    }
    for (const int advance : {10, 12}) {
      for (const int sum_block : {128, 0}) measured.push_back(measure(x, {"fp16", 5, advance, 0, 11, sum_block}));
    }
  }
  return measured;
}

std::string read_report(std::istream& records, const std::string& name, std::vector<ReportProduct>& products) {
  std::string device;
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    try {
      const auto json = nlohmann::json::parse(text);
      const std::string from = fmt::format("driver {}, {}, commit {}", json.at("driver").get<std::string>(),
                                           json.at("date").get<std::string>(), json.at("commit").get<std::string>());
      if (device.find(from) == std::string::npos) device += (device.empty() ? "" : "; ") + from;
      products.push_back(parse_record(json));
    } catch (const nlohmann::json::exception& error) {
      throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, error.what()));
    }
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  return device;
}

void add_report(const std::vector<ReportProduct>& products, OzakiStudy& study) {
  StudyTable table{"report",
                   "The code of the report as it prints it, one scale a matrix: bits of a digit by its rho with k = n "
                   "(FP16: of the format); on a processor 32 rows and columns of C",
                   {"device", "n", "format", "digit_bits", "advance", "slices", "d", "products", "fp32_sum_of",
                    "frobenius_from_native", "largest_over_largest_from_native", "frobenius", "frobenius_if_sums_exact",
                    "elements_changed_by_exact_sums", "printed_slices", "printed_error"},
                   {}};
  for (const ReportProduct& x : products) {
    const auto error = [](double value) { return value < 0 ? "" : fmt::format("{:.3g}", value); };
    const PrintedProduct* const printed = printed_of(x.format, x.depth, x.n);
    const bool is_printed = printed != nullptr && x.sum_block == 0 && (x.depth > 0 || x.advance == 0);
    table.rows.push_back(
        {x.device.empty() ? "processor" : x.device, std::to_string(x.n), x.format, std::to_string(x.digit_bits),
         x.advance == 0 ? "found" : std::to_string(x.advance), fmt::format("{} x {}", x.slices_a, x.slices_b),
         x.depth == 0 ? "all" : std::to_string(x.depth), std::to_string(x.products),
         x.sum_block == 0 ? "k" : std::to_string(x.sum_block), error(x.from_native), error(x.largest_from_native),
         error(x.frobenius), error(x.with_exact_sums), x.changed < 0 ? "" : std::to_string(x.changed),
         is_printed ? printed->slices : "", is_printed ? error(printed->error) : ""});
  }
  study.tables.push_back(table);
  Judge judge(products, study.claims);
  judge.judge_errors();
  judge.judge_sums();
  judge.judge_counts();
}

}  // namespace kizami::study
