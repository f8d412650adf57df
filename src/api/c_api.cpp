// SPDX-License-Identifier: MIT
// The C ABI: version, errors, policies, plans, prepared operands. Products are in c_products.cpp.
#include "api/c_abi.hpp"
#include "api/op_view.hpp"
#include "kizami/kizami.hpp"

namespace kizami::api {
namespace {

static_assert(last_value(StatusCode{}) == KIZAMI_INTERNAL);  // statuses go out only: finish()

/// sizeof(kizami_plan_info) of version 0.1.
constexpr std::size_t kFirstPlanInfoBytes = 120;
static_assert(sizeof(kizami_plan_info) >= kFirstPlanInfoBytes);

/// Digits that C can promise at most: of the widest type (FP64).
constexpr int kMaxBits = significand_bits(Scalar::kF64) - 1;

/// Bits of a digit that a format of slices has at most.
constexpr int kMaxSliceBits = 11;

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
    ErrorCorrection ec = p.ec;
    KIZAMI_RETURN_IF_ERROR(read_enum("variant", variant, ec.variant));
    KIZAMI_RETURN_IF_ERROR(in_range("keep_small_term", keep_small_term, 1));
    if (promotion_k < 0 || promotion_k > 65536 || promotion_k % 16 != 0)
      return invalid("promotion_k = " + std::to_string(promotion_k) + ", must be a multiple of 16 in 0..65536");
    ec.keep_small_term = keep_small_term == 1;
    ec.promotion_k = promotion_k;
    p.ec = ec;
    return {};
  });
}
kizami_status kizami_policy_set_karatsuba(kizami_policy* policy, int is_wanted) {
  return change(policy, [&](Policy& p) -> Status {
    KIZAMI_RETURN_IF_ERROR(in_range("is_wanted", is_wanted, 1));
    p.ec.karatsuba = is_wanted == 1;
    return {};
  });
}
kizami_status kizami_policy_set_slices(kizami_policy* policy, int num_slices, int num_diagonals) {
  return change(policy, [&](Policy& p) -> Status {
    constexpr int kMostDiagonals = 2 * kMaxSlices - 1;
    if (num_slices < kUntilZero || num_slices > kMaxSlices) {
      return invalid("num_slices = " + std::to_string(num_slices) + ", must be in -1.." + std::to_string(kMaxSlices));
    }
    if (num_diagonals < kAllPairs || num_diagonals > kMostDiagonals) {
      return invalid("num_diagonals = " + std::to_string(num_diagonals) + ", must be in -1.." +
                     std::to_string(kMostDiagonals));
    }
    p.slices.num_slices = num_slices;
    p.slices.num_diagonals = num_diagonals;
    return {};
  });
}
kizami_status kizami_policy_set_digits(kizami_policy* policy, kizami_slice_format format, kizami_slice_split split,
                                       int slice_bits, int has_one_scale) {
  return change(policy, [&](Policy& p) -> Status {
    Slicing slices = p.slices;
    KIZAMI_RETURN_IF_ERROR(read_enum("format", format, slices.format));
    KIZAMI_RETURN_IF_ERROR(read_enum("split", split, slices.split));
    KIZAMI_RETURN_IF_ERROR(in_range("slice_bits", slice_bits, kMaxSliceBits));
    KIZAMI_RETURN_IF_ERROR(in_range("has_one_scale", has_one_scale, 1));
    slices.slice_bits = slice_bits;
    slices.one_scale = has_one_scale == 1;
    p.slices = slices;
    return {};
  });
}
kizami_status kizami_policy_set_slice_sums(kizami_policy* policy, kizami_slice_sums sums) {
  return change(policy, [&](Policy& p) { return read_enum("sums", sums, p.slices.sums); });
}
kizami_status kizami_policy_set_complex_form(kizami_policy* policy, kizami_complex_form form) {
  return change(policy, [&](Policy& p) { return read_enum("form", form, p.slices.complex_form); });
}
kizami_status kizami_policy_set_fp64_arithmetic(kizami_policy* policy, int is_allowed) {
  return change(policy, [&](Policy& p) -> Status {
    KIZAMI_RETURN_IF_ERROR(in_range("is_allowed", is_allowed, 1));
    p.allow_fp64_arithmetic = is_allowed == 1;
    return {};
  });
}
kizami_status kizami_policy_set_reject_nonfinite(kizami_policy* policy, int is_rejected) {
  return change(policy, [&](Policy& p) -> Status {
    KIZAMI_RETURN_IF_ERROR(in_range("is_rejected", is_rejected, 1));
    p.reject_nonfinite = is_rejected == 1;
    return {};
  });
}
kizami_status kizami_policy_set_moduli(kizami_policy* policy, int num_moduli) {
  return change(policy, [&](Policy& p) -> Status {
    if (num_moduli < 0) return invalid("num_moduli = " + std::to_string(num_moduli) + ", must be >= 0");
    p.forced_moduli = num_moduli;
    return {};
  });
}
kizami_status kizami_policy_set_threads(kizami_policy* policy, int num_threads) {
  return change(policy, [&](Policy& p) -> Status {
    if (num_threads < 0) return invalid("num_threads = " + std::to_string(num_threads) + ", must be >= 0");
    p.threads = num_threads;
    return {};
  });
}
kizami_status kizami_policy_set_workspace_limit(kizami_policy* policy, size_t bytes) {
  return change(policy, [&](Policy& p) -> Status {
    p.workspace_limit_bytes = bytes;
    return {};
  });
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
