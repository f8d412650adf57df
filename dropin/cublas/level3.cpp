// SPDX-License-Identifier: MIT
#include "dropin/cublas/level3.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dropin/cublas/attempt.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/level3_seconds.hpp"
#include "dropin/cublas/native_level3.hpp"
#include "dropin/cublas/solve_block.hpp"
#include "dropin/level3/halves.hpp"
#include "dropin/policy/answer.hpp"
#include "kizami/cuda_triangle.hpp"

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kDeviceFactors = "alpha and beta are in device memory";
constexpr const char* kDiagonal = "diagonal blocks are native, whose accuracy does not do";
constexpr const char* kNoNative = "this cuBLAS has no such function with 64-bit integers";

/// Below, nobody recorded whether the model is right, and calls are too short to ask it for each of their products.
constexpr std::int64_t kLeastOrder = 512;
/// Likewise of what is solved by substitution where all products are cuBLAS'.
constexpr std::int64_t kLeastWidthSolved = 1024;

/// Whether diagonal blocks of the call are solved by substitution, not by cuBLAS.
bool is_solved(const Call& call) { return call.routine == Routine::kTrsm && !is_complex(call.scalar); }

[[nodiscard]] BlockedCall blocked(const Call& call) {
  BlockedCall blocked = blocked_call(call, call.scalar);
  blocked.is_solved = is_solved(call);
  return blocked;
}

/// Who answers a call of default settings, remembered: what it is asked for decides, as in Choice.
struct KeptChoice {
  const Settings* settings;  ///< null: there was no memory to know all products, and another call asks again
  int device;
  BlockedCall call;
  Level3Choice choice;
};

/// Products of a type, as the planner predicts them.
class PredictedProducts {
 public:
  PredictedProducts(Scalar scalar, const Settings& settings) : settings_(settings) { product_.scalar = scalar; }
  double quickest(std::int64_t m, std::int64_t n, std::int64_t k) {
    const Choice& choice = chosen_for(of(m, n, k));
    return choice.why_native == nullptr ? choice.seconds : native(m, n, k);
  }
  double native(std::int64_t m, std::int64_t n, std::int64_t k) { return predicted_native(of(m, n, k)); }
  const Choice& chosen_for(const Call& product) {
    const Choice& choice = chosen(settings_, product);
    are_known_ = are_known_ && choice.settings != nullptr;
    return choice;
  }
  /// Whether the device had memory for what the planner needs there.
  [[nodiscard]] bool are_known() const { return are_known_; }

 private:
  const Call& of(std::int64_t m, std::int64_t n, std::int64_t k) {
    product_.m = m;
    product_.n = n;
    product_.k = k;
    return product_;
  }
  const Settings& settings_;
  Call product_;
  bool are_known_ = true;
};

[[nodiscard]] KeptChoice choose(const Call& call, const Settings& settings, int device) {
  PredictedProducts products(call.scalar, settings);
  double whole = std::numeric_limits<double>::infinity();
  if (has_triangle(call.routine) && !is_rank_2k(call.routine)) {
    Call all;
    all.scalar = call.scalar;
    all.m = all.n = call.n;
    all.k = call.k;
    if (products.chosen_for(all).why_native == nullptr) {
      all.routine = Routine::kGemmt;
      const Choice& triangle = products.chosen_for(all);
      // The one that can leave a triangle out; a workspace that is too small is seen by the call.
      if (triangle.why_native == nullptr && triangle.engine == to_string(EngineName::kHopper)) whole = triangle.seconds;
    }
  }
  const Level3Choice choice = level3_choice(blocked(call), whole, least_gain(settings), products);
  return {products.are_known() ? &settings : nullptr, device, blocked(call), choice};
}

