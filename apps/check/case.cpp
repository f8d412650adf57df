// SPDX-License-Identifier: MIT
// Each item of the grammar is one row of kItems: key, values for the help, default, parser, printer.
#include "check/case.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "check/text.hpp"

namespace kizami::check {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::int64_t kMaxPad = 1 << 20;
constexpr std::int64_t kMaxOffset = 63;
constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxModuli = 64;
constexpr std::int64_t kMaxSliceBits = 11;
constexpr std::int64_t kMaxPromotionK = 65536;
constexpr std::int64_t kMaxRungs = 64;
constexpr std::int64_t kMaxProducts = 64;

/// The enumerators 0, 1, 2, ... of E, which end where to_string() knows no name or repeats one.
template <class E>
std::vector<E> enumerators() {
  std::vector<E> out;
  for (int value = 0; value < 64; ++value) {
    const auto candidate = static_cast<E>(value);
    const std::string_view name = to_string(candidate);
    if (name == "unknown" || (!out.empty() && name == to_string(out.back()))) break;
    out.push_back(candidate);
  }
  return out;
}

template <class E>
std::string names_of() {
  std::string out;
  for (const E e : enumerators<E>()) out += fmt::format("{}{}", out.empty() ? "" : " | ", to_string(e));
  return out;
}

template <class E>
Status parse_enum(std::string_view text, E& out) {
  for (const E e : enumerators<E>()) {
    if (to_string(e) == text) return out = e, Status{};
  }
  return invalid(fmt::format("{} is not one of {}", quoted(text), names_of<E>()));
}

Status parse_int_into(std::string_view text, std::int64_t lo, std::int64_t hi, std::int64_t& out) {
  const Result<std::int64_t> value = parse_integer(text, lo, hi);
  if (value.ok()) out = value.value();
  return value.status();
}

Status parse_int_into(std::string_view text, std::int64_t lo, std::int64_t hi, int& out) {
  const Result<std::int64_t> value = parse_integer(text, lo, hi);
  if (value.ok()) out = static_cast<int>(value.value());
  return value.status();
}

/// alpha or beta: a real, or for complex types REAL+REALi, REAL-REALi or REALi.
Status parse_factor(std::string_view text, Scalar scalar, double& re, double& im) {
  const Result<ComplexText> value = parse_complex(text);
  KIZAMI_RETURN_IF_ERROR(value.status());
  if (value.value().has_imag && !is_complex(scalar))
    return invalid(fmt::format("{} is complex; allowed for {}: real numbers", quoted(text), to_string(scalar)));
  re = value.value().re;
  im = value.value().im;
  return {};
}

Status parse_spec_into(std::string_view text, MatrixSpec& out) {
  const Result<MatrixSpec> spec = parse_matrix_spec(text);
  if (spec.ok()) out = spec.value();
  return spec.status();
}

Status parse_words(std::string_view text, std::string_view if_true, std::string_view if_false, bool& out) {
  if (text != if_true && text != if_false)
    return invalid(fmt::format("{} is not one of {}, {}", quoted(text), if_false, if_true));
  out = text == if_true;
  return {};
}

std::string print_factor(const Case& c, double re, double im) {
  const auto part = [&](double x) {
    return significand_bits(c.scalar) == 24 ? print_real(static_cast<float>(x)) : print_real(x);
  };
  const bool is_real = im == 0 && !std::signbit(im);
  if (is_real) return part(re);
  const std::string imag = part(im);
  return part(re) + (imag.front() == '-' ? "" : "+") + imag + "i";
}

struct Item {
  std::string_view key;  ///< with its separator, "seed=" or "ld+"
  std::string values;    ///< for the help
  std::string_view help;
  bool always_printed;
  Status (*parse)(std::string_view, Case&);
  std::string (*print)(const Case&);
};

using V = std::string_view;
const Item kItems[] = {
    {"a=", "REAL (c, z: also REAL+REALi, REAL-REALi, REALi)",
     "alpha, each part also nan, inf, -inf; rounded to the scalar type", true,
     [](V v, Case& c) { return parse_factor(v, c.scalar, c.alpha, c.alpha_imag); },
     [](const Case& c) { return print_factor(c, c.alpha, c.alpha_imag); }},
    {"b=", "likewise", "beta; 0 does not read C", true,
     [](V v, Case& c) { return parse_factor(v, c.scalar, c.beta, c.beta_imag); },
     [](const Case& c) { return print_factor(c, c.beta, c.beta_imag); }},
    {"ld+", "0..1048576", "elements added to every leading dimension", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxPad, c.ld_pad); },
     [](const Case& c) { return fmt::format("{}", c.ld_pad); }},
    {"off+", "0..63", "elements by which every operand starts after a 64-byte boundary", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxOffset, c.offset); },
     [](const Case& c) { return fmt::format("{}", c.offset); }},
    {"layout=", names_of<Layout>(), "storage order of A, B and C", false,
     [](V v, Case& c) { return parse_enum(v, c.layout); },
     [](const Case& c) { return std::string(to_string(c.layout)); }},
    {"A=", "SPEC", "matrix class of op(A)", true, [](V v, Case& c) { return parse_spec_into(v, c.a); },
     [](const Case& c) { return print(c.a); }},
    {"B=", "SPEC", "matrix class of op(B)", true, [](V v, Case& c) { return parse_spec_into(v, c.b); },
     [](const Case& c) { return print(c.b); }},
    {"C=", "SPEC", "matrix class of C before the call", false, [](V v, Case& c) { return parse_spec_into(v, c.c); },
     [](const Case& c) { return print(c.c); }},
    {"acc=", "native | bits=1..52 (s, c: 1..23) | correct", "accuracy asked for", false,
     [](V v, Case& c) {
       const Result<Accuracy> accuracy = parse_accuracy(v);
       if (accuracy.ok()) c.policy.accuracy = accuracy.value();
       return accuracy.status();
     },
     [](const Case& c) { return print(c.policy.accuracy); }},
    {"gauge=", names_of<Gauge>(), "what errors are measured against", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.gauge); },
     [](const Case& c) { return std::string(to_string(c.policy.gauge)); }},
    {"scheme=", names_of<Scheme>(), "scheme", false, [](V v, Case& c) { return parse_enum(v, c.policy.scheme); },
     [](const Case& c) { return std::string(to_string(c.policy.scheme)); }},
    {"engine=", names_of<EngineName>(), "engine", false, [](V v, Case& c) { return parse_enum(v, c.policy.engine); },
     [](const Case& c) { return std::string(to_string(c.policy.engine)); }},
    {"variant=", names_of<EcVariant>(), "variant of scheme ec", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.ec.variant); },
     [](const Case& c) { return std::string(to_string(c.policy.ec.variant)); }},
    {"promote=", "0..65536, multiples of 16", "scheme ec: promotion interval along k; 0 leaves it to the variant",
     false, [](V v, Case& c) { return parse_int_into(v, 0, kMaxPromotionK, c.policy.ec.promotion_k); },
     [](const Case& c) { return fmt::format("{}", c.policy.ec.promotion_k); }},
    {"slices=", "-1..20",
     "scheme ozaki1: exactly this many slices; -1: until nothing is left; 0 leaves it to the planner", false,
     [](V v, Case& c) { return parse_int_into(v, kUntilZero, kMaxSlices, c.policy.slices.num_slices); },
     [](const Case& c) { return fmt::format("{}", c.policy.slices.num_slices); }},
    {"diagonals=", "-1..39", "scheme ozaki1: products of slices i + j below this; -1: all; 0 leaves it to the planner",
     false,
     [](V v, Case& c) { return parse_int_into(v, kAllPairs, 2 * kMaxSlices - 1, c.policy.slices.num_diagonals); },
     [](const Case& c) { return fmt::format("{}", c.policy.slices.num_diagonals); }},
    {"bits=", "0..11", "scheme ozaki1: bits of a digit beside its sign; 0 leaves them to format and split", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxSliceBits, c.policy.slices.slice_bits); },
     [](const Case& c) { return fmt::format("{}", c.policy.slices.slice_bits); }},
    {"format=", names_of<SliceFormat>(), "scheme ozaki1: format of slices", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.slices.format); },
     [](const Case& c) { return std::string(to_string(c.policy.slices.format)); }},
    {"split=", names_of<SliceSplit>(), "scheme ozaki1: how a number becomes digits", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.slices.split); },
     [](const Case& c) { return std::string(to_string(c.policy.slices.split)); }},
    {"sums=", names_of<SliceSums>(), "scheme ozaki1: how products share accumulators", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.slices.sums); },
     [](const Case& c) { return std::string(to_string(c.policy.slices.sums)); }},
    {"form=", names_of<ComplexForm>(), "scheme ozaki1: how a complex product becomes real ones", false,
     [](V v, Case& c) { return parse_enum(v, c.policy.slices.complex_form); },
     [](const Case& c) { return std::string(to_string(c.policy.slices.complex_form)); }},
    {"scale=", "line | matrix", "scheme ozaki1: one power of two for each line or for a matrix", false,
     [](V v, Case& c) { return parse_words(v, "matrix", "line", c.policy.slices.one_scale); },
     [](const Case& c) { return std::string(c.policy.slices.one_scale ? "matrix" : "line"); }},
    {"moduli=", "0..64", "number of moduli whatever the accuracy; 0 leaves it to the planner", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxModuli, c.policy.forced_moduli); },
     [](const Case& c) { return fmt::format("{}", c.policy.forced_moduli); }},
    {"repro=", "any | engine", "bits: may depend on the platform BLAS, or are equal on every engine", false,
     [](V v, Case& c) {
       bool is_engine = false;
       Status status = parse_words(v, "engine", "any", is_engine);
       if (status.ok())
         c.policy.reproducibility = is_engine ? Reproducibility::kEngineToEngine : Reproducibility::kNotGuaranteed;
       return status;
     },
     [](const Case& c) {
       return std::string(c.policy.reproducibility == Reproducibility::kEngineToEngine ? "engine" : "any");
     }},
    {"fp64=", "allow | refuse", "FP64 arithmetic where moduli cannot certify the accuracy", false,
     [](V v, Case& c) { return parse_words(v, "allow", "refuse", c.policy.allow_fp64_arithmetic); },
     [](const Case& c) { return std::string(c.policy.allow_fp64_arithmetic ? "allow" : "refuse"); }},
    {"nonfinite=", "multiply | reject", "NaN and Inf in operands", false,
     [](V v, Case& c) { return parse_words(v, "reject", "multiply", c.policy.reject_nonfinite); },
     [](const Case& c) { return std::string(c.policy.reject_nonfinite ? "reject" : "multiply"); }},
    {"rungs=", "0..64", "rungs of the ladder that may be used; 0: all", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxRungs, c.policy.max_rungs); },
     [](const Case& c) { return fmt::format("{}", c.policy.max_rungs); }},
    {"sync=", "never | allowed", "on a device: whether the call may wait for what the elements say", false,
     [](V v, Case& c) { return parse_words(v, "allowed", "never", c.policy.may_sync); },
     [](const Case& c) { return std::string(c.policy.may_sync ? "allowed" : "never"); }},
    {"factors=", "host | device", "on a device: the memory that alpha and beta are in", false,
     [](V v, Case& c) { return parse_words(v, "device", "host", c.has_device_factors); },
     [](const Case& c) { return std::string(c.has_device_factors ? "device" : "host"); }},
    {"batch=", "1..64", "products, the i-th of the matrices of seed + i; one after another but on a device", false,
     [](V v, Case& c) { return parse_int_into(v, 1, kMaxProducts, c.num_products); },
     [](const Case& c) { return fmt::format("{}", c.num_products); }},
    {"by=", names_of<BatchForm>(), "on a device: how a batch finds its matrices", false,
     [](V v, Case& c) { return parse_enum(v, c.batch_form); },
     [](const Case& c) { return std::string(to_string(c.batch_form)); }},
    {"threads=", "0..4096", "CPU threads; 0 means all", false,
     [](V v, Case& c) { return parse_int_into(v, 0, kMaxThreads, c.policy.threads); },
     [](const Case& c) { return fmt::format("{}", c.policy.threads); }},
    {"ws=", "BYTES[K|M|G]", "limit of the workspace; 0 means the library's default", false,
     [](V v, Case& c) {
       const Result<std::uint64_t> bytes = parse_bytes(v);
       if (bytes.ok()) c.policy.workspace_limit_bytes = bytes.value();
       return bytes.status();
     },
     [](const Case& c) { return print_bytes(c.policy.workspace_limit_bytes); }},
    {"seed=", "0..18446744073709551615", "of all matrices", true,
     [](V v, Case& c) {
       const Result<std::uint64_t> seed = parse_unsigned(v);
       if (seed.ok()) c.seed = seed.value();
       return seed.status();
     },
     [](const Case& c) { return fmt::format("{}", c.seed); }},
};
constexpr std::size_t kNumItems = std::size(kItems);

