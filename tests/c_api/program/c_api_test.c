/* SPDX-License-Identifier: MIT
 * The C ABI as a user of C99 meets it; compiled as C++ too. Products are of small integers, so every right result is
 * known exactly and compared by ==. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "kizami/kizami.h"

enum { kM = 5, kN = 4, kK = 7, kLd = 9, kMaxElements = 16 * 9 };

/* ---- Matrices of small integers ---------------------------------------------------------------------------------- */

/* One real or imaginary part of element e of matrix number `which`. */
static int part(int which, int e, int i_part) { return (e * 7 + which * 3 + i_part * 5) % 11 - 5; }

static int parts_of(kizami_scalar scalar) { return scalar >= KIZAMI_C64 ? 2 : 1; }
static int is_single(kizami_scalar scalar) { return scalar == KIZAMI_F32 || scalar == KIZAMI_C64; }
static size_t size_of(kizami_scalar scalar) { return (is_single(scalar) ? 4u : 8u) * (size_t)parts_of(scalar); }

static double get(kizami_scalar scalar, const void* x, int e, int i_part) {
  const int at = e * parts_of(scalar) + i_part;
  return is_single(scalar) ? (double)((const float*)x)[at] : ((const double*)x)[at];
}
static void put(kizami_scalar scalar, void* x, int e, int i_part, double value) {
  const int at = e * parts_of(scalar) + i_part;
  if (is_single(scalar)) {
    ((float*)x)[at] = (float)value;
  } else {
    ((double*)x)[at] = value;
  }
}
static void fill(kizami_scalar scalar, int which, void* x) {
  int e, p;
  for (e = 0; e < kMaxElements; ++e) {
    for (p = 0; p < parts_of(scalar); ++p) put(scalar, x, e, p, part(which, e, p));
  }
}

/* Where element (i, j) of op(X) lies. */
static int index_of(kizami_layout layout, kizami_op op, int i, int j) {
  const int is_transposed = op == KIZAMI_TRANSPOSE || op == KIZAMI_CONJ_TRANSPOSE;
  const int row = is_transposed ? j : i, col = is_transposed ? i : j;
  return layout == KIZAMI_COL_MAJOR ? row + col * kLd : row * kLd + col;
}
static double op_get(kizami_scalar scalar, kizami_layout layout, kizami_op op, const void* x, int i, int j, int p) {
  const double value = p < parts_of(scalar) ? get(scalar, x, index_of(layout, op, i, j), p) : 0;
  return p == 1 && (op == KIZAMI_CONJ_TRANSPOSE || op == KIZAMI_CONJUGATE) ? -value : value;
}

/* C <- (2 - i) op(A) op(B) + 3 C, or with 2 for real types; all integers, so without rounding. */
static void reference(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b, const void* a,
                      const void* b, void* c) {
  const double alpha_im = parts_of(scalar) == 2 ? -1 : 0;
  int i, j, l;
  for (i = 0; i < kM; ++i) {
    for (j = 0; j < kN; ++j) {
      double re = 0, im = 0;
      const int at = index_of(layout, KIZAMI_NONE, i, j);
      for (l = 0; l < kK; ++l) {
        const double a_re = op_get(scalar, layout, op_a, a, i, l, 0), a_im = op_get(scalar, layout, op_a, a, i, l, 1);
        const double b_re = op_get(scalar, layout, op_b, b, l, j, 0), b_im = op_get(scalar, layout, op_b, b, l, j, 1);
        re += a_re * b_re - a_im * b_im;
        im += a_re * b_im + a_im * b_re;
      }
      put(scalar, c, at, 0, 2 * re - alpha_im * im + 3 * get(scalar, c, at, 0));
      if (parts_of(scalar) == 2) put(scalar, c, at, 1, 2 * im + alpha_im * re + 3 * get(scalar, c, at, 1));
    }
  }
}

/* Room for a matrix of any type. */
typedef struct {
  double values[2 * kMaxElements];
} Matrix;

typedef struct {
  kizami_scalar scalar;
  Matrix a, b, c, wanted;
  double alpha[2], beta[2]; /* as the type holds them */
} Operands;

static void set_operands(Operands* x, kizami_scalar scalar) {
  memset(x, 0, sizeof *x);
  x->scalar = scalar;
  fill(scalar, 1, &x->a);
  fill(scalar, 2, &x->b);
  fill(scalar, 3, &x->c);
  x->wanted = x->c;
  put(scalar, x->alpha, 0, 0, 2);
  put(scalar, x->beta, 0, 0, 3);
  if (parts_of(scalar) == 2) put(scalar, x->alpha, 0, 1, -1);
}
static int is_as_wanted(const Operands* x) { return memcmp(&x->c, &x->wanted, sizeof x->c) == 0; }

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void test_version(void) {
  char text[64];
  sprintf(text, "%d.%d.%d", KIZAMI_VERSION_MAJOR, KIZAMI_VERSION_MINOR, KIZAMI_VERSION_PATCH);
  CHECK(strcmp(kizami_version(), text) == 0);
  CHECK(kizami_version_number() == KIZAMI_VERSION_NUMBER);
}

static void test_status_names(void) {
  static const char* const names[] = {
      "ok",         "invalid_argument", "unsupported", "accuracy_unreachable", "workspace_too_small", "out_of_memory",
      "non_finite", "internal"};
  int status;
  for (status = KIZAMI_OK; status <= KIZAMI_INTERNAL; ++status) {
    CHECK(strcmp(kizami_status_name(status), names[status]) == 0);
  }
  CHECK(strcmp(kizami_status_name(-1), "unknown") == 0);
  CHECK(strcmp(kizami_status_name(KIZAMI_INTERNAL + 1), "unknown") == 0);
}

static void test_gemm_of_every_type(void) {
  int scalar, layout, op_a, op_b;
  for (scalar = KIZAMI_F32; scalar <= KIZAMI_C128; ++scalar) {
    for (layout = KIZAMI_COL_MAJOR; layout <= KIZAMI_ROW_MAJOR; ++layout) {
      for (op_a = KIZAMI_NONE; op_a <= KIZAMI_CONJUGATE; ++op_a) {
        for (op_b = KIZAMI_NONE; op_b <= KIZAMI_CONJUGATE; ++op_b) {
          Operands x;
          set_operands(&x, scalar);
          reference(scalar, layout, op_a, op_b, &x.a, &x.b, &x.wanted);
          CHECK(kizami_gemm(scalar, layout, op_a, op_b, kM, kN, kK, x.alpha, &x.a, kLd, &x.b, kLd, x.beta, &x.c, kLd,
                            NULL, NULL) == KIZAMI_OK);
          CHECK(is_as_wanted(&x));
        }
      }
    }
  }
}

