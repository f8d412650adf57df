// SPDX-License-Identifier: MIT
// Each item of the grammar is a row of kItems (key, values for the help, parser, printer) or a wish of the library's
// table.
#include "check/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "check/text.hpp"
#include "kizami/nearest.hpp"
#include "kizami/wishes.hpp"

namespace kizami::check {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::int64_t kMaxPad = 1 << 20;
constexpr std::int64_t kMaxOffset = 63;
constexpr std::int64_t kMaxProducts = 64;

template <NamedEnum E>
std::string names_of() {
  std::string out;
  for (const std::string_view name : Names<E>::kAll) out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  return out;
}

template <NamedEnum E>
Status parse_enum(std::string_view text, E& out) {
  const std::optional<E> value = named<E>(text);
  if (value) return out = *value, Status{};
  return invalid(fmt::format("must be one of {}", names_of<E>()));
}

Status parse_int_into(std::string_view text, std::int64_t lo, std::int64_t hi, std::int64_t& out) {
  const Result<std::int64_t> value = parse_integer(text, lo, hi);
  if (value.ok()) out = value.value();
  return value.status();
}

/// alpha or beta: a real, or for complex types REAL+REALi, REAL-REALi or REALi.
Status parse_factor(std::string_view text, Scalar scalar, double& re, double& im) {
  const Result<ComplexText> value = parse_complex(text);
  KIZAMI_RETURN_IF_ERROR(value.status());
  if (value.value().has_imag && !is_complex(scalar))
    return invalid(fmt::format("{} is complex; allowed for {}: real numbers", in_quotes(text), to_string(scalar)));
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
  if (text != if_true && text != if_false) return invalid(fmt::format("must be one of {}, {}", if_false, if_true));
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
    {"factors=", "host | device", "on a device: the memory that alpha and beta are in", false,
     [](V v, Case& c) { return parse_words(v, "device", "host", c.has_device_factors); },
     [](const Case& c) { return std::string(c.has_device_factors ? "device" : "host"); }},
    {"batch=", "1..64", "products, the i-th of the matrices of seed + i; one after another but on a device", false,
     [](V v, Case& c) { return parse_int_into(v, 1, kMaxProducts, c.num_products); },
     [](const Case& c) { return fmt::format("{}", c.num_products); }},
    {"by=", names_of<BatchForm>(), "on a device: how a batch finds its matrices", false,
     [](V v, Case& c) { return parse_enum(v, c.batch_form); },
     [](const Case& c) { return std::string(to_string(c.batch_form)); }},
    {"seed=", "0..18446744073709551615", "of all matrices", true,
     [](V v, Case& c) {
       const Result<std::uint64_t> seed = parse_unsigned(v);
       if (seed.ok()) c.seed = seed.value();
       return seed.status();
     },
     [](const Case& c) { return fmt::format("{}", c.seed); }},
};
constexpr std::string_view kFirstAfterWishes = "factors=";  ///< of kItems, as they are printed

/// What lines were written with before wishes had one word everywhere.
struct OldWord {
  std::string_view old;
  std::string_view key;
};
constexpr OldWord kOldWords[] = {
    {"acc", "accuracy"},      {"repro", "reproducibility"}, {"ws", "workspace"},      {"promote", "promotion_k"},
    {"bits", "slice_bits"},   {"format", "slice_format"},   {"split", "slice_split"}, {"sums", "slice_sums"},
    {"scale", "slice_scale"}, {"form", "complex_form"},
};

std::string_view current_word(std::string_view key) {
  const auto* const found = std::ranges::find(kOldWords, key, &OldWord::old);
  return found == std::end(kOldWords) ? key : found->key;
}

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
  return invalid(fmt::format("token {}: {}", in_quotes(token), status.reason()));
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

/// Which items and wishes a line has had, by their words.
using Seen = std::set<std::string_view>;

Status parse_wish(const Wish& wish, std::string_view token, std::string_view value, Case& c) {
  if (wish.key == "reproducibility" && value == "any") value = "none";  // an old word, too
  if (wish.set(c.policy, value)) return {};
  return at_token(token, invalid("must be " + allowed_values(wish) +
                                 (wish.kind == Wish::Kind::kWord ? did_you_mean(value, wish.values()) : "")));
}

Status parse_item(std::string_view token, Seen& seen, Case& c) {
  const auto* const item = std::ranges::find_if(kItems, [&](const Item& x) { return token.starts_with(x.key); });
  const std::size_t equals = std::min(token.find('='), token.size());
  const Wish* const wish =
      equals < token.size() && item == std::end(kItems) ? find_wish(current_word(token.substr(0, equals))) : nullptr;
  if (item == std::end(kItems) && wish == nullptr) {
    std::string keys;
    for (const Item& known : kItems) keys += fmt::format("{}{}", keys.empty() ? "" : ", ", known.key);
    for (const Wish& known : wishes()) keys += fmt::format(", {}=", known.key);
    return at_token(token, invalid("is not known; allowed: " + keys +
                                   did_you_mean(std::string(token.substr(0, equals)) + "=", keys)));
  }
  const std::string_view key = wish != nullptr ? wish->key : item->key;
  if (!seen.insert(key).second)
    return at_token(token, invalid(fmt::format("{}{} is given twice", key, wish != nullptr ? "=" : "")));
  if (wish != nullptr) return parse_wish(*wish, token, token.substr(equals + 1), c);
  const Status status = item->parse(token.substr(item->key.size()), c);
  return status.ok() ? status : at_token(token, status);
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
    return invalid(fmt::format("token 'accuracy={}': too many bits for {}; allowed: 1..{}", to_string(accuracy),
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

Result<Case> parse_case(std::string_view line) {
  if (line.size() > kMaxLine)
    return invalid(fmt::format("a case of {} bytes; allowed: up to {}", line.size(), kMaxLine));
  const std::vector<std::string_view> tokens = split_at_blanks(line);
  Case c;
  KIZAMI_RETURN_IF_ERROR(parse_head(tokens, c));
  Seen seen;
  for (std::size_t t = 3; t < tokens.size(); ++t) KIZAMI_RETURN_IF_ERROR(parse_item(tokens[t], seen, c));
  KIZAMI_RETURN_IF_ERROR(validate_case(c));
  return c;
}

std::string print(const Case& c) {
  const Case defaults;
  std::string out =
      fmt::format("{} {}{} {}x{}x{}", letter_of(c.scalar), to_string(c.op_a), to_string(c.op_b), c.m, c.n, c.k);
  for (const Item& item : kItems) {
    if (item.key == kFirstAfterWishes) {
      const std::string asked = print_wishes(c.policy);
      out += (asked.empty() ? "" : " ") + asked;
    }
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
  const auto add = [&](std::string_view key, std::string_view values, std::string_view value, std::string_view help) {
    out += fmt::format("  {:<12} {} [{}{}]\n  {:<12}   {}\n", key, values, key, value, "", help);
  };
  for (const Item& item : kItems) add(item.key, item.values, item.print(defaults), item.help);
  for (const Wish& wish : wishes())
    add(std::string(wish.key) + "=", wish.values(), wish.get(defaults.policy), wish.meaning);
  out += "older words are understood, too:";
  for (const OldWord& word : kOldWords) out += fmt::format(" {}= for {}=;", word.old, word.key);
  out += " reproducibility=any for none\n";
  out +=
      "SPEC := class[:param,...][,x2^S][,kind@place]...   S = -1000..1000; kind: nan, inf, -inf;\n"
      "        place: corner, edge, middle, last, all, row:column\n"
      "        c, z: both parts are of the class; [,re] leaves the real part alone, [,im] the imaginary one, [,im2^S]\n"
      "        scales it; kinds nani, infi, -infi are placed in it\n"
      "matrix classes:\n";
  return out + class_help();
}

}  // namespace kizami::check
