// SPDX-License-Identifier: MIT
// The C ABI: version, errors, policies, plans, prepared operands. Products are in c_products.cpp.
#include "api/c_abi.hpp"
#include "api/op_view.hpp"
#include "kizami/kizami.hpp"
#include "kizami/wishes.hpp"

namespace kizami::api {
namespace {

/// sizeof(kizami_plan_info) of version 0.1.
constexpr std::size_t kFirstPlanInfoBytes = 120;
static_assert(sizeof(kizami_plan_info) >= kFirstPlanInfoBytes);

/// Digits that C can promise at most: of the widest type (FP64).
constexpr int kMaxBits = significand_bits(Scalar::kF64) - 1;

/// kizami_last_error() of this thread.
thread_local char last_error[1024] = "";

/// Changes one member of a policy, if the value allows it.
template <class Set>
kizami_status change(kizami_policy* policy, Set&& set) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("policy", policy));
    return set(policy->value);
  });
}

/// Sets the wish `key`, which the C function calls `name`, to a number.
Status set_number(Policy& policy, const char* name, std::string_view key, int value) {
  const Wish& wish = *find_wish(key);
  if (wish.set(policy, std::to_string(value))) return {};
  return invalid(std::string(name) + " = " + std::to_string(value) + ", must be " + allowed_values(wish));
}
/// The argument `name`, which is 0 or 1.
Status set_either(const char* name, int value, bool& out) {
  KIZAMI_RETURN_IF_ERROR(in_range(name, value, 1));
  out = value == 1;
  return {};
}

/// "threads=0 (0..32767): threads of ..." for each wish.
std::string help_of_wishes() {
  std::string out;
  for (const Wish& wish : wishes()) {
    out.append(wish.key).append("=").append(wish.get(Policy{})).append(" (").append(wish.values()).append("): ");
    out.append(wish.meaning).append("\n");
  }
  return out;
}

/// Writes a text as kizami_plan_explain() says.
Status copy_text(const std::string& text, char* buffer, std::size_t capacity, std::size_t* length) {
  if (capacity != 0) {
    KIZAMI_RETURN_IF_ERROR(not_null("buffer", buffer));
    const std::size_t kept = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), kept);
    buffer[kept] = '\0';
  }
  if (length != nullptr) *length = text.size();
  return {};
}

}  // namespace

kizami_status finish(StatusCode code, std::string_view reason) noexcept {
  store_text(reason, last_error);
  return static_cast<kizami_status>(code);
}

}  // namespace kizami::api

using namespace kizami;       // NOLINT(google-build-using-namespace): the functions below are not in it
using namespace kizami::api;  // NOLINT(google-build-using-namespace)

int kizami_version_number(void) { return KIZAMI_VERSION_NUMBER; }
const char* kizami_version(void) { return version(); }

const char* kizami_status_name(kizami_status status) {
  return to_string(static_cast<StatusCode>(status)).data();  // of a literal, which ends with a zero byte
}
const char* kizami_last_error(void) { return last_error; }

kizami_status kizami_machine_report(char* buffer, size_t capacity, size_t* length) {
  return guarded([&] { return copy_text(machine_report(), buffer, capacity, length); });
}

kizami_status kizami_policy_create(kizami_policy** policy) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("policy", policy));
    *policy = new kizami_policy;
    return {};
  });
}
void kizami_policy_destroy(kizami_policy* policy) { delete policy; }

kizami_status kizami_policy_set(kizami_policy* policy, const char* key, const char* value) {
  return change(policy, [&](Policy& p) -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("key", key));
    KIZAMI_RETURN_IF_ERROR(not_null("value", value));
    return set_wish(p, key, value);
  });
}
kizami_status kizami_policy_get(const kizami_policy* policy, const char* key, char* buffer, size_t capacity,
                                size_t* length) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("key", key));
    const Result<std::string> value = get_wish(policy == nullptr ? Policy{} : policy->value, key);
    if (!value.ok()) return value.status();
    return copy_text(value.value(), buffer, capacity, length);
  });
}
kizami_status kizami_policy_help(char* buffer, size_t capacity, size_t* length) {
  return guarded([&] { return copy_text(help_of_wishes(), buffer, capacity, length); });
}