[[nodiscard]] const Level3Choice& level3_choice_of(const Call& call, const Settings& settings) {
  const BlockedCall key = blocked(call);
  const int device = current_device();
  const std::uint64_t rest = reinterpret_cast<std::uintptr_t>(&settings) + 8 * static_cast<std::uint64_t>(device) +
                             static_cast<std::uint64_t>(key.scalar);
  return remembered<KeptChoice>(
             key.order, key.width, static_cast<std::int64_t>(key.routine) * 2 + (key.is_left ? 1 : 0), rest,
             [&](const KeptChoice& kept) {
               return kept.settings == &settings && kept.device == device && kept.call == key;
             },
             [&] { return choose(call, settings, device); })
      .choice;
}

/// The order of the largest diagonal block: where a scheme is asked for, bits are of the call alone.
std::int64_t block_of(const Call& call, const Settings& settings) {
  if (policy_of(settings).scheme != Scheme::kAuto) return fixed_block(blocked(call));
  const std::int64_t block = level3_choice_of(call, settings).block;
  return block > 0 ? block : fixed_block(blocked(call));
}

/// Why symm or hemm is native, or null: as one product, of A written out, it is not predicted to be quicker than a
/// product of cuBLAS'. Where both were measured the native routine took 9 to 31 % more than that.
const char* why_not_written_out(const Call& call, const Settings& settings) {
  const Choice& choice = chosen(settings, call);
  if (choice.why_native != nullptr || policy_of(settings).scheme != Scheme::kAuto) return choice.why_native;
  const Result<double> beside = cuda::symm_seconds(call.scalar, call.k);
  if (!beside.ok()) return kByPlan;
  const double emulated = choice.seconds + beside.value();
  const double native = choice.native_seconds > 0 ? choice.native_seconds : native_alternative(settings, call);
  return native > 0 && native <= emulated ? kByPlan : nullptr;
}

/// With its factors, which are in host memory.
template <class T>
TypedCall<T> typed(const Call& call) {
  return {call,
          factor_at<T>(call.alpha, has_real_alpha(call)),
          static_cast<const T*>(call.a),
          call.lda,
          static_cast<const T*>(call.b),
          call.ldb,
          factor_at<T>(call.beta, has_real_beta(call)),
          static_cast<T*>(call.c),
          call.ldc};
}

/// Does the parts of a call (level3/halves.hpp) in turn, up to the first error.
template <class T>
class Parts {
 public:
  Parts(const Call& call, const Context& context, const Settings& settings)
      : call_(call), context_(context), settings_(settings) {}

  void operator()(const TypedCall<T>& part) {
    if (done_.status != CUBLAS_STATUS_SUCCESS) return;
    done_.status = part.routine == Routine::kGemm ? multiply(part) : block(part);
  }
  [[nodiscard]] const Blocks& done() const { return done_; }

  /// All of a triangle that one product updates, by Kizami, where the planner would give it such a product of all of C.
  /// @return whether that is done; if not, nothing is
  bool multiply_triangle(const TypedCall<T>& x) {
    if (!has_triangle(x.routine) || is_rank_2k(x.routine)) return false;
    Attempt attempted{.why_native = kByPlan};
    level3::for_each_update(x, [&](T alpha, const Operand<T>& left, const Operand<T>& right, T beta) {
      TypedCall<T> product = level3::product_of(x.n, x.n, x.k, alpha, left, right, beta, x.c, x.ldc);
      if (has_device_failed() || chosen(settings_, call_of(product)).why_native != nullptr) return;
      product.routine = Routine::kGemmt;
      product.uplo = x.uplo;
      Call triangle = call_of(product);
      triangle.has_real_diagonal = is_hermitian(x.routine);
      attempted = attempt(triangle, context_, settings_);
    });
    if (attempted.why_native != nullptr) return false;
    attempted.choice.seconds *= fraction_of(x.routine);
    note(attempted);
    done_.is_whole = true;
    done_.whole = attempted.choice;
    done_.status = attempted.status;
    return true;
  }