std::vector<std::string_view> split_at_blanks(std::string_view line) {
  std::vector<std::string_view> tokens;
  constexpr std::string_view kBlanks = " \t\r\n";
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return tokens;
    line.remove_prefix(begin);
    const std::size_t length = std::min(line.find_first_of(kBlanks), line.size());
    tokens.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

Status at_token(std::string_view token, const Status& status) {
  return invalid(fmt::format("token {}: {}", quoted(token), status.reason()));
}

Status parse_shape(std::string_view token, Case& c) {
  std::int64_t* const dims[] = {&c.m, &c.n, &c.k};
  std::string_view rest = token;
  for (int d = 0; d < 3; ++d) {
    const std::size_t end = d < 2 ? rest.find('x') : rest.size();
    if (end == std::string_view::npos) return invalid("is not a shape; allowed: MxNxK");
    const Status status = parse_int_into(rest.substr(0, end), 0, kMaxDim, *dims[d]);
    if (!status.ok()) return invalid(fmt::format("{} {}", d == 0 ? "m" : d == 1 ? "n" : "k", status.reason()));
    if (d < 2) rest.remove_prefix(end + 1);
  }
  return {};
}

template <class E>
bool find_letter(char letter, std::initializer_list<std::pair<char, E>> letters, E& out) {
  for (const auto& [name, value] : letters) {
    if (name == letter) return out = value, true;
  }
  return false;
}

bool parse_op(char letter, Op& out) {
  return find_letter(letter,
                     {{'n', Op::kNone}, {'t', Op::kTranspose}, {'c', Op::kConjTranspose}, {'r', Op::kConjugate}}, out);
}

Status parse_head(const std::vector<std::string_view>& tokens, Case& c) {
  constexpr std::string_view kScalars = "s, d, c, z";
  constexpr std::string_view kOps = "n, t, c, r for A and for B, as in nt";
  if (tokens.size() < 3)
    return invalid(fmt::format("a case starts with a scalar ({}), ops ({}) and a shape (MxNxK)", kScalars, kOps));
  const bool is_scalar =
      tokens[0].size() == 1 &&
      find_letter(tokens[0][0], {{'s', Scalar::kF32}, {'d', Scalar::kF64}, {'c', Scalar::kC64}, {'z', Scalar::kC128}},
                  c.scalar);
  if (!is_scalar) return at_token(tokens[0], invalid(fmt::format("is not a scalar; allowed: {}", kScalars)));
  if (tokens[1].size() != 2 || !parse_op(tokens[1][0], c.op_a) || !parse_op(tokens[1][1], c.op_b))
    return at_token(tokens[1], invalid(fmt::format("is no pair of ops; allowed: {}", kOps)));
  const Status shape = parse_shape(tokens[2], c);
  return shape.ok() ? shape : at_token(tokens[2], shape);
}

Status parse_item(std::string_view token, std::array<bool, kNumItems>& seen, Case& c) {
  for (std::size_t i = 0; i < kNumItems; ++i) {
    if (!token.starts_with(kItems[i].key)) continue;
    if (seen[i]) return at_token(token, invalid(fmt::format("{} is given twice", kItems[i].key)));
    seen[i] = true;
    const Status status = kItems[i].parse(token.substr(kItems[i].key.size()), c);
    return status.ok() ? status : at_token(token, status);
  }
  std::string keys;
  for (const Item& item : kItems) keys += fmt::format("{}{}", keys.empty() ? "" : ", ", item.key);
  return at_token(token, invalid("is not known; allowed: " + keys));
}

/// Rounds alpha and beta to the type of the parts.
Status round_factors(Case& c) {
  if (significand_bits(c.scalar) == 53) return {};
  for (double* const part : {&c.alpha, &c.alpha_imag, &c.beta, &c.beta_imag}) {
    const auto rounded = static_cast<float>(*part);
    if (std::isfinite(*part) && !std::isfinite(rounded)) {
      const bool is_alpha = part == &c.alpha || part == &c.alpha_imag;
      return invalid(fmt::format("token '{}={}': is not finite in {}; allowed: magnitudes up to {}",
                                 is_alpha ? "a" : "b", print_real(*part), to_string(real_of(c.scalar)),
                                 print_real(std::numeric_limits<float>::max())));
    }
    *part = rounded;
  }
  return {};
}

/// What holds between tokens.
Status validate_case(Case& c) {
  KIZAMI_RETURN_IF_ERROR(round_factors(c));
  const Accuracy& accuracy = c.policy.accuracy;
  const int max_bits = significand_bits(c.scalar) - 1;
  if (accuracy.kind == Accuracy::Kind::kBits && accuracy.bits > max_bits) {
    return invalid(fmt::format("token 'acc={}': too many bits for {}; allowed: 1..{}", print(accuracy),
                               to_string(c.scalar), max_bits));
  }
  for (const Which which : {Which::kA, Which::kB, Which::kC}) {
    const Shape shape = shape_of(c, which);
    const Status status = validate(spec_of(c, which), c.scalar, shape.rows, shape.cols);
    if (!status.ok()) return at_token(fmt::format("{}={}", to_string(which), print(spec_of(c, which))), status);
  }
  return {};
}

bool same_bits(double x, double y) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
}

}  // namespace

