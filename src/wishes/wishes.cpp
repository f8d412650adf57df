// SPDX-License-Identifier: MIT
// The table. Each row is made by a template of its kind, which takes the field of Policy as a function.
#include "kizami/wishes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

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

/// A field that is an enum: its names.
template <auto kField>
constexpr Wish word(std::string_view key, std::string_view meaning) {
  using E = std::remove_cvref_t<decltype(kField(std::declval<Policy&>()))>;
  return {key,
          Wish::Kind::kWord,
          meaning,
          [] { return joined(Names<E>::kAll); },
          [](Policy& policy, std::string_view text) {
            const std::optional<E> value = named<E>(text);
            if (value) kField(policy) = *value;
            return value.has_value();
          },
          [](const Policy& policy) { return std::string(to_string(kField(policy))); }};
}

/// A field that is a bool, by two words: that of false, that of true.
struct Pair {
  std::string_view names[2];
};
constexpr Pair kFlag{{"0", "1"}};
constexpr Pair kRefuseOrAllow{{"refuse", "allow"}};
constexpr Pair kMultiplyOrReject{{"multiply", "reject"}};
constexpr Pair kNeverOrAllowed{{"never", "allowed"}};
constexpr Pair kLineOrMatrix{{"line", "matrix"}};

template <auto kField, const Pair& kPair>
constexpr Wish either(std::string_view key, std::string_view meaning) {
  return {key,
          &kPair == &kFlag ? Wish::Kind::kFlag : Wish::Kind::kWord,
          meaning,
          [] { return joined(kPair.names); },
          [](Policy& policy, std::string_view text) {
            if (text != kPair.names[0] && text != kPair.names[1]) return false;
            kField(policy) = text == kPair.names[1];
            return true;
          },
          [](const Policy& policy) { return std::string(kPair.names[kField(policy) ? 1 : 0]); }};
}

template <auto kField, int kLo, int kHi>
constexpr Wish number(std::string_view key, std::string_view meaning) {
  return {key,
          Wish::Kind::kNumber,
          meaning,
          [] { return range(kLo, kHi); },
          [](Policy& policy, std::string_view text) { return parse_int(text, kLo, kHi, kField(policy)); },
          [](const Policy& policy) { return std::to_string(kField(policy)); }};
}

constexpr Wish kAccuracy{"accuracy",
                         Wish::Kind::kWord,
                         "what the result must keep to: native is what a native product guarantees or better, bits=N "
                         "is 2^-N, correct is the exact "
                         "product rounded once",
                         [] { return "native, correct, bits=N with N in " + range(1, kMaxAccuracyBits); },
                         [](Policy& policy, std::string_view text) { return parse_accuracy(text, policy.accuracy); },
                         [](const Policy& policy) { return to_string(policy.accuracy); }};

constexpr Wish kPromotionK{
    "promotion_k",
    Wish::Kind::kNumber,
    "scheme ec: elements of k after which a tensor core's sum goes to FP32; 0 leaves it to the variant",
    [] { return range(0, kMaxPromotionK) + ", multiples of " + std::to_string(kPromotionUnit); },
    [](Policy& policy, std::string_view text) {
      int value = 0;
      if (!parse_int(text, 0, kMaxPromotionK, value) || value % kPromotionUnit != 0) return false;
      policy.ec.promotion_k = value;
      return true;
    },
    [](const Policy& policy) { return std::to_string(policy.ec.promotion_k); }};

constexpr Wish kWorkspace{"workspace",
                          Wish::Kind::kBytes,
                          "limit of the scratch memory in bytes; 0 is the default of 1 GiB. Never changes a bit",
                          [] { return "0.." + std::to_string(kMaxBytes) + ", also with K, M or G"; },
                          [](Policy& policy, std::string_view text) {
                            std::uint64_t bytes = 0;
                            if (parse_bytes(text, bytes) != IntegerFault::kNone) return false;
                            policy.workspace_limit_bytes = bytes;
                            return true;
                          },
                          [](const Policy& policy) { return print_bytes(policy.workspace_limit_bytes); }};