 private:
  /// By Kizami; natively where the planner prefers it or Kizami refuses.
  cublasStatus_t multiply(const TypedCall<T>& x) {
    const Call product = call_of(x);
    const bool is_tried = !has_device_failed() && chosen(settings_, product).why_native == nullptr;
    const Attempt attempted = is_tried ? attempt(product, context_, settings_) : Attempt{.why_native = kByPlan};
    if (attempted.why_native == nullptr) {
      note(attempted);
      return attempted.status;
    }
    done_.num_short_of_memory += attempted.is_short_of_memory ? 1 : 0;
    ++done_.num_native;
    return NativeLevel3<T>::gemm(call_.handle, x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta,
                                 x.c, x.ldc);
  }

  /// As if the program had called for it. It points to the factors of `x`.
  [[nodiscard]] Call call_of(const TypedCall<T>& x) const {
    Call product;
    static_cast<Shape&>(product) = x;
    product.name = call_.name;
    product.caller = call_.caller;
    product.scalar = call_.scalar;
    product.alpha = &x.alpha;
    product.a = x.a;
    product.lda = x.lda;
    product.b = x.b;
    product.ldb = x.ldb;
    product.beta = &x.beta;
    product.c = x.c;
    product.ldc = x.ldc;
    return product;
  }

  void note(const Attempt& answered) {
    ++done_.num_emulated;
    done_.bound = std::max(done_.bound, answered.choice.bound);
    done_.seconds += answered.choice.seconds;
    if (answered.workspace_limit == 0) return;
    done_.workspace_limit = done_.workspace_limit == 0 ? answered.workspace_limit
                                                       : std::min(done_.workspace_limit, answered.workspace_limit);
  }

  /// By substitution where the kernel is for such a block, else by cuBLAS.
  cublasStatus_t block(const TypedCall<T>& x) {
    if constexpr (!kIsComplex<T>) {
      if (is_solved(call_) && x.k <= kMostSolved && !has_device_failed()) {
        const Status status = solve_block(forward_of(x), context_.stream);
        if (status.ok()) {
          ++done_.num_solved;
          return CUBLAS_STATUS_SUCCESS;
        }
        if (status.code() != StatusCode::kOutOfMemory && !is_in_broken_capture(context_.stream)) {
          // One launch, and it is not enqueued: the block is as it was.
          const cublasStatus_t failed = device_failed(call_, status, true);
          if (failed != CUBLAS_STATUS_SUCCESS) return failed;
        }
      }
    }
    return native_block(x);
  }
  [[nodiscard]] cublasStatus_t native_block(const TypedCall<T>& x) const {
    using Native = NativeLevel3<T>;
    if (has_triangle(x.routine)) return Native::triangle(call_, x.n, x.alpha, x.a, x.b, x.beta, x.c);
    return Native::triangular(call_, x.m, x.n, x.alpha, x.a, x.b, x.c);
  }

  const Call& call_;
  const Context& context_;
  const Settings& settings_;
  Blocks done_;
};

/// What cuBLAS guarantees of a sum of `terms`, in roundings of half a unit: one for each, of complex types two.
double native_roundings(const Call& call, std::int64_t terms) {
  return (is_complex(call.scalar) ? 2.0 : 1.0) * (is_rank_2k(call.routine) ? 2.0 : 1.0) * static_cast<double>(terms);
}

/// The terms of a sum within a diagonal block of that order; with more roundings for one that is solved.
std::int64_t terms_of_block(const Call& call, std::int64_t block) {
  return has_triangle(call.routine) ? call.k : block + (is_solved(call) ? kSolvedRoundings : 0);
}

double native_bound(const Call& call, std::int64_t block) {
  return native_roundings(call, terms_of_block(call, block)) * std::ldexp(1.0, -significand_bits(call.scalar));
}

/// Why blocks of a call cannot be had, or null.
const char* why_no_blocks(const Call& call, const Context& context, const Settings& settings) {
  if (context.has_device_factors) return kDeviceFactors;
  const Accuracy& accuracy = settings.policy.accuracy;
  if (accuracy.kind == Accuracy::Kind::kBits &&
      native_bound(call, block_of(call, settings)) > std::ldexp(1.0, -accuracy.bits))
    return kDiagonal;
  return with_scalar(call.scalar, [&]<class T>() -> const char* {
    if (factor_at<T>(call.alpha, has_real_alpha(call)) == T{}) return kNothing;
    return NativeLevel3<T>::is_there(call.routine) ? nullptr : kNoNative;
  });
}

}  // namespace

