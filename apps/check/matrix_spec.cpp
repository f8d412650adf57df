// SPDX-License-Identifier: MIT
#include "check/matrix_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "check/text.hpp"
#include "kizami/nearest.hpp"

namespace kizami::check {
namespace {

using C = MatrixClass;

constexpr int kMaxScaleExp = 1000;
constexpr std::size_t kMaxPlacements = 64;

struct PlaceName {
  Placement::Place place;
  std::string_view name;
};
constexpr PlaceName kPlaces[] = {{Placement::Place::kCorner, "corner"},
                                 {Placement::Place::kEdge, "edge"},
                                 {Placement::Place::kMiddle, "middle"},
                                 {Placement::Place::kLast, "last"},
                                 {Placement::Place::kAll, "all"}};
struct KindName {
  Placement::Kind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {
    {Placement::Kind::kNaN, "nan"}, {Placement::Kind::kPosInf, "inf"}, {Placement::Kind::kNegInf, "-inf"}};

std::optional<MatrixClass> find_class(std::string_view name) {
  for (const ClassInfo& info : class_inventory()) {
    if (info.name == name) return info.id;
  }
  return std::nullopt;
}

std::string names_of_classes() {
  std::string out;
  for (const ClassInfo& info : class_inventory()) out += fmt::format("{}{}", out.empty() ? "" : ", ", info.name);
  return out;
}

std::string describe(const ParamInfo& p) {
  return fmt::format("{} = {}..{} (default {})", p.name, print_real(p.lo), print_real(p.hi),
                     print_real(p.default_value));
}

std::string describe_params(const ClassInfo& info) {
  if (info.num_params == 0) return "no parameters";
  std::string out = describe(info.params[0]);
  if (info.num_params == 2) out += ", " + describe(info.params[1]);
  return out;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

constexpr std::string_view kScalePrefix = "x2^";
constexpr std::string_view kImagScalePrefix = "im2^";

bool is_suffix(std::string_view part) {
  return part.starts_with(kScalePrefix) || part.starts_with(kImagScalePrefix) || part == "re" || part == "im" ||
         part.find('@') != std::string_view::npos;
}

Result<Placement> parse_placement(std::string_view part) {
  const std::size_t at = part.find('@');
  std::string_view kind = part.substr(0, at);
  const std::string_view place = part.substr(at + 1);
  Placement out;
  if (kind.ends_with('i')) {
    out.part = Part::kImaginary;
    kind.remove_suffix(1);
  }
  bool known = false;
  for (const KindName& k : kKinds) {
    if (k.name == kind) out.kind = k.kind, known = true;
  }
  if (!known) {
    return invalid(fmt::format("{} places {}; allowed: nan, inf, -inf, nani, infi, -infi", in_quotes(part),
                               in_quotes(part.substr(0, at))));
  }
  for (const PlaceName& p : kPlaces) {
    if (p.name == place) return out.place = p.place, out;
  }
  const std::size_t colon = place.find(':');
  if (colon == std::string_view::npos) {
    return invalid(fmt::format("{} names the place {}; allowed: corner, edge, middle, last, all, row:column",
                               in_quotes(part), in_quotes(place)));
  }
  const Result<std::int64_t> row = parse_integer(place.substr(0, colon), 0, kMaxDim - 1);
  const Result<std::int64_t> col = parse_integer(place.substr(colon + 1), 0, kMaxDim - 1);
  for (const Result<std::int64_t>* index : {&row, &col}) {
    if (!index->ok()) return invalid(fmt::format("{}: {}", in_quotes(part), index->status().reason()));
  }
  out.place = Placement::Place::kAt;
  out.row = row.value();
  out.col = col.value();
  return out;
}

/// Which suffixes that may be given once were.
struct SuffixesSeen {
  bool scale = false;
  bool imag_scale = false;
  bool parts = false;
};

Status parse_exponent(std::string_view part, std::string_view prefix, bool& is_seen, int& out) {
  if (is_seen) return invalid(fmt::format("{} is a second scaling; allowed: one", in_quotes(part)));
  is_seen = true;
  const Result<std::int64_t> exponent = parse_integer(part.substr(prefix.size()), -kMaxScaleExp, kMaxScaleExp);
  if (!exponent.ok()) return invalid(fmt::format("{}: {}", in_quotes(part), exponent.status().reason()));
  out = static_cast<int>(exponent.value());
  return {};
}

Status parse_suffix(std::string_view part, SuffixesSeen& seen, MatrixSpec& spec) {
  if (part.starts_with(kScalePrefix)) return parse_exponent(part, kScalePrefix, seen.scale, spec.scale_exp);
  if (part.starts_with(kImagScalePrefix)) return parse_exponent(part, kImagScalePrefix, seen.imag_scale, spec.imag_exp);
  if (part == "re" || part == "im") {
    if (seen.parts) return invalid(fmt::format("{} is a second choice of parts; allowed: one", in_quotes(part)));
    seen.parts = true;
    spec.parts = part == "re" ? FilledParts::kReal : FilledParts::kImaginary;
    return {};
  }
  const Result<Placement> placement = parse_placement(part);
  KIZAMI_RETURN_IF_ERROR(placement.status());
  if (spec.placements.size() == kMaxPlacements) return invalid(fmt::format("more than {} placements", kMaxPlacements));
  spec.placements.push_back(placement.value());
  return {};
}

/// Reads one parameter; `bare_index` counts those already read of a class that takes bare values.
Status parse_param(std::string_view part, const ClassInfo& info, int bare_index, std::array<bool, 2>& seen,
                   MatrixSpec& spec) {
  int index = -1;
  std::string_view value = part;
  if (info.bare_params) {
    index = bare_index < info.num_params ? bare_index : -1;
  } else if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
    value = part.substr(equals + 1);
    for (int p = 0; p < info.num_params; ++p) {
      if (info.params[static_cast<std::size_t>(p)].name == part.substr(0, equals)) index = p;
    }
  }
  if (index < 0)
    return invalid(
        fmt::format("class {} cannot take {}; allowed: {}", info.name, in_quotes(part), describe_params(info)));
  const auto slot = static_cast<std::size_t>(index);
  const ParamInfo& p = info.params[slot];
  if (seen[slot]) return invalid(fmt::format("class {} is given {} twice", info.name, p.name));
  seen[slot] = true;
  if (p.integral) {
    const Result<std::int64_t> integer_value =
        parse_integer(value, static_cast<std::int64_t>(p.lo), static_cast<std::int64_t>(p.hi));
    if (!integer_value.ok())
      return invalid(fmt::format("{} of class {}: {}", p.name, info.name, integer_value.status().reason()));
    spec.params[slot] = static_cast<double>(integer_value.value());
    return {};
  }
  const Result<double> real_value = parse_real(value);
  if (!real_value.ok())
    return invalid(fmt::format("{} of class {}: {}", p.name, info.name, real_value.status().reason()));
  if (!(real_value.value() >= p.lo && real_value.value() <= p.hi)) {
    return invalid(fmt::format("{} of class {}: {} is out of range; allowed: {}", p.name, info.name, in_quotes(value),
                               describe(p)));
  }
  spec.params[slot] = real_value.value();
  return {};
}

Status check_params(const ClassInfo& info, const MatrixSpec& spec) {
  const bool ordered = spec.params[0] < spec.params[1];
  if ((info.id == C::kUniform || info.id == C::kExpRand) && !ordered) {
    return invalid(fmt::format("class {}: {} = {} must be less than {} = {}", info.name, info.params[0].name,
                               print_real(spec.params[0]), info.params[1].name, print_real(spec.params[1])));
  }
  return {};
}

}  // namespace

MatrixSpec default_spec(MatrixClass id) noexcept {
  const ClassInfo& info = class_info(id);
  MatrixSpec spec;
  spec.cls = id;
  for (std::size_t p = 0; p < static_cast<std::size_t>(info.num_params); ++p)
    spec.params[p] = info.params[p].default_value;
  return spec;
}

Result<MatrixSpec> parse_matrix_spec(std::string_view text) {
  std::vector<std::string_view> parts = split_at_commas(text);
  // The first part is class, class:variant, class:param or class:variant:... ; a variant is part of the name of the
  // class.
  const std::size_t colon = is_suffix(parts[0]) ? std::string_view::npos : parts[0].find(':');
  std::optional<MatrixClass> cls = find_class(parts[0]);
  std::size_t next = 1;
  if (!cls && colon != std::string_view::npos) {
    cls = find_class(parts[0].substr(0, colon));
    parts[0].remove_prefix(colon + 1);
    next = 0;
  }
  if (!cls) {
    const std::string_view named = split_at_commas(text)[0];
    return invalid(fmt::format("{} is not a matrix class; allowed: {}{}", in_quotes(named), names_of_classes(),
                               did_you_mean(named.substr(0, colon), names_of_classes())));
  }
  const ClassInfo& info = class_info(*cls);
  MatrixSpec spec = default_spec(*cls);
  std::array<bool, 2> seen{};
  int num_bare = 0;
  SuffixesSeen suffixes;
  bool in_suffixes = false;
  const bool params_allowed = next == 0 || info.name.find(':') != std::string_view::npos;
  for (; next < parts.size(); ++next) {
    if (is_suffix(parts[next])) {
      in_suffixes = true;
      KIZAMI_RETURN_IF_ERROR(parse_suffix(parts[next], suffixes, spec));
    } else if (in_suffixes) {
      return invalid(
          fmt::format("{} follows a suffix; allowed there: x2^S, re, im, im2^S, kind@place", in_quotes(parts[next])));
    } else if (!params_allowed) {
      return invalid(
          fmt::format("{} follows {} without a colon; allowed: {}:...", in_quotes(parts[next]), info.name, info.name));
    } else {
      KIZAMI_RETURN_IF_ERROR(parse_param(parts[next], info, num_bare++, seen, spec));
    }
  }
  if (info.bare_params && num_bare != 0 && num_bare != info.num_params) {
    return invalid(
        fmt::format("class {} is given {} value; allowed: {} or none", info.name, num_bare, info.num_params));
  }
  KIZAMI_RETURN_IF_ERROR(check_params(info, spec));
  return spec;
}

std::string print(const MatrixSpec& spec) {
  const ClassInfo& info = class_info(spec.cls);
  std::string out(info.name);
  for (std::size_t p = 0; p < static_cast<std::size_t>(info.num_params); ++p) {
    const bool after_variant = info.name.find(':') != std::string_view::npos;
    out += p == 0 && !after_variant ? ':' : ',';
    if (!info.bare_params) out += fmt::format("{}=", info.params[p].name);
    out += print_real(spec.params[p]);
  }
  if (spec.scale_exp != 0) out += fmt::format(",x2^{}", spec.scale_exp);
  if (spec.parts != FilledParts::kBoth) out += spec.parts == FilledParts::kReal ? ",re" : ",im";
  if (spec.imag_exp != 0) out += fmt::format(",im2^{}", spec.imag_exp);
  for (const Placement& placement : spec.placements) {
    out += fmt::format(",{}{}@", kKinds[static_cast<std::size_t>(placement.kind)].name,
                       placement.part == Part::kImaginary ? "i" : "");
    if (placement.place == Placement::Place::kAt) {
      out += fmt::format("{}:{}", placement.row, placement.col);
    } else {
      out += kPlaces[static_cast<std::size_t>(placement.place)].name;
    }
  }
  return out;
}

Status validate(const MatrixSpec& spec, Scalar scalar, std::int64_t rows, std::int64_t cols) {
  const int bits = significand_bits(scalar);
  const int limit = spec.cls == C::kInt ? bits : spec.cls == C::kHalfulp ? bits - 1 : 0;
  if (limit != 0 && spec.params[0] > limit) {
    return invalid(fmt::format("class {}: {} = {} does not fit {}, must be <= {}", class_info(spec.cls).name,
                               class_info(spec.cls).params[0].name, print_real(spec.params[0]), to_string(scalar),
                               limit));
  }
  const bool has_imag_placement = std::any_of(spec.placements.begin(), spec.placements.end(),
                                              [](const Placement& p) { return p.part == Part::kImaginary; });
  if (!is_complex(scalar) && (spec.parts != FilledParts::kBoth || spec.imag_exp != 0 || has_imag_placement)) {
    return invalid(fmt::format("{} has no imaginary part; re, im, im2^S, nani, infi and -infi are for c and z",
                               to_string(scalar)));
  }
  for (const Placement& p : spec.placements) {
    if (p.place == Placement::Place::kAt && (p.row >= rows || p.col >= cols)) {
      return invalid(
          fmt::format("{}:{} is no element of a matrix of {} rows and {} columns", p.row, p.col, rows, cols));
    }
  }
  return {};
}

std::string class_help() {
  std::string out;
  for (const ClassInfo& info : class_inventory()) {
    out += fmt::format("  {:<12} {}\n", info.name, info.help);
    if (info.num_params > 0) out += fmt::format("  {:<12}   {}\n", "", describe_params(info));
  }
  return out;
}

}  // namespace kizami::check