constexpr Wish kWishes[] = {kAccuracy, word < [](auto& p) -> auto& {return p.gauge;
}  // namespace
> ("gauge", "what errors are relative to: entry is |A||B|, norm is ||row of A|| ||column of B||, which is cheaper"),
    word < [](auto& p) -> auto& {
  return p.scheme;
}
> ("scheme", "how the product is computed"), word < [](auto& p) -> auto& { return p.engine; }
> ("engine", "what multiplies"), word < [](auto& p) -> auto& { return p.reproducibility; }
> ("reproducibility",
   "engine: the same bits on every engine, thread count and machine; none: the platform BLAS may be chosen"),
    either < [](auto& p) -> auto& {
  return p.allow_fp64_arithmetic;
}
, kRefuseOrAllow > ("fp64", "what moduli cannot certify is answered by FP64 arithmetic, or the product is refused"),
    either < [](auto& p) -> auto& {
  return p.reject_nonfinite;
}
, kMultiplyOrReject > ("nonfinite", "NaN and Inf in operands are multiplied as BLAS does, or an error"), either < [
](auto& p) -> auto& {
  return p.may_sync;
}
, kNeverOrAllowed > ("sync", "whether a call on a device may wait for what its elements say"), number < [
](auto& p) -> auto& {
  return p.threads;
}
, 0, kMaxThreads > ("threads", "threads of the processor; 0 is all that this process may use. Never changes a bit"),
    kWorkspace, word < [](auto& p) -> auto& {
  return p.ec.variant;
}
> ("variant", "scheme ec: how operands are split into FP16, BF16 or TF32 and which products are taken"),
    kPromotionK, either < [](auto& p) -> auto& {
  return p.ec.promote_corrections;
}
, kFlag > ("promote_corrections", "scheme ec: also the corrections of halfhalf and tf32tf32 are promoted"), number < [
](auto& p) -> auto& {
  return p.ec.remainder_shift;
}
, -1,
    kMaxRemainderShift >
        ("remainder_shift",
         "scheme ec: remainders are multiplied by 2^this before they are rounded; -1 leaves it to the variant"),
    either < [](auto& p) -> auto& {
  return p.ec.keep_small_term;
}
, kFlag > ("keep_small_term", "scheme ec: take the product of the two small parts, too"), either < [
](auto& p) -> auto& {
  return p.ec.karatsuba;
}
,
    kFlag > ("karatsuba",
             "scheme ec: complex products by three real ones; the imaginary part cancels, so in gauge norm only"),
    either < [](auto& p) -> auto& {
  return p.ec.check_range;
}
,
    kFlag >
        ("check_range",
         "scheme ec: operands beyond the variant's range are answered otherwise; 0, for studies: by its arithmetic"),
    word < [](auto& p) -> auto& {
  return p.ec.tensor_core;
}
> ("tensor_core", "scheme ec: the tensor core that engine tc_model computes as"), number < [](auto& p) -> auto& {
  return p.slices.num_slices;
}
, kUntilZero,
    kMaxSlices > ("slices",
                  "scheme ozaki1: exactly this many slices, whatever the accuracy; -1 until nothing is left, 0 what "
                  "the accuracy needs"),
    number < [](auto& p) -> auto& {
  return p.slices.num_diagonals;
}
, kAllPairs,
    kMaxDiagonals >
        ("diagonals",
         "scheme ozaki1: products of slices i and j with i + j below this; -1 all, 0 as many as there are slices"),
    number < [](auto& p) -> auto& {
  return p.slices.slice_bits;
}
, 0,
    kMaxSliceBits >
        ("slice_bits", "scheme ozaki1: bits of a digit beside its sign; 0 is the most that format and split allow"),
    word < [](auto& p) -> auto& {
  return p.slices.format;
}
> ("slice_format", "scheme ozaki1: what holds a slice"), word < [](auto& p) -> auto& { return p.slices.split; }
> ("slice_split", "scheme ozaki1: how a number becomes digits"), word < [](auto& p) -> auto& { return p.slices.sums; }
> ("slice_sums", "scheme ozaki1: how products share accumulators. Never changes a bit"), either < [](auto& p) -> auto& {
  return p.slices.one_scale;
}
,
    kLineOrMatrix >
        ("slice_scale",
         "scheme ozaki1: one power of two for each line, or for a whole matrix, which needs slices by name"),
    word < [](auto& p) -> auto& {
  return p.slices.complex_form;
}
> ("complex_form", "scheme ozaki1: how a complex product becomes real ones"), number < [](auto& p) -> auto& {
  return p.forced_moduli;
}
, 0,
    kMaxModuliAsked >
        ("moduli",
         "scheme ozaki2, for studies: exactly this many moduli, whatever the accuracy; 0 what the accuracy needs"),
    number < [](auto& p) -> auto& {
  return p.max_rungs;
}
, 0, kMaxRungsAsked > ("rungs", "scheme ozaki2: rungs of the ladder that may be used, from the lowest; 0 all"),
};  // namespace kizami

Status unknown_wish(std::string_view key) {
  std::string keys;
  for (const Wish& wish : kWishes) keys += (keys.empty() ? "" : ", ") + std::string(wish.key);
  return {StatusCode::kInvalidArgument, "the wish " + in_quotes(key) + " is unknown, must be one of " + keys};
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
          std::string(shown.empty() ? key : shown) + " = " + in_quotes(value) + ", must be " + allowed_values(*wish)};
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