kizami_status kizami_policy_set_accuracy(kizami_policy* policy, kizami_accuracy kind, int bits) {
  return change(policy, [&](Policy& p) -> Status {
    Accuracy accuracy;
    KIZAMI_RETURN_IF_ERROR(read_enum("kind", kind, accuracy.kind));
    if (accuracy.kind != Accuracy::Kind::kBits) {
      KIZAMI_RETURN_IF_ERROR(in_range("bits", bits, 0));
    } else if (bits < 1 || bits > kMaxBits) {
      return invalid("bits = " + std::to_string(bits) + ", must be in 1.." + std::to_string(kMaxBits));
    }
    accuracy.bits = bits;
    p.accuracy = accuracy;
    return {};
  });
}
kizami_status kizami_policy_set_gauge(kizami_policy* policy, kizami_gauge gauge) {
  return change(policy, [&](Policy& p) { return read_enum("gauge", gauge, p.gauge); });
}
kizami_status kizami_policy_set_scheme(kizami_policy* policy, kizami_scheme scheme) {
  return change(policy, [&](Policy& p) { return read_enum("scheme", scheme, p.scheme); });
}
kizami_status kizami_policy_set_engine(kizami_policy* policy, kizami_engine engine) {
  return change(policy, [&](Policy& p) { return read_enum("engine", engine, p.engine); });
}
kizami_status kizami_policy_set_reproducibility(kizami_policy* policy, kizami_reproducibility promise) {
  return change(policy, [&](Policy& p) { return read_enum("promise", promise, p.reproducibility); });
}
kizami_status kizami_policy_set_variant(kizami_policy* policy, kizami_variant variant, int keep_small_term,
                                        int promotion_k) {
  return change(policy, [&](Policy& p) -> Status {
    Policy changed = p;
    KIZAMI_RETURN_IF_ERROR(read_enum("variant", variant, changed.ec.variant));
    KIZAMI_RETURN_IF_ERROR(set_either("keep_small_term", keep_small_term, changed.ec.keep_small_term));
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "promotion_k", "promotion_k", promotion_k));
    p = changed;
    return {};
  });
}
kizami_status kizami_policy_set_karatsuba(kizami_policy* policy, int is_wanted) {
  return change(policy, [&](Policy& p) { return set_either("is_wanted", is_wanted, p.ec.karatsuba); });
}
kizami_status kizami_policy_set_slices(kizami_policy* policy, int num_slices, int num_diagonals) {
  return change(policy, [&](Policy& p) -> Status {
    Policy changed = p;
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "num_slices", "slices", num_slices));
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "num_diagonals", "diagonals", num_diagonals));
    p = changed;
    return {};
  });
}
kizami_status kizami_policy_set_digits(kizami_policy* policy, kizami_slice_format format, kizami_slice_split split,
                                       int slice_bits, int has_one_scale) {
  return change(policy, [&](Policy& p) -> Status {
    Policy changed = p;
    KIZAMI_RETURN_IF_ERROR(read_enum("format", format, changed.slices.format));
    KIZAMI_RETURN_IF_ERROR(read_enum("split", split, changed.slices.split));
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "slice_bits", "slice_bits", slice_bits));
    KIZAMI_RETURN_IF_ERROR(set_either("has_one_scale", has_one_scale, changed.slices.one_scale));
    p = changed;
    return {};
  });
}
kizami_status kizami_policy_set_slice_sums(kizami_policy* policy, kizami_slice_sums sums) {
  return change(policy, [&](Policy& p) { return read_enum("sums", sums, p.slices.sums); });
}
kizami_status kizami_policy_set_slice_blocks(kizami_policy* policy, int lines, int num_streams) {
  return change(policy, [&](Policy& p) -> Status {
    Policy changed = p;
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "lines", "slice_block", lines));
    KIZAMI_RETURN_IF_ERROR(set_number(changed, "num_streams", "slice_streams", num_streams));
    p = changed;
    return {};
  });
}
kizami_status kizami_policy_set_complex_form(kizami_policy* policy, kizami_complex_form form) {
  return change(policy, [&](Policy& p) { return read_enum("form", form, p.slices.complex_form); });
}
kizami_status kizami_policy_set_fp64_arithmetic(kizami_policy* policy, int is_allowed) {
  return change(policy, [&](Policy& p) { return set_either("is_allowed", is_allowed, p.allow_fp64_arithmetic); });
}
kizami_status kizami_policy_set_reject_nonfinite(kizami_policy* policy, int is_rejected) {
  return change(policy, [&](Policy& p) { return set_either("is_rejected", is_rejected, p.reject_nonfinite); });
}
kizami_status kizami_policy_set_moduli(kizami_policy* policy, int num_moduli) {
  return change(policy, [&](Policy& p) { return set_number(p, "num_moduli", "moduli", num_moduli); });
}
kizami_status kizami_policy_set_threads(kizami_policy* policy, int num_threads) {
  return change(policy, [&](Policy& p) { return set_number(p, "num_threads", "threads", num_threads); });
}
kizami_status kizami_policy_set_workspace_limit(kizami_policy* policy, size_t bytes) {
  return change(policy, [&](Policy& p) -> Status {
    p.workspace_limit_bytes = bytes;
    return {};
  });
}
kizami_status kizami_policy_set_may_sync(kizami_policy* policy, int is_allowed) {
  return change(policy, [&](Policy& p) { return set_either("is_allowed", is_allowed, p.may_sync); });
}