static void test_typed_functions(void) {
  Operands x;
  const kizami_layout layout = KIZAMI_ROW_MAJOR;
  set_operands(&x, KIZAMI_F32);
  reference(KIZAMI_F32, layout, KIZAMI_NONE, KIZAMI_TRANSPOSE, &x.a, &x.b, &x.wanted);
  CHECK(kizami_sgemm(layout, KIZAMI_NONE, KIZAMI_TRANSPOSE, kM, kN, kK, 2, (const float*)x.a.values, kLd,
                     (const float*)x.b.values, kLd, 3, (float*)x.c.values, kLd, NULL, NULL) == KIZAMI_OK);
  CHECK(is_as_wanted(&x));
  set_operands(&x, KIZAMI_F64);
  reference(KIZAMI_F64, layout, KIZAMI_TRANSPOSE, KIZAMI_NONE, &x.a, &x.b, &x.wanted);
  CHECK(kizami_dgemm(layout, KIZAMI_TRANSPOSE, KIZAMI_NONE, kM, kN, kK, 2, x.a.values, kLd, x.b.values, kLd, 3,
                     x.c.values, kLd, NULL, NULL) == KIZAMI_OK);
  CHECK(is_as_wanted(&x));
  set_operands(&x, KIZAMI_C64);
  reference(KIZAMI_C64, layout, KIZAMI_CONJ_TRANSPOSE, KIZAMI_NONE, &x.a, &x.b, &x.wanted);
  CHECK(kizami_cgemm(layout, KIZAMI_CONJ_TRANSPOSE, KIZAMI_NONE, kM, kN, kK, x.alpha, &x.a, kLd, &x.b, kLd, x.beta,
                     &x.c, kLd, NULL, NULL) == KIZAMI_OK);
  CHECK(is_as_wanted(&x));
  set_operands(&x, KIZAMI_C128);
  reference(KIZAMI_C128, layout, KIZAMI_NONE, KIZAMI_CONJUGATE, &x.a, &x.b, &x.wanted);
  CHECK(kizami_zgemm(layout, KIZAMI_NONE, KIZAMI_CONJUGATE, kM, kN, kK, x.alpha, &x.a, kLd, &x.b, kLd, x.beta, &x.c,
                     kLd, NULL, NULL) == KIZAMI_OK);
  CHECK(is_as_wanted(&x));
}

static void test_gemm_refusals(void) {
  Operands x;
  set_operands(&x, KIZAMI_F64);
#define GEMM(scalar, layout, op_a, op_b, m, alpha, a, lda, beta, c)                                                    \
  kizami_gemm((scalar), (layout), (op_a), (op_b), (m), kN, kK, (alpha), (a), (lda), &x.b, kLd, (beta), (c), kLd, NULL, \
              NULL)
  CHECK_ERROR(GEMM(4, 0, 0, 0, kM, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT,
              "scalar = 4, must be in 0..3");
  CHECK_ERROR(GEMM(-1, 0, 0, 0, kM, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "scalar = -1");
  CHECK_ERROR(GEMM(1, 2, 0, 0, kM, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "layout = 2");
  CHECK_ERROR(GEMM(1, 0, 4, 0, kM, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "op_a = 4");
  CHECK_ERROR(GEMM(1, 0, 0, 'n', kM, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "op_b = 110");
  CHECK_ERROR(GEMM(1, 0, 0, 0, -1, x.alpha, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "m = -1");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, NULL, &x.a, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "alpha is NULL");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, x.alpha, NULL, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "A is null");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, x.alpha, &x.a, kM - 1, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "lda = 4");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, x.alpha, &x.a, kLd, NULL, &x.c), KIZAMI_INVALID_ARGUMENT, "beta is NULL");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, x.alpha, &x.a, kLd, x.beta, NULL), KIZAMI_INVALID_ARGUMENT, "C is null");
  CHECK_ERROR(GEMM(1, 0, 0, 0, kM, x.alpha, &x.c, kLd, x.beta, &x.c), KIZAMI_INVALID_ARGUMENT, "overlaps");
  CHECK(is_as_wanted(&x)); /* untouched */
  put(KIZAMI_F64, x.alpha, 0, 0, 0);
  put(KIZAMI_F64, x.beta, 0, 0, 1);
  CHECK(GEMM(1, 0, 0, 0, kM, x.alpha, NULL, kLd, x.beta, &x.c) == KIZAMI_OK); /* alpha = 0 never reads A */
  CHECK(strcmp(kizami_last_error(), "") == 0);
#undef GEMM
}

static void* failing_thread(void* unused) {
  (void)unused;
  CHECK(strcmp(kizami_last_error(), "") == 0);
  CHECK_ERROR(kizami_policy_set_gauge(NULL, 0), KIZAMI_INVALID_ARGUMENT, "policy is NULL");
  return NULL;
}