Call largest_product(const Call& call) {
  Call product;
  product.scalar = call.scalar;
  product.m = call.m;
  product.n = call.n;
  product.k = call.k;
  if (is_symmetric(call.routine)) return product;
  if (has_triangle(call.routine)) {
    product.m = call.n / 2;
    product.n = call.n - call.n / 2;
  } else if (call.side == 'L') {
    product.m = call.m - call.m / 2;
    product.k = call.k / 2;
  } else {
    product.n = call.n - call.n / 2;
    product.k = call.k / 2;
  }
  return product;
}

const char* why_whole_is_native(const Call& call, const Context& context, const Settings& settings) {
  if (is_symmetric(call.routine)) return why_not_written_out(call, settings);
  if (policy_of(settings).scheme == Scheme::kAuto && level3::order_of(call) < kLeastOrder) return kByPlan;
  if (const char* reason = why_no_blocks(call, context, settings)) return reason;
  const Call product = largest_product(call);
  if (product.m == 0 || product.n == 0 || product.k == 0) return kOneBlock;
  const char* const reason = chosen(settings, product).why_native;
  if (policy_of(settings).scheme != Scheme::kAuto) return reason;
  // The blocks alone may be worth it, or one product of the triangle, whose tiles are more than those of a product beside
  // the diagonal; but not instead of what is refused.
  if (reason != nullptr) {
    if (reason != kByPlan) return reason;
    const bool is_worth_solving = is_solved(call) && blocked(call).width >= kLeastWidthSolved;
    if (!is_worth_solving) return level3_choice_of(call, settings).is_triangle ? nullptr : kByPlan;
  }
  // At an accuracy that cuBLAS does not guarantee of a product, time is not what decides.
  const bool is_bits = settings.policy.accuracy.kind == Accuracy::Kind::kBits;
  if (is_bits && reason == nullptr && native_alternative(settings, product) == 0) return nullptr;
  return level3_choice_of(call, settings).block > 0 ? nullptr : kByPlan;
}

Blocks emulate_blocks(const Call& call, const Context& context, const Settings& settings, std::int64_t block) {
  return with_scalar(call.scalar, [&]<class T>() {
    Parts<T> parts(call, context, settings);
    const TypedCall<T> whole = typed<T>(call);
    if (block == 0 && parts.multiply_triangle(whole)) return parts.done();
    const std::int64_t order = block > 0 ? block : block_of(call, settings);
    level3::by_halves(whole, order, parts);
    Blocks done = parts.done();
    done.block = order;
    return done;
  });
}

Allowance allowance_of(const Call& call, const Blocks& blocks, Gauge gauge, std::int64_t i, std::int64_t j) {
  const bool has_native_products = blocks.num_native > 0;
  if (blocks.is_whole) return {blocks.bound, gauge, kEpilogueRoundings};
  if (has_triangle(call.routine)) {
    const double native = native_roundings(call, call.k);
    if (level3::is_in_diagonal_block(call.n, blocks.block, i, j)) return {0, gauge, kEpilogueRoundings + native};
    return {blocks.bound, gauge, kEpilogueRoundings + (has_native_products ? native : 0)};
  }
  // A block of cuBLAS', and the epilogues of what is added by halves, with twice the roundings for complex factors.
  const double native = native_roundings(call, has_native_products ? call.k : terms_of_block(call, blocks.block));
  const double halvings = 1 + std::log2(static_cast<double>(call.k) / static_cast<double>(blocks.block));
  return {blocks.bound, gauge, native + 2 * kEpilogueRoundings * (1 + halvings)};
}

}  // namespace kizami::dropin::cublas