bool operator==(const Case& x, const Case& y) {
  return x.scalar == y.scalar && x.op_a == y.op_a && x.op_b == y.op_b && x.m == y.m && x.n == y.n && x.k == y.k &&
         same_bits(x.alpha, y.alpha) && same_bits(x.beta, y.beta) && same_bits(x.alpha_imag, y.alpha_imag) &&
         same_bits(x.beta_imag, y.beta_imag) && x.ld_pad == y.ld_pad && x.offset == y.offset && x.layout == y.layout &&
         x.a == y.a && x.b == y.b && x.c == y.c && x.policy == y.policy && x.num_products == y.num_products &&
         x.batch_form == y.batch_form && x.has_device_factors == y.has_device_factors && x.seed == y.seed;
}

Result<Accuracy> parse_accuracy(std::string_view text, int max_bits) {
  if (text == "native") return Accuracy::native();
  if (text == "correct") return Accuracy::correct();
  constexpr std::string_view kBits = "bits=";
  if (!text.starts_with(kBits))
    return invalid(fmt::format("{} is not an accuracy; allowed: native, bits=N, correct", quoted(text)));
  const Result<std::int64_t> bits = parse_integer(text.substr(kBits.size()), 1, max_bits);
  if (!bits.ok()) return invalid("bits " + bits.status().reason());
  return Accuracy::at_bits(static_cast<int>(bits.value()));
}