static void test_last_error_belongs_to_its_thread(void) {
  pthread_t thread;
  CHECK_ERROR(kizami_prepared_size(NULL, NULL), KIZAMI_INVALID_ARGUMENT, "prepared is NULL");
  CHECK(pthread_create(&thread, NULL, failing_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(strcmp(kizami_last_error(), "prepared is NULL") == 0);
  CHECK(kizami_machine_report(NULL, 0, NULL) == KIZAMI_OK);
  CHECK(strcmp(kizami_last_error(), "") == 0);
}

static void test_policies(void) {
  kizami_policy* policy = NULL;
  Operands x;
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  info.struct_size = sizeof info;
  CHECK_ERROR(kizami_policy_create(NULL), KIZAMI_INVALID_ARGUMENT, "policy is NULL");
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK && policy != NULL);
  CHECK_ERROR(kizami_policy_set_accuracy(policy, 3, 0), KIZAMI_INVALID_ARGUMENT, "kind = 3");
  CHECK_ERROR(kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, 0), KIZAMI_INVALID_ARGUMENT, "bits = 0");
  CHECK_ERROR(kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, 53), KIZAMI_INVALID_ARGUMENT, "bits = 53");
  CHECK_ERROR(kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_NATIVE, 1), KIZAMI_INVALID_ARGUMENT, "bits = 1");
  CHECK_ERROR(kizami_policy_set_gauge(policy, 2), KIZAMI_INVALID_ARGUMENT, "gauge = 2");
  CHECK_ERROR(kizami_policy_set_scheme(policy, 5), KIZAMI_INVALID_ARGUMENT, "scheme = 5");
  CHECK_ERROR(kizami_policy_set_engine(policy, -1), KIZAMI_INVALID_ARGUMENT, "engine = -1");
  CHECK_ERROR(kizami_policy_set_engine(policy, 9), KIZAMI_INVALID_ARGUMENT, "engine = 9");
  CHECK_ERROR(kizami_policy_set_karatsuba(policy, 2), KIZAMI_INVALID_ARGUMENT, "is_wanted = 2");
  CHECK_ERROR(kizami_policy_set_slices(policy, 21, 0), KIZAMI_INVALID_ARGUMENT, "num_slices = 21");
  CHECK_ERROR(kizami_policy_set_slices(policy, 3, -2), KIZAMI_INVALID_ARGUMENT, "num_diagonals = -2");
  CHECK_ERROR(kizami_policy_set_digits(policy, 5, 0, 0, 0), KIZAMI_INVALID_ARGUMENT, "format = 5");
  CHECK_ERROR(kizami_policy_set_digits(policy, 0, 4, 0, 0), KIZAMI_INVALID_ARGUMENT, "split = 4");
  CHECK_ERROR(kizami_policy_set_digits(policy, 0, 0, 12, 0), KIZAMI_INVALID_ARGUMENT, "slice_bits = 12");
  CHECK_ERROR(kizami_policy_set_digits(policy, 0, 0, 0, 2), KIZAMI_INVALID_ARGUMENT, "has_one_scale = 2");
  CHECK_ERROR(kizami_policy_set_slice_sums(policy, 7), KIZAMI_INVALID_ARGUMENT, "sums = 7");
  CHECK_ERROR(kizami_policy_set_slice_blocks(policy, -1, 0), KIZAMI_INVALID_ARGUMENT, "lines = -1");
  CHECK_ERROR(kizami_policy_set_slice_blocks(policy, 0, 9), KIZAMI_INVALID_ARGUMENT, "num_streams = 9");
  CHECK_ERROR(kizami_policy_set_complex_form(policy, 4), KIZAMI_INVALID_ARGUMENT, "form = 4");
  CHECK_ERROR(kizami_policy_set_variant(policy, 12, 0, 0), KIZAMI_INVALID_ARGUMENT, "variant = 12");
  CHECK_ERROR(kizami_policy_set_variant(policy, 1, 2, 0), KIZAMI_INVALID_ARGUMENT, "keep_small_term = 2");
  CHECK_ERROR(kizami_policy_set_variant(policy, 1, 0, 24), KIZAMI_INVALID_ARGUMENT, "promotion_k = 24");
  CHECK_ERROR(kizami_policy_set_reproducibility(policy, 2), KIZAMI_INVALID_ARGUMENT, "promise = 2");
  CHECK_ERROR(kizami_policy_set_fp64_arithmetic(policy, 2), KIZAMI_INVALID_ARGUMENT, "is_allowed = 2");
  CHECK_ERROR(kizami_policy_set_reject_nonfinite(policy, -1), KIZAMI_INVALID_ARGUMENT, "is_rejected = -1");
  CHECK_ERROR(kizami_policy_set_moduli(policy, -1), KIZAMI_INVALID_ARGUMENT, "num_moduli = -1");
  CHECK_ERROR(kizami_policy_set_threads(policy, -1), KIZAMI_INVALID_ARGUMENT, "num_threads = -1");
  CHECK_ERROR(kizami_policy_set_workspace_limit(NULL, 1), KIZAMI_INVALID_ARGUMENT, "policy is NULL");

  CHECK_ERROR(kizami_policy_set_moduli(policy, 65), KIZAMI_INVALID_ARGUMENT, "num_moduli = 65, must be in 0..64");
  CHECK_ERROR(kizami_policy_set_threads(policy, 32768), KIZAMI_INVALID_ARGUMENT, "num_threads = 32768");

  CHECK(kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, 30) == KIZAMI_OK);
  CHECK(kizami_policy_set_gauge(policy, KIZAMI_GAUGE_NORM) == KIZAMI_OK);
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_OZAKI2) == KIZAMI_OK);
  CHECK(kizami_policy_set_engine(policy, KIZAMI_ENGINE_CPU_REF) == KIZAMI_OK);
  CHECK(kizami_policy_set_reproducibility(policy, KIZAMI_REPRODUCIBILITY_NONE) == KIZAMI_OK);
  CHECK(kizami_policy_set_threads(policy, 1) == KIZAMI_OK);
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, 30, 20, 10, policy) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK);
  CHECK(info.scalar == KIZAMI_F64 && info.m == 30 && info.n == 20 && info.k == 10);
  CHECK(info.scheme == KIZAMI_SCHEME_OZAKI2 && info.gauge == KIZAMI_GAUGE_NORM);
  CHECK(strcmp(info.engine, "cpu_ref") == 0);
  CHECK(info.bound > 0 && info.bound <= 1.0 / (1 << 30));
  CHECK(info.base_moduli > 0 && info.base_moduli <= info.max_moduli && info.workspace_bytes > 0);
  kizami_plan_destroy(plan);

  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F32, 30, 20, 10, policy), KIZAMI_INVALID_ARGUMENT, "bits = 30");
  CHECK(kizami_policy_set_workspace_limit(policy, 1) == KIZAMI_OK);
  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F64, 30, 20, 10, policy), KIZAMI_WORKSPACE_TOO_SMALL,
              "workspace limit = 1");
  CHECK(kizami_policy_set_workspace_limit(policy, 0) == KIZAMI_OK);
  CHECK(kizami_policy_set_moduli(policy, 1) == KIZAMI_OK); /* the planner knows the range */
  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F64, 30, 20, 10, policy), KIZAMI_INVALID_ARGUMENT, "moduli = 1");
  kizami_policy_destroy(policy);
  kizami_policy_destroy(NULL);

  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_reject_nonfinite(policy, 1) == KIZAMI_OK);
  set_operands(&x, KIZAMI_F64);
  put(KIZAMI_F64, &x.a, 2, 0, strtod("inf", NULL));
  CHECK_ERROR(
      kizami_gemm(KIZAMI_F64, 0, 0, 0, kM, kN, kK, x.alpha, &x.a, kLd, &x.b, kLd, x.beta, &x.c, kLd, policy, NULL),
      KIZAMI_NON_FINITE, "rows of op(A)");
  CHECK(is_as_wanted(&x));
  kizami_policy_destroy(policy);
}