kizami_status kizami_plan_create(kizami_plan** plan, kizami_scalar scalar, int64_t m, int64_t n, int64_t k,
                                 const kizami_policy* policy) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    Scalar type{};
    KIZAMI_RETURN_IF_ERROR(read_enum("scalar", scalar, type));
    Result<Plan> made = make_plan(type, m, n, k, policy == nullptr ? Policy{} : policy->value);
    if (!made.ok()) return made.status();
    *plan = new kizami_plan{std::move(made).value()};
    return {};
  });
}
void kizami_plan_destroy(kizami_plan* plan) { delete plan; }

kizami_status kizami_plan_query(const kizami_plan* plan, kizami_plan_info* info) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    KIZAMI_RETURN_IF_ERROR(not_null("info", info));
    KIZAMI_RETURN_IF_ERROR(check_struct("info", info, kFirstPlanInfoBytes));
    const Plan& p = plan->value;
    kizami_plan_info full{};
    full.scalar = static_cast<kizami_scalar>(p.scalar());
    full.scheme = static_cast<kizami_scheme>(p.scheme());
    full.gauge = static_cast<kizami_gauge>(p.gauge());
    full.base_moduli = p.base_moduli();
    full.max_moduli = p.max_moduli();
    full.m = p.m();
    full.n = p.n();
    full.k = p.k();
    full.bound = p.bound();
    full.predicted_seconds = p.predicted_seconds();
    full.numerics_hash = p.numerics_hash();
    full.workspace_bytes = p.workspace_bytes();
    store_text(p.engine(), full.engine);
    full.variant = static_cast<kizami_variant>(p.variant());
    store_struct(full, info);
    return {};
  });
}

kizami_status kizami_plan_explain(const kizami_plan* plan, char* buffer, size_t capacity, size_t* length) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    return copy_text(plan->value.explain(), buffer, capacity, length);
  });
}

kizami_status kizami_prepare(kizami_prepared** prepared, const kizami_plan* plan, kizami_side side,
                             kizami_layout layout, kizami_op op, const void* X, int64_t ldx) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("prepared", prepared));
    KIZAMI_RETURN_IF_ERROR(not_null("plan", plan));
    Side which{};
    Layout order{};
    Op op_x{};
    KIZAMI_RETURN_IF_ERROR(read_enum("side", side, which));
    KIZAMI_RETURN_IF_ERROR(read_enum("layout", layout, order));
    KIZAMI_RETURN_IF_ERROR(read_enum("op", op, op_x));
    const Plan& p = plan->value;
    const bool is_a = which == Side::kA;
    const std::int64_t rows = is_a ? p.m() : p.k(), cols = is_a ? p.k() : p.n();
    const std::int64_t least_ld = least_leading_dimension(order, op_x, rows, cols);
    if (ldx < least_ld) return invalid("ldx = " + std::to_string(ldx) + ", must be >= " + std::to_string(least_ld));
    return with_scalar(p.scalar(), [&]<class T>() -> Status {
      Result<PreparedOperand> made =
          prepare<T>(p, which, op_view(order, op_x, static_cast<const T*>(X), rows, cols, ldx));
      if (!made.ok()) return made.status();
      *prepared = new kizami_prepared{std::move(made).value()};
      return {};
    });
  });
}
void kizami_prepared_destroy(kizami_prepared* prepared) { delete prepared; }

kizami_status kizami_prepared_size(const kizami_prepared* prepared, size_t* bytes) {
  return guarded([&]() -> Status {
    KIZAMI_RETURN_IF_ERROR(not_null("prepared", prepared));
    KIZAMI_RETURN_IF_ERROR(not_null("bytes", bytes));
    *bytes = prepared->value.size_bytes();
    return {};
  });
}