std::string print(const Accuracy& accuracy) {
  switch (accuracy.kind) {
    case Accuracy::Kind::kNative:
      return "native";
    case Accuracy::Kind::kBits:
      return fmt::format("bits={}", accuracy.bits);
    case Accuracy::Kind::kCorrect:
      return "correct";
  }
  return "unknown";
}

Result<Case> parse_case(std::string_view line) {
  if (line.size() > kMaxLine)
    return invalid(fmt::format("a case of {} bytes; allowed: up to {}", line.size(), kMaxLine));
  const std::vector<std::string_view> tokens = split_at_blanks(line);
  Case c;
  KIZAMI_RETURN_IF_ERROR(parse_head(tokens, c));
  std::array<bool, kNumItems> seen{};
  for (std::size_t t = 3; t < tokens.size(); ++t) KIZAMI_RETURN_IF_ERROR(parse_item(tokens[t], seen, c));
  KIZAMI_RETURN_IF_ERROR(validate_case(c));
  return c;
}

std::string print(const Case& c) {
  const Case defaults;
  std::string out =
      fmt::format("{} {}{} {}x{}x{}", letter_of(c.scalar), to_string(c.op_a), to_string(c.op_b), c.m, c.n, c.k);
  for (const Item& item : kItems) {
    const std::string value = item.print(c);
    if (item.always_printed || value != item.print(defaults)) out += fmt::format(" {}{}", item.key, value);
  }
  return out;
}

std::string case_help() {
  const Case defaults;
  std::string out = fmt::format(
      "case := scalar ops shape {{item}}\n"
      "  scalar       s (FP32), d (FP64), c (complex FP32) or z (complex FP64)\n"
      "  ops          a letter each for A and B: n (as it is), t (transposed), c (conjugated and transposed), r\n"
      "               (conjugated); for s and d, c is t and r is n\n"
      "  shape        MxNxK, each 0..{}\n"
      "items, in any order, each at most once:\n",
      kMaxDim);
  for (const Item& item : kItems) {
    out += fmt::format("  {:<12} {} [{}{}]\n  {:<12}   {}\n", item.key, item.values, item.key, item.print(defaults), "",
                       item.help);
  }
  out +=
      "SPEC := class[:param,...][,x2^S][,kind@place]...   S = -1000..1000; kind: nan, inf, -inf;\n"
      "        place: corner, edge, middle, last, all, row:column\n"
      "        c, z: both parts are of the class; [,re] leaves the real part alone, [,im] the imaginary one, [,im2^S]\n"
      "        scales it; kinds nani, infi, -infi are placed in it\n"
      "matrix classes:\n";
  return out + class_help();
}

}  // namespace kizami::check