/* Scheme ec: ones times halves, whose sums are exact in every variant. */
/* Wishes by their words: what functions set is read, and what is set changes products. */
static void test_wishes_in_words(void) {
  kizami_policy* policy = NULL;
  char text[16384];
  size_t length = 0;
  double one = 1, zero = 0, c = 0;
  kizami_outcome outcome;
  outcome.struct_size = sizeof outcome;
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK_ERROR(kizami_policy_set(NULL, "threads", "1"), KIZAMI_INVALID_ARGUMENT, "policy is NULL");
  CHECK_ERROR(kizami_policy_set(policy, NULL, "1"), KIZAMI_INVALID_ARGUMENT, "key is NULL");
  CHECK_ERROR(kizami_policy_set(policy, "threads", NULL), KIZAMI_INVALID_ARGUMENT, "value is NULL");
  CHECK_ERROR(kizami_policy_set(policy, "thread", "1"), KIZAMI_INVALID_ARGUMENT, "the wish 'thread' is unknown");
  CHECK_ERROR(kizami_policy_set(policy, "engine", "gpu"), KIZAMI_INVALID_ARGUMENT,
              "engine = 'gpu', must be one of auto");
  CHECK_ERROR(kizami_policy_get(policy, "thread", text, sizeof text, NULL), KIZAMI_INVALID_ARGUMENT, "'thread'");
  CHECK_ERROR(kizami_policy_get(policy, NULL, text, sizeof text, NULL), KIZAMI_INVALID_ARGUMENT, "key is NULL");
  CHECK_ERROR(kizami_policy_get(policy, "gauge", NULL, 1, NULL), KIZAMI_INVALID_ARGUMENT, "buffer is NULL");

  CHECK(kizami_policy_set_gauge(policy, KIZAMI_GAUGE_NORM) == KIZAMI_OK);
  CHECK(kizami_policy_get(policy, "gauge", text, sizeof text, &length) == KIZAMI_OK);
  CHECK(strcmp(text, "norm") == 0 && length == 4);
  CHECK(kizami_policy_get(NULL, "gauge", text, sizeof text, NULL) == KIZAMI_OK && strcmp(text, "entry") == 0);
  CHECK(kizami_policy_get(policy, "engine", text, 3, &length) == KIZAMI_OK && strcmp(text, "au") == 0 && length == 4);

  CHECK(kizami_policy_set(policy, "accuracy", "bits=30") == KIZAMI_OK);
  CHECK(kizami_policy_set(policy, "engine", "tile") == KIZAMI_OK);
  CHECK(kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 1, 1, 1, one, &one, 1, &one, 1, zero, &c, 1, policy,
                     &outcome) == KIZAMI_OK);
  CHECK(c == 1 && outcome.bound <= ldexp(1, -30) && outcome.bound > 0);
  CHECK(outcome.gauge == KIZAMI_GAUGE_NORM && strcmp(outcome.engine, "tile") == 0);

  CHECK(kizami_policy_help(text, sizeof text, &length) == KIZAMI_OK && length < sizeof text);
  CHECK(strstr(text, "\ngauge=entry (entry, norm): ") != NULL && strstr(text, "\nslices=0 (-1..20): ") != NULL);
  kizami_policy_destroy(policy);
}

static void test_error_corrected_products(void) {
  enum { kSize = 12, kTerms = 200 };
  static float a[kSize * kTerms], b[kTerms * kSize], c[kSize * kSize];
  kizami_policy* policy = NULL;
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  kizami_outcome outcome;
  int i;
  info.struct_size = sizeof info;
  outcome.struct_size = sizeof outcome;
  for (i = 0; i < kSize * kTerms; ++i) {
    a[i] = 1.0f;
    b[i] = 0.5f;
  }
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_EC) == KIZAMI_OK);
  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F32, kSize, kSize, kTerms, policy), KIZAMI_UNSUPPORTED,
              "reproducibility engine");
  CHECK(kizami_policy_set_reproducibility(policy, KIZAMI_REPRODUCIBILITY_NONE) == KIZAMI_OK);
  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F64, kSize, kSize, kTerms, policy), KIZAMI_UNSUPPORTED, "f32 and c64");
  CHECK(kizami_policy_set_variant(policy, KIZAMI_VARIANT_HALFHALF, 1, 128) == KIZAMI_OK);
  CHECK(kizami_policy_set_engine(policy, KIZAMI_ENGINE_TC_MODEL) == KIZAMI_OK);
  CHECK(kizami_plan_create(&plan, KIZAMI_F32, kSize, kSize, kTerms, policy) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK && info.scheme == KIZAMI_SCHEME_EC);
  CHECK(info.variant == KIZAMI_VARIANT_HALFHALF && strcmp(info.engine, "tc_model") == 0 && info.bound > 0);
  kizami_plan_destroy(plan);
  CHECK(kizami_sgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kSize, kSize, kTerms, 1.0f, a, kSize, b, kTerms, 0.0f,
                     c, kSize, policy, &outcome) == KIZAMI_OK);
  CHECK(outcome.scheme == KIZAMI_SCHEME_EC && outcome.variant == KIZAMI_VARIANT_HALFHALF);
  CHECK(outcome.reserved_2 == 0 && c[0] == 100.0f && c[kSize * kSize - 1] == 100.0f);
  kizami_policy_destroy(policy);
}

