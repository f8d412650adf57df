// SPDX-License-Identifier: MIT
// The table. A row is made by a template of its kind, which is told the field of Policy by pointers to members.
#include "kizami/wishes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "kizami/nearest.hpp"
#include "kizami/text.hpp"

namespace kizami {
namespace {

constexpr int kMaxAccuracyBits = 100;  // of double-double
constexpr int kMaxModuliAsked = 64;    // more than any ring has: which count it takes is for the planner to say
constexpr int kMaxRungsAsked = 64;     // likewise of ladders

std::string range(int lo, int hi) { return std::to_string(lo) + ".." + std::to_string(hi); }

template <class Names>
std::string joined(const Names& names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

bool parse_int(std::string_view text, int lo, int hi, int& out) {
  return parse_integer(text, lo, hi, out) == IntegerFault::kNone;
}

/// The field of an object that a path of pointers to members leads to.
template <auto kMember, auto... kRest>
constexpr auto& field_of(auto& object) {
  if constexpr (sizeof...(kRest) == 0) {
    return object.*kMember;
  } else {
    return field_of<kRest...>(object.*kMember);
  }
}

/// A field that is an enum: its names.
template <auto... kPath>
constexpr Wish word(std::string_view key, std::string_view meaning) {
  using E = std::remove_cvref_t<decltype(field_of<kPath...>(std::declval<Policy&>()))>;
  const auto set = [](Policy& policy, std::string_view text) {
    const std::optional<E> value = named<E>(text);
    if (value) field_of<kPath...>(policy) = *value;
    return value.has_value();
  };
  const auto get = [](const Policy& policy) { return std::string(to_string(field_of<kPath...>(policy))); };
  return {key, Wish::Kind::kWord, meaning, [] { return joined(Names<E>::kAll); }, set, get};
}

/// The words of a field that is a bool: that of false, that of true.
struct Pair {
  std::string_view names[2];
};
constexpr Pair kFlag{{"0", "1"}};
constexpr Pair kRefuseOrAllow{{"refuse", "allow"}};
constexpr Pair kMultiplyOrReject{{"multiply", "reject"}};
constexpr Pair kNeverOrAllowed{{"never", "allowed"}};
constexpr Pair kLineOrMatrix{{"line", "matrix"}};

template <const Pair& kPair, auto... kPath>
constexpr Wish either(std::string_view key, std::string_view meaning) {
  const auto set = [](Policy& policy, std::string_view text) {
    if (text != kPair.names[0] && text != kPair.names[1]) return false;
    field_of<kPath...>(policy) = text == kPair.names[1];
    return true;
  };
  const auto get = [](const Policy& policy) { return std::string(kPair.names[field_of<kPath...>(policy) ? 1 : 0]); };
  const Wish::Kind kind = &kPair == &kFlag ? Wish::Kind::kFlag : Wish::Kind::kWord;
  return {key, kind, meaning, [] { return joined(kPair.names); }, set, get};
}

template <int kLo, int kHi, auto... kPath>
constexpr Wish number(std::string_view key, std::string_view meaning) {
  const auto set = [](Policy& policy, std::string_view text) {
    return parse_int(text, kLo, kHi, field_of<kPath...>(policy));
  };
  const auto get = [](const Policy& policy) { return std::to_string(field_of<kPath...>(policy)); };
  return {key, Wish::Kind::kNumber, meaning, [] { return range(kLo, kHi); }, set, get};
}

// ---- what no template fits ----

std::string accuracy_values() { return "native, correct, bits=N with N in " + range(1, kMaxAccuracyBits); }
bool set_accuracy(Policy& policy, std::string_view text) { return parse_accuracy(text, policy.accuracy); }
std::string get_accuracy(const Policy& policy) { return to_string(policy.accuracy); }

std::string promotion_values() { return range(0, kMaxPromotionK) + ", multiples of " + std::to_string(kPromotionUnit); }
bool set_promotion(Policy& policy, std::string_view text) {
  int value = 0;
  if (!parse_int(text, 0, kMaxPromotionK, value) || value % kPromotionUnit != 0) return false;
  policy.ec.promotion_k = value;
  return true;
}
std::string get_promotion(const Policy& policy) { return std::to_string(policy.ec.promotion_k); }

std::string workspace_values() { return "0.." + std::to_string(kMaxBytes) + ", also with K, M or G"; }
bool set_workspace(Policy& policy, std::string_view text) {
  std::uint64_t bytes = 0;
  if (parse_bytes(text, bytes) != IntegerFault::kNone) return false;
  policy.workspace_limit_bytes = bytes;
  return true;
}
std::string get_workspace(const Policy& policy) { return print_bytes(policy.workspace_limit_bytes); }

// ---- the table ----

using Ec = ErrorCorrection;

constexpr Wish kWishes[] = {
    {"accuracy", Wish::Kind::kWord,
     "what the result must keep to: native is what a native product guarantees or better, bits=N is 2^-N, correct is "
     "the exact product rounded once",
     accuracy_values, set_accuracy, get_accuracy},
    word<&Policy::gauge>(
        "gauge",
        "what errors are relative to: entry is |A||B|, norm is ||row of A|| ||column of B||, which is cheaper"),
    word<&Policy::scheme>("scheme", "how the product is computed"),
    word<&Policy::engine>("engine", "what multiplies"),
    word<&Policy::reproducibility>(
        "reproducibility",
        "engine: the same bits on every engine, thread count and machine; none: the platform BLAS may be chosen"),
    either<kRefuseOrAllow, &Policy::allow_fp64_arithmetic>(
        "fp64", "what moduli cannot certify is answered by FP64 arithmetic, or the product is refused"),
    either<kMultiplyOrReject, &Policy::reject_nonfinite>(
        "nonfinite", "NaN and Inf in operands are multiplied as BLAS does, or an error"),
    either<kNeverOrAllowed, &Policy::may_sync>("sync", "whether a call on a device may wait for what its elements say"),
    number<0, kMaxThreads, &Policy::threads>(
        "threads",
        "threads of the processor; 0 is all that this process may use, but no more than KIZAMI_THREADS or, without it, "
        "OMP_NUM_THREADS says. Never changes a bit"),
    {"workspace", Wish::Kind::kBytes,
     "limit of the scratch memory in bytes; 0 is the default of 1 GiB. Never changes a bit", workspace_values,
     set_workspace, get_workspace},
    word<&Policy::ec, &Ec::variant>(
        "variant", "scheme ec: how operands are split into FP16, BF16 or TF32 and which products are taken"),
    {"promotion_k", Wish::Kind::kNumber,
     "scheme ec: elements of k after which a tensor core's sum goes to FP32; 0 leaves it to the variant",
     promotion_values, set_promotion, get_promotion},
    either<kFlag, &Policy::ec, &Ec::promote_corrections>(
        "promote_corrections", "scheme ec: also the corrections of halfhalf and tf32tf32 are promoted"),
    number<-1, kMaxRemainderShift, &Policy::ec, &Ec::remainder_shift>(
        "remainder_shift",
        "scheme ec: remainders are multiplied by 2^this before they are rounded; -1 leaves it to the variant"),
    either<kFlag, &Policy::ec, &Ec::keep_small_term>("keep_small_term",
                                                     "scheme ec: take the product of the two small parts, too"),
    either<kFlag, &Policy::ec, &Ec::truncate_parts>("truncate_parts",
                                                    "scheme ec: the parts of a split are cut, not rounded to nearest"),
    either<kFlag, &Policy::ec, &Ec::karatsuba>(
        "karatsuba",
        "scheme ec: complex products by three real ones; the imaginary part cancels, so in gauge norm only"),
    either<kFlag, &Policy::ec, &Ec::check_range>(
        "check_range",
        "scheme ec: operands beyond the variant's range are answered otherwise; 0, for studies: by its arithmetic"),
    word<&Policy::ec, &Ec::tensor_core>("tensor_core", "scheme ec: the tensor core that engine tc_model computes as"),
    number<kUntilZero, kMaxSlices, &Policy::slices, &Slicing::num_slices>(
        "slices",
        "scheme ozaki1: exactly this many slices, whatever the accuracy; -1 until nothing is left, 0 what the accuracy "
        "needs"),
    number<kAllPairs, kMaxDiagonals, &Policy::slices, &Slicing::num_diagonals>(
        "diagonals",
        "scheme ozaki1: products of slices i and j with i + j below this; -1 all, 0 as many as there are slices"),
    number<0, kMaxSliceBits, &Policy::slices, &Slicing::slice_bits>(
        "slice_bits", "scheme ozaki1: bits of a digit beside its sign; 0 is the most that format and split allow"),
    word<&Policy::slices, &Slicing::format>("slice_format", "scheme ozaki1: what holds a slice"),
    word<&Policy::slices, &Slicing::split>("slice_split", "scheme ozaki1: how a number becomes digits"),
    word<&Policy::slices, &Slicing::sums>("slice_sums",
                                          "scheme ozaki1: how products are added up. Never changes a bit, but for "
                                          "rounded"),
    number<0, kMaxSliceBlockLines, &Policy::slices, &Slicing::block_lines>(
        "slice_block",
        "scheme ozaki1: lines of the larger operand in one block; 0 is one block, with slice_sums blocked as measured"),
    number<0, kMaxSliceStreams, &Policy::slices, &Slicing::num_streams>(
        "slice_streams",
        "scheme ozaki1, in device memory: streams that take blocks in turn; 0 is one, with slice_sums blocked as "
        "measured"),
    either<kLineOrMatrix, &Policy::slices, &Slicing::one_scale>(
        "slice_scale",
        "scheme ozaki1: one power of two for each line, or for a whole matrix, which needs slices by name"),
    word<&Policy::slices, &Slicing::complex_form>("complex_form",
                                                  "scheme ozaki1: how a complex product becomes real ones"),
    number<0, kMaxModuliAsked, &Policy::forced_moduli>(
        "moduli",
        "scheme ozaki2, for studies: exactly this many moduli, whatever the accuracy; 0 what the accuracy needs"),
    number<0, kMaxRungsAsked, &Policy::max_rungs>(
        "rungs", "scheme ozaki2: rungs of the ladder that may be used, from the lowest; 0 all"),
};

Status unknown_wish(std::string_view key) {
  std::string keys;
  for (const Wish& wish : kWishes) keys += (keys.empty() ? "" : ", ") + std::string(wish.key);
  return {StatusCode::kInvalidArgument,
          "the wish " + in_quotes(key) + " is unknown, must be one of " + keys + did_you_mean(key, keys)};
}

}  // namespace

std::span<const Wish> wishes() noexcept { return kWishes; }

const Wish* find_wish(std::string_view key) noexcept {
  const auto* const found = std::ranges::find(kWishes, key, &Wish::key);
  return found == std::end(kWishes) ? nullptr : found;
}

std::string allowed_values(const Wish& wish) {
  const bool is_one_of = wish.kind == Wish::Kind::kWord || wish.kind == Wish::Kind::kFlag;
  return (is_one_of ? "one of " : "in ") + wish.values();
}

Status set_wish(Policy& policy, std::string_view key, std::string_view value, std::string_view shown) {
  const Wish* const wish = find_wish(key);
  if (wish == nullptr) return unknown_wish(key);
  if (wish->set(policy, value)) return {};
  return {StatusCode::kInvalidArgument,
          std::string(shown.empty() ? key : shown) + " = " + in_quotes(value) + ", must be " + allowed_values(*wish) +
              (wish->kind == Wish::Kind::kWord ? did_you_mean(value, wish->values()) : "")};
}

Result<std::string> get_wish(const Policy& policy, std::string_view key) {
  const Wish* const wish = find_wish(key);
  if (wish == nullptr) return unknown_wish(key);
  return wish->get(policy);
}

std::string print_wishes(const Policy& policy, const Policy& others) {
  std::string out;
  for (const Wish& wish : kWishes) {
    const std::string value = wish.get(policy);
    if (value == wish.get(others)) continue;
    if (!out.empty()) out += ' ';
    out.append(wish.key).append("=").append(value);
  }
  return out;
}

bool parse_accuracy(std::string_view text, Accuracy& out) noexcept {
  constexpr std::string_view kBits = "bits=";
  int bits = 0;
  if (text == "native") {
    out = Accuracy::native();
  } else if (text == "correct") {
    out = Accuracy::correct();
  } else if (text.starts_with(kBits) && parse_int(text.substr(kBits.size()), 1, kMaxAccuracyBits, bits)) {
    out = Accuracy::at_bits(bits);
  } else {
    return false;
  }
  return true;
}

std::string to_string(const Accuracy& accuracy) {
  const std::string kind(to_string(accuracy.kind));
  return accuracy.kind == Accuracy::Kind::kBits ? kind + "=" + std::to_string(accuracy.bits) : kind;
}

}  // namespace kizami