/* Scheme ozaki1: integers of 12 bits, which two slices of signed bytes hold and one does not. */
static void test_slices(void) {
  enum { kSize = 6, kTerms = 40, kCount = 2 };
  static double a[kSize * kTerms], b[kCount * kTerms * kSize], c[kCount * kSize * kSize];
  const double one = 1, zero = 0;
  kizami_policy* policy = NULL;
  kizami_outcome outcome;
  int i;
  outcome.struct_size = sizeof outcome;
  for (i = 0; i < kSize * kTerms; ++i) {
    a[i] = i % 2 == 0 ? 2049 : -3;
    b[i] = 1;
    b[kSize * kTerms + i] = i % 2 == 0 ? 1 : 2047;
  }
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_OZAKI1) == KIZAMI_OK);
#define GEMM()                                                                                                      \
  kizami_dgemm(KIZAMI_ROW_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kSize, kSize, kTerms, one, a, kTerms, b, kSize, zero, c, \
               kSize, policy, &outcome)
  CHECK(kizami_policy_set_slices(policy, 3, 0) == KIZAMI_OK);
  CHECK(GEMM() == KIZAMI_OK && outcome.scheme == KIZAMI_SCHEME_OZAKI1 && outcome.slices == 3 && outcome.moduli == 0);
  CHECK(kizami_policy_set_slices(policy, -1, 0) == KIZAMI_OK);
  CHECK(GEMM() == KIZAMI_OK && outcome.slices == 2 && outcome.is_conditional == 0);
  CHECK(c[0] == kTerms / 2 * 2046.0);
  outcome.struct_size = offsetof(kizami_outcome, slices); /* a caller of a version without them */
  outcome.slices = 0x5a5a5a5a;
  CHECK(GEMM() == KIZAMI_OK && outcome.scheme == KIZAMI_SCHEME_OZAKI1 && outcome.slices == 0x5a5a5a5a);
  outcome.struct_size = sizeof outcome;
  for (i = 0; i < kSize * kTerms; ++i) a[i] = 1;
  CHECK(GEMM() == KIZAMI_OK && outcome.slices == 1);
  CHECK(kizami_policy_set_slices(policy, 0, 0) == KIZAMI_OK);
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_NATIVE) == KIZAMI_OK);
  CHECK(GEMM() == KIZAMI_OK && outcome.scheme == KIZAMI_SCHEME_NATIVE && outcome.is_conditional == 0);
  a[0] = 1e308;
  CHECK(GEMM() == KIZAMI_OK && outcome.is_conditional == 1);
  a[0] = 1;
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_OZAKI1) == KIZAMI_OK);
  CHECK(kizami_policy_set_slices(policy, -1, 0) == KIZAMI_OK);
  CHECK(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_ROW_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kSize, kSize, kTerms, &one,
                                    a, kTerms, 0, b, kSize, kTerms * kSize, &zero, c, kSize, kSize * kSize, kCount,
                                    policy, &outcome) == KIZAMI_OK);
  CHECK(outcome.slices == 2); /* of the second product; the first has one */
  CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_OZAKI2) == KIZAMI_OK);
  CHECK(kizami_policy_set_slices(policy, 0, 0) == KIZAMI_OK);
  CHECK(GEMM() == KIZAMI_OK && outcome.slices == 0 && outcome.moduli > 0);
#undef GEMM
  kizami_policy_destroy(policy);
}

/* The members of a policy that show only in what is decided. */
static void test_what_policies_change(void) {
  enum { kSize = 256, kRows = 6, kTerms = 30 };
  kizami_policy* policy = NULL;
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  kizami_outcome outcome;
  char text[4096];
  double a[kRows * kTerms], b[kTerms * kRows], c[kRows * kRows];
  int e;
  info.struct_size = sizeof info;
  outcome.struct_size = sizeof outcome;
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_reproducibility(policy, KIZAMI_REPRODUCIBILITY_NONE) == KIZAMI_OK);
  CHECK(kizami_policy_set_threads(policy, 3) == KIZAMI_OK);
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, kSize, kSize, kSize, policy) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK && info.scheme == KIZAMI_SCHEME_NATIVE);
  CHECK(info.base_moduli == 0 && info.workspace_bytes > 0 && /* for ozaki2, behind it */
        strcmp(info.engine, "native_blas") == 0);
  CHECK(kizami_plan_explain(plan, text, sizeof text, NULL) == KIZAMI_OK);
  CHECK(strstr(text, "threads       3") != NULL);
  kizami_plan_destroy(plan);
  CHECK(kizami_policy_set_reproducibility(policy, KIZAMI_REPRODUCIBILITY_ENGINE) == KIZAMI_OK);
  CHECK(kizami_policy_set_moduli(policy, 16) == KIZAMI_OK);
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, kSize, kSize, kSize, policy) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK && info.base_moduli == 16 && info.max_moduli == 16);
  kizami_plan_destroy(plan);
  kizami_policy_destroy(policy);

  /* Exponents that no number of moduli carries: FP64 arithmetic, or a refusal. */
  for (e = 0; e < kRows * kTerms; ++e) {
    a[e] = ldexp(1.0 + part(1, e, 0) / 17.0, e * 389 % 941 - 470);
    b[e] = ldexp(1.0 + part(2, e, 0) / 19.0, e * 577 % 941 - 470);
  }
#define GEMM(policy)                                                                                                  \
  kizami_dgemm(KIZAMI_ROW_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kRows, kRows, kTerms, 1, a, kTerms, b, kRows, 0, c, kRows, \
               (policy), &outcome)
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(GEMM(policy) == KIZAMI_OK && (outcome.repaired > 0 || outcome.rung == -1));
  CHECK(kizami_policy_set_fp64_arithmetic(policy, 0) == KIZAMI_OK);
  CHECK_ERROR(GEMM(policy), KIZAMI_ACCURACY_UNREACHABLE, "need FP64 arithmetic");
  CHECK(kizami_policy_set_fp64_arithmetic(policy, 1) == KIZAMI_OK);
  CHECK(GEMM(policy) == KIZAMI_OK);
  kizami_policy_destroy(policy);
#undef GEMM
}

static void test_outcome_sizes(void) {
  Operands x;
  struct {
    kizami_outcome outcome;
    unsigned char beyond[16];
  } newer;
  kizami_outcome exact;
  size_t i;
  set_operands(&x, KIZAMI_F64);
  memset(&newer, 0x5a, sizeof newer);
#define GEMM(outcome) \
  kizami_gemm(KIZAMI_F64, 0, 0, 0, kM, kN, kK, x.alpha, &x.a, kLd, &x.b, kLd, x.beta, &x.c, kLd, NULL, (outcome))
  newer.outcome.struct_size = 0;
  CHECK_ERROR(GEMM(&newer.outcome), KIZAMI_INVALID_ARGUMENT, "outcome->struct_size = 0");
  newer.outcome.struct_size = offsetof(kizami_outcome, variant) - 1; /* one less than version 0.1 had */
  CHECK_ERROR(GEMM(&newer.outcome), KIZAMI_INVALID_ARGUMENT, "outcome->struct_size");
  memset(&newer.outcome.struct_size, 0x5a, sizeof newer.outcome.struct_size);
  CHECK_ERROR(GEMM(&newer.outcome), KIZAMI_INVALID_ARGUMENT, "outcome->struct_size");
  CHECK(is_as_wanted(&x));
  CHECK(newer.beyond[0] == 0x5a && newer.outcome.reserved == 0x5a5a5a5a);

  newer.outcome.struct_size = offsetof(kizami_outcome, variant); /* a caller of version 0.1 */
  CHECK(GEMM(&newer.outcome) == KIZAMI_OK);
  CHECK(newer.outcome.reserved == 0 && newer.outcome.variant == 0x5a5a5a5a);
  newer.outcome.struct_size = sizeof newer.outcome; /* nothing beyond is written */
  CHECK(GEMM(&newer.outcome) == KIZAMI_OK);
  for (i = 0; i < sizeof newer.beyond; ++i) CHECK(newer.beyond[i] == 0x5a);
  newer.outcome.struct_size = sizeof newer; /* what this library does not know is zero */
  CHECK(GEMM(&newer.outcome) == KIZAMI_OK);
  for (i = 0; i < sizeof newer.beyond; ++i) CHECK(newer.beyond[i] == 0);
  CHECK(newer.outcome.struct_size == sizeof newer);
  exact.struct_size = sizeof exact;
  CHECK(GEMM(&exact) == KIZAMI_OK);
  CHECK(exact.scheme == KIZAMI_SCHEME_OZAKI2 && exact.gauge == KIZAMI_GAUGE_ENTRY && exact.bound > 0);
  CHECK(strncmp(exact.engine, "cpu_", 4) == 0 && exact.repaired == 0 && exact.nonfinite_rows == 0);
  put(KIZAMI_F64, &x.a, 2, 0, strtod("nan", NULL));
  CHECK(GEMM(&exact) == KIZAMI_OK);
  CHECK(exact.nonfinite_rows == 1 && exact.nonfinite_cols == 0);
#undef GEMM
}

static void test_plans(void) {
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  char whole[4096], cut[8];
  size_t length = 0, cut_length = 0;
  CHECK_ERROR(kizami_plan_create(NULL, KIZAMI_F64, 1, 1, 1, NULL), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_plan_create(&plan, 9, 1, 1, 1, NULL), KIZAMI_INVALID_ARGUMENT, "scalar = 9");
  CHECK_ERROR(kizami_plan_create(&plan, KIZAMI_F64, 1, -1, 1, NULL), KIZAMI_INVALID_ARGUMENT, "n = -1");
  CHECK(plan == NULL);
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, kM, kN, kK, NULL) == KIZAMI_OK);
  CHECK_ERROR(kizami_plan_query(NULL, &info), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_plan_query(plan, NULL), KIZAMI_INVALID_ARGUMENT, "info is NULL");
  info.struct_size = 8;
  CHECK_ERROR(kizami_plan_query(plan, &info), KIZAMI_INVALID_ARGUMENT, "info->struct_size = 8");

  CHECK_ERROR(kizami_plan_explain(NULL, NULL, 0, &length), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_plan_explain(plan, NULL, 1, &length), KIZAMI_INVALID_ARGUMENT, "buffer is NULL");
  CHECK(kizami_plan_explain(plan, NULL, 0, &length) == KIZAMI_OK);
  CHECK(length > sizeof cut && length < sizeof whole);
  memset(whole, '#', sizeof whole);
  CHECK(kizami_plan_explain(plan, whole, length + 1, NULL) == KIZAMI_OK);
  CHECK(strlen(whole) == length && whole[length + 1] == '#' && strstr(whole, "ozaki2") != NULL);
  CHECK(kizami_plan_explain(plan, cut, sizeof cut, &cut_length) == KIZAMI_OK);
  CHECK(cut_length == length && strlen(cut) == sizeof cut - 1 && memcmp(cut, whole, sizeof cut - 1) == 0);
  CHECK(kizami_machine_report(whole, sizeof whole, &length) == KIZAMI_OK && strlen(whole) == length && length > 0);
  kizami_plan_destroy(plan);
  kizami_plan_destroy(NULL);
}

static void test_run_and_prepared_operands(void) {
  int scalar;
  for (scalar = KIZAMI_F32; scalar <= KIZAMI_C128; ++scalar) {
    Operands x;
    Matrix before;
    kizami_plan* plan = NULL;
    kizami_prepared *a = NULL, *b = NULL;
    kizami_plan_info info;
    kizami_outcome outcome;
    char *memory, *workspace;
    size_t bytes = 0;
    const kizami_op op_a = KIZAMI_CONJ_TRANSPOSE, op_b = KIZAMI_NONE;
    set_operands(&x, scalar);
    before = x.c;
    reference(scalar, KIZAMI_ROW_MAJOR, op_a, op_b, &x.a, &x.b, &x.wanted);
    info.struct_size = sizeof info;
    outcome.struct_size = sizeof outcome;
    CHECK(kizami_plan_create(&plan, scalar, kM, kN, kK, NULL) == KIZAMI_OK);
    CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK);
    memory = (char*)malloc(info.workspace_bytes + 64);
    workspace = memory + (64 - (size_t)(uintptr_t)memory % 64) % 64;
#define RUN(plan, work, size)                                                                                        \
  kizami_run((plan), KIZAMI_ROW_MAJOR, op_a, op_b, x.alpha, &x.a, kLd, &x.b, kLd, x.beta, &x.c, kLd, (work), (size), \
             &outcome)
    CHECK_ERROR(RUN(NULL, NULL, 0), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
    CHECK_ERROR(RUN(plan, NULL, 64), KIZAMI_INVALID_ARGUMENT, "workspace is NULL");
    CHECK_ERROR(RUN(plan, workspace, 0), KIZAMI_INVALID_ARGUMENT, "workspace_bytes = 0");
    CHECK_ERROR(RUN(plan, workspace, info.workspace_bytes - 1), KIZAMI_INVALID_ARGUMENT, "workspace_bytes = ");
    CHECK_ERROR(RUN(plan, workspace + 1, info.workspace_bytes), KIZAMI_INVALID_ARGUMENT, "64-byte boundary");
    CHECK(memcmp(&x.c, &before, sizeof before) == 0);
    CHECK(RUN(plan, workspace, info.workspace_bytes) == KIZAMI_OK && is_as_wanted(&x));
    x.c = before;
    CHECK(RUN(plan, NULL, 0) == KIZAMI_OK && is_as_wanted(&x));
    CHECK(outcome.bound > 0 && outcome.bound <= info.bound);
    free(memory);
#undef RUN
#define PREPARE(out, plan, side, op, matrix, ld) \
  kizami_prepare((out), (plan), (side), KIZAMI_ROW_MAJOR, (op), (matrix), (ld))
    CHECK_ERROR(PREPARE(NULL, plan, KIZAMI_SIDE_A, op_a, &x.a, kLd), KIZAMI_INVALID_ARGUMENT, "prepared is NULL");
    CHECK_ERROR(PREPARE(&a, NULL, KIZAMI_SIDE_A, op_a, &x.a, kLd), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
    CHECK_ERROR(PREPARE(&a, plan, 2, op_a, &x.a, kLd), KIZAMI_INVALID_ARGUMENT, "side = 2");
    CHECK_ERROR(PREPARE(&a, plan, KIZAMI_SIDE_A, 4, &x.a, kLd), KIZAMI_INVALID_ARGUMENT, "op = 4");
    CHECK_ERROR(PREPARE(&a, plan, KIZAMI_SIDE_A, op_a, NULL, kLd), KIZAMI_INVALID_ARGUMENT, "A is null");
    CHECK_ERROR(PREPARE(&a, plan, KIZAMI_SIDE_A, op_a, &x.a, kM - 1), KIZAMI_INVALID_ARGUMENT, "ldx = 4, must be >= 5");
    CHECK_ERROR(PREPARE(&b, plan, KIZAMI_SIDE_B, op_b, &x.b, kN - 1), KIZAMI_INVALID_ARGUMENT, "ldx = 3, must be >= 4");
    CHECK(a == NULL && b == NULL);
    CHECK(PREPARE(&a, plan, KIZAMI_SIDE_A, op_a, &x.a, kLd) == KIZAMI_OK);
    CHECK(PREPARE(&b, plan, KIZAMI_SIDE_B, op_b, &x.b, kLd) == KIZAMI_OK);
    CHECK_ERROR(kizami_prepared_size(a, NULL), KIZAMI_INVALID_ARGUMENT, "bytes is NULL");
    CHECK(kizami_prepared_size(a, &bytes) == KIZAMI_OK && bytes > 0);
#undef PREPARE
#define RUN(a, a_matrix, b, b_matrix)                                                                                  \
  kizami_run_prepared(plan, KIZAMI_ROW_MAJOR, op_a, op_b, x.alpha, (a), (a_matrix), (a_matrix) == NULL ? 0 : kLd, (b), \
                      (b_matrix), (b_matrix) == NULL ? 0 : kLd, x.beta, &x.c, kLd, NULL, 0, NULL)
    x.c = before;
    CHECK_ERROR(RUN(b, NULL, b, NULL), KIZAMI_INVALID_ARGUMENT, "prepared for the other side");
    CHECK(memcmp(&x.c, &before, sizeof before) == 0);
    CHECK(RUN(a, NULL, b, NULL) == KIZAMI_OK && is_as_wanted(&x));
    x.c = before;
    CHECK(RUN(a, &x.a, NULL, &x.b) == KIZAMI_OK && is_as_wanted(&x));
    x.c = before;
    CHECK(RUN(NULL, &x.a, b, NULL) == KIZAMI_OK && is_as_wanted(&x));
#undef RUN
    kizami_prepared_destroy(a);
    kizami_prepared_destroy(b);
    kizami_prepared_destroy(NULL);
    kizami_plan_destroy(plan);
  }
}

/* What several threads share: a plan and a prepared operand. */
typedef struct {
  const kizami_plan* plan;
  const kizami_prepared* a;
  Operands x;
  int is_right;
} SharedRun;

static void* run_shared(void* argument) {
  SharedRun* const run = (SharedRun*)argument;
  Matrix before = run->x.c;
  int repetition;
  run->is_right = 1;
  for (repetition = 0; repetition < 20; ++repetition) {
    run->x.c = before;
    if (kizami_run_prepared(run->plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, run->x.alpha, run->a, NULL, 0, NULL,
                            &run->x.b, kLd, run->x.beta, &run->x.c, kLd, NULL, 0, NULL) != KIZAMI_OK ||
        !is_as_wanted(&run->x)) {
      run->is_right = 0;
    }
  }
  return NULL;
}

static void test_threads_share_handles(void) {
  enum { kThreads = 4 };
  static SharedRun runs[kThreads];
  pthread_t threads[kThreads];
  kizami_plan* plan = NULL;
  kizami_prepared* a = NULL;
  int t;
  set_operands(&runs[0].x, KIZAMI_F64);
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, kM, kN, kK, NULL) == KIZAMI_OK);
  CHECK(kizami_prepare(&a, plan, KIZAMI_SIDE_A, KIZAMI_COL_MAJOR, KIZAMI_NONE, &runs[0].x.a, kLd) == KIZAMI_OK);
  for (t = 0; t < kThreads; ++t) {
    runs[t].plan = plan;
    runs[t].a = a;
    set_operands(&runs[t].x, KIZAMI_F64);
    fill(KIZAMI_F64, 10 + t, &runs[t].x.b);
    reference(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, &runs[t].x.a, &runs[t].x.b, &runs[t].x.wanted);
    CHECK(pthread_create(&threads[t], NULL, run_shared, &runs[t]) == 0);
  }
  for (t = 0; t < kThreads; ++t) {
    CHECK(pthread_join(threads[t], NULL) == 0);
    CHECK(runs[t].is_right);
  }
  kizami_prepared_destroy(a);
  kizami_plan_destroy(plan);
}

/* Three products, as strided and as pointed to; A is shared by all. */
static void test_batches(void) {
  enum { kCount = 3 };
  int scalar, i;
  for (scalar = KIZAMI_F32; scalar <= KIZAMI_C128; ++scalar) {
    Operands x;
    Matrix b[kCount], c[kCount], wanted[kCount], before[kCount];
    const void *as[kCount], *bs[kCount];
    void* cs[kCount];
    kizami_outcome outcome, one;
    kizami_policy* policy = NULL;
    const int64_t stride = (int64_t)(sizeof(Matrix) / size_of(scalar));
    outcome.struct_size = one.struct_size = sizeof outcome;
    set_operands(&x, scalar);
    for (i = 0; i < kCount; ++i) {
      fill(scalar, 5 + i, &b[i]);
      c[i] = wanted[i] = before[i] = x.c;
      as[i] = &x.a;
      bs[i] = &b[i];
      cs[i] = &c[i];
      reference(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, &x.a, &b[i], &wanted[i]);
    }
#define STRIDED(a, stride_a, stride_b, c, stride_c, count, policy)                                                    \
  kizami_gemm_strided_batched(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, kM, kN, kK, x.alpha, (a), kLd, \
                              (stride_a), b, kLd, (stride_b), x.beta, (c), kLd, (stride_c), (count), (policy),        \
                              &outcome)
#define POINTED(a, b, c, count, policy)                                                                            \
  kizami_gemm_batched(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, kM, kN, kK, x.alpha, (a), kLd, (b), \
                      kLd, x.beta, (c), kLd, (count), (policy), &outcome)
    CHECK_ERROR(STRIDED(&x.a, -1, stride, c, stride, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "stride_a = -1");
    CHECK_ERROR(STRIDED(&x.a, 0, stride, c, stride, -1, NULL), KIZAMI_INVALID_ARGUMENT, "batch_count = -1");
    CHECK_ERROR(STRIDED(&x.a, 0, stride, c, 3 * kLd + kM - 1, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "stride_c = 31");
    CHECK_ERROR(STRIDED(&x.a, 0, INT64_MAX / 2, c, stride, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "stride_b");
    CHECK_ERROR(STRIDED(NULL, 0, stride, c, stride, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "A is null");
    CHECK_ERROR(STRIDED(&x.a, 0, stride, NULL, stride, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "C is null");
    CHECK_ERROR(POINTED(NULL, bs, cs, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "A is NULL");
    CHECK_ERROR(POINTED(as, bs, NULL, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "C is NULL");
    bs[2] = NULL;
    CHECK_ERROR(POINTED(as, bs, cs, kCount, NULL), KIZAMI_INVALID_ARGUMENT, "B[2] is NULL");
    bs[2] = &b[2];
    CHECK(STRIDED(NULL, 0, stride, NULL, stride, 0, NULL) == KIZAMI_OK);
    CHECK(outcome.bound == 0 && strcmp(outcome.engine, "none") == 0);
    CHECK(POINTED(NULL, NULL, NULL, 0, NULL) == KIZAMI_OK);
    CHECK(memcmp(c, before, sizeof c) == 0);

    CHECK(STRIDED(&x.a, 0, stride, c, stride, kCount, NULL) == KIZAMI_OK);
    CHECK(memcmp(c, wanted, sizeof c) == 0);
    CHECK(kizami_gemm(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, kM, kN, kK, x.alpha, &x.a, kLd, &b[0],
                      kLd, x.beta, &x.c, kLd, NULL, &one) == KIZAMI_OK);
    CHECK(outcome.bound >= one.bound && outcome.bound > 0 && strcmp(outcome.engine, one.engine) == 0);
    memcpy(c, before, sizeof c);
    CHECK(POINTED(as, bs, cs, kCount, NULL) == KIZAMI_OK);
    CHECK(memcmp(c, wanted, sizeof c) == 0);

    /* alpha = 0: A and B are not read, and C_i <- 3 C_i. */
    memcpy(c, before, sizeof c);
    {
      double zero[2] = {0, 0};
      int j, p;
      CHECK(kizami_gemm_batched(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, zero, NULL, kLd, NULL,
                                kLd, x.beta, cs, kLd, kCount, NULL, &outcome) == KIZAMI_OK);
      for (i = 0; i < kCount; ++i) {
        for (j = 0; j < kMaxElements; ++j) {
          const int is_element = j % kLd < kM && j / kLd < kN;
          for (p = 0; p < parts_of(scalar); ++p) {
            CHECK(get(scalar, &c[i], j, p) == (is_element ? 3 : 1) * get(scalar, &before[i], j, p));
          }
        }
      }
      CHECK(strcmp(outcome.engine, "none") == 0 && outcome.bound == 0);
    }

    /* The elements of product 1 are refused: its C is as it was, the others are too or done. */
    memcpy(c, before, sizeof c);
    put(scalar, &b[1], 1, 0, strtod("inf", NULL));
    CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
    CHECK(kizami_policy_set_reject_nonfinite(policy, 1) == KIZAMI_OK);
    CHECK_ERROR(POINTED(as, bs, cs, kCount, policy), KIZAMI_NON_FINITE, "product 1");
    CHECK(memcmp(&c[1], &before[1], sizeof c[1]) == 0);
    for (i = 0; i < kCount; i += 2) {
      CHECK(memcmp(&c[i], &wanted[i], sizeof c[i]) == 0 || memcmp(&c[i], &before[i], sizeof c[i]) == 0);
    }
    memcpy(c, before, sizeof c);
    CHECK(STRIDED(&x.a, 0, stride, c, stride, kCount, NULL) == KIZAMI_OK);
    CHECK(outcome.nonfinite_cols == 1 && outcome.nonfinite_rows == 0); /* counts are added up */
    kizami_policy_destroy(policy);
#undef STRIDED
#undef POINTED
  }
}

/* The matrices C side by side in the columns of one row-major array. */
static void test_interleaved_batch(void) {
  const double a[] = {1, 2}, b[] = {3, 4}, one = 1, zero = 0;
  double c[] = {-1, -1, -1, -1, -1, -1};
  const double wanted[] = {3, 6, -1, 4, 8, -1};
  CHECK(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_ROW_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 2, 1, 1, &one, b, 1, 0, a,
                                    1, 1, &zero, c, 3, 1, 2, NULL, NULL) == KIZAMI_OK);
  CHECK(memcmp(c, wanted, sizeof c) == 0);
  CHECK_ERROR(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_ROW_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 2, 1, 1, &one, b, 1,
                                          0, a, 1, 1, &zero, c, 3, 1, 4, NULL, NULL),
              KIZAMI_INVALID_ARGUMENT, "stride_c = 1 lets two matrices C of the batch overlap");
}

static void test_huge_batches(void) {
  const double one = 1, a = 2;
  double c = 3;
#define STRIDED(m, count)                                                                                            \
  kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, (m), 1, 1, &one, &a, 1, 0, &a, \
                              1, 0, &one, &c, 1, 1, (count), NULL, NULL)
  CHECK(STRIDED(0, (int64_t)1 << 57) == KIZAMI_OK); /* nothing to do, however often */
  CHECK_ERROR(STRIDED(1, (int64_t)1 << 57), KIZAMI_OUT_OF_MEMORY, "");
  CHECK_ERROR(STRIDED(1, INT64_MAX), KIZAMI_INVALID_ARGUMENT, "stride_c");
  CHECK(c == 3);
#undef STRIDED
}

int main(void) {
  test_version();
  test_status_names();
  test_gemm_of_every_type();
  test_typed_functions();
  test_gemm_refusals();
  test_last_error_belongs_to_its_thread();
  test_policies();
  test_wishes_in_words();
  test_what_policies_change();
  test_error_corrected_products();
  test_slices();
  test_outcome_sizes();
  test_plans();
  test_run_and_prepared_operands();
  test_threads_share_handles();
  test_batches();
  test_interleaved_batch();
  test_huge_batches();
  printf("%d failures\n", num_failures);
  return num_failures == 0 ? 0 : 1;
}
