/* SPDX-License-Identifier: MIT
 * A product, and a triangle of a matrix times itself, on several devices by the C ABI: what is wrong with the arguments;
 * then, where there is a device, the bits of the host, from matrices of the host. Exit code 77: there is none, or it
 * makes no triangles. */
#include "kizami/multi.h"

#include "checks.h"

enum { kM = 70, kN = 50, kK = 90, kOrder = 140, kLda = 150, kLdc = 143 };

static const int devices[] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
static const double one = 1, half = 0.5;
static double a[kM * kK], b[kK * kN], c[kM * kN], want[kM * kN];

static kizami_status multiply(const int* on, int num_devices, kizami_scalar scalar, int64_t lda, const double* alpha,
                              kizami_outcome* outcome) {
  return kizami_multi_gemm(on, num_devices, scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, alpha, a,
                           lda, b, kK, &half, c, kM, NULL, outcome);
}

static void check_arguments_of_products(void) {
  kizami_outcome outcome;
  outcome.struct_size = 8;
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM, &one, &outcome), KIZAMI_INVALID_ARGUMENT,
              "outcome->struct_size = 8");
  CHECK_ERROR(multiply(NULL, 1, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "devices is NULL");
  CHECK_ERROR(multiply(devices, 0, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "num_devices = 0");
  CHECK_ERROR(multiply(devices, 9, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "must be in 1..8");
  CHECK_ERROR(multiply(devices, 1, 4, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "scalar = 4");
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM - 1, &one, NULL), KIZAMI_INVALID_ARGUMENT, "lda = 69");
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "alpha is NULL");
}

/* A triangle: its arguments, and elements of any of the four types, real and imaginary part side by side. */
struct triangle {
  kizami_scalar scalar;
  kizami_layout layout;
  int is_lower, is_hermitian;
  kizami_op op; /* KIZAMI_NONE or KIZAMI_CONJ_TRANSPOSE */
};
static const struct triangle ordinary = {KIZAMI_F64, KIZAMI_COL_MAJOR, 1, 0, KIZAMI_NONE};
static double of_a[2 * kLda * kLda], of_c[2 * kLdc * kOrder], before[2 * kLdc * kOrder], whole[2 * kLdc * kOrder];

static int is_complex(kizami_scalar scalar) { return scalar == KIZAMI_C64 || scalar == KIZAMI_C128; }
static int is_single(kizami_scalar scalar) { return scalar == KIZAMI_F32 || scalar == KIZAMI_C64; }
static size_t real_bytes(kizami_scalar scalar) { return is_single(scalar) ? sizeof(float) : sizeof(double); }

static void put(double* x, kizami_scalar scalar, int i, double value) {
  if (is_single(scalar)) {
    ((float*)x)[i] = (float)value;
  } else {
    x[i] = value;
  }
}

static kizami_status make(const struct triangle* t, const int* on, int num_devices, int64_t lda, const double* alpha,
                          const kizami_policy* policy, kizami_outcome* outcome) {
  double beta[2] = {0, 0};
  put(beta, t->scalar, 0, 0.5);
  return kizami_multi_syrk(on, num_devices, t->scalar, t->layout, t->is_lower, t->is_hermitian, t->op, kOrder, kK,
                           alpha, of_a, lda, beta, of_c, kLdc, policy, outcome);
}

/* The same with one argument changed. */
static kizami_status make_other(kizami_scalar scalar, kizami_layout layout, int is_lower, int is_hermitian,
                                kizami_op op) {
  const struct triangle t = {scalar, layout, is_lower, is_hermitian, op};
  return make(&t, devices, 2, kLda, &one, NULL, NULL);
}

static void check_arguments_of_triangles(void) {
  kizami_outcome outcome;
  outcome.struct_size = 8;
  CHECK_ERROR(make(&ordinary, devices, 1, kLda, &one, NULL, &outcome), KIZAMI_INVALID_ARGUMENT,
              "outcome->struct_size = 8");
  CHECK_ERROR(make(&ordinary, NULL, 1, kLda, &one, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "devices is NULL");
  CHECK_ERROR(make(&ordinary, devices, 0, kLda, &one, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "num_devices = 0");
  CHECK_ERROR(make(&ordinary, devices, 9, kLda, &one, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "must be in 1..8");
  CHECK_ERROR(make(&ordinary, devices, 1, kOrder - 1, &one, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "lda = 139");
  CHECK_ERROR(make(&ordinary, devices, 1, kLda, NULL, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "alpha is NULL");
  CHECK_ERROR(make_other(4, KIZAMI_COL_MAJOR, 1, 0, KIZAMI_NONE), KIZAMI_INVALID_ARGUMENT, "scalar = 4");
  CHECK_ERROR(make_other(KIZAMI_F64, 2, 1, 0, KIZAMI_NONE), KIZAMI_INVALID_ARGUMENT, "layout = 2");
  CHECK_ERROR(make_other(KIZAMI_F64, KIZAMI_COL_MAJOR, 'L', 0, KIZAMI_NONE), KIZAMI_INVALID_ARGUMENT, "is_lower = 76");
  CHECK_ERROR(make_other(KIZAMI_F64, KIZAMI_COL_MAJOR, 1, -1, KIZAMI_NONE), KIZAMI_INVALID_ARGUMENT,
              "is_hermitian = -1");
  CHECK_ERROR(make_other(KIZAMI_F64, KIZAMI_COL_MAJOR, 1, 0, 4), KIZAMI_INVALID_ARGUMENT, "op = 4");
  CHECK_ERROR(kizami_multi_syrk(devices, 1, KIZAMI_F64, KIZAMI_COL_MAJOR, 1, 0, KIZAMI_NONE, -1, kK, &one, of_a, kLda,
                                &half, of_c, kLdc, NULL, NULL),
              KIZAMI_INVALID_ARGUMENT, "must be");
  CHECK_ERROR(kizami_multi_syrk(devices, 1, KIZAMI_F64, KIZAMI_COL_MAJOR, 1, 0, KIZAMI_NONE, kOrder, kK, &one, of_a,
                                kLda, &half, of_c, kOrder - 1, NULL, NULL),
              KIZAMI_INVALID_ARGUMENT, "ldc = 139");
  CHECK_ERROR(kizami_multi_syrk(devices, 1, KIZAMI_F64, KIZAMI_COL_MAJOR, 1, 0, KIZAMI_NONE, kOrder, kK, &one, of_a,
                                kLda, NULL, of_c, kLdc, NULL, NULL),
              KIZAMI_INVALID_ARGUMENT, "beta is NULL");
}

static kizami_op across(const struct triangle* t) {
  if (t->op == KIZAMI_NONE) return t->is_hermitian ? KIZAMI_CONJ_TRANSPOSE : KIZAMI_TRANSPOSE;
  return t->is_hermitian ? KIZAMI_NONE : KIZAMI_CONJUGATE;
}

/* Two shares of one triangle against the whole product of the host: the elements of the triangle, and no other. */
static kizami_status compare(const struct triangle* t, const kizami_policy* policy, const kizami_policy* host_policy) {
  const size_t bytes = real_bytes(t->scalar) * (is_complex(t->scalar) ? 2 : 1);
  const int reals = is_complex(t->scalar) ? 2 : 1;
  double alpha[2] = {0, 0}, beta[2] = {0, 0};
  kizami_outcome outcome, of_host;
  kizami_status status;
  int i, j;
  outcome.struct_size = of_host.struct_size = sizeof outcome;
  put(alpha, t->scalar, 0, 1);
  put(beta, t->scalar, 0, 0.5);
  for (i = 0; i < reals * kLda * kLda; ++i) put(of_a, t->scalar, i, (i * 7919 % 1009) / 1009.0 - 0.5);
  for (i = 0; i < reals * kLdc * kOrder; ++i) put(before, t->scalar, i, i % 7 - 2);
  memcpy(of_c, before, sizeof of_c);
  status = make(t, devices, 2, kLda, alpha, policy, &outcome);
  if (status != KIZAMI_OK) return status;
  memcpy(whole, before, sizeof whole);
  if (t->is_hermitian && is_complex(t->scalar)) {
    for (i = 0; i < kOrder; ++i) put(whole, t->scalar, 2 * i * (kLdc + 1) + 1, 0);
  }
  CHECK(kizami_gemm(t->scalar, t->layout, t->op, across(t), kOrder, kOrder, kK, alpha, of_a, kLda, of_a, kLda, beta,
                    whole, kLdc, host_policy, &of_host) == KIZAMI_OK);
  if (t->is_hermitian && is_complex(t->scalar)) {
    for (i = 0; i < kOrder; ++i) put(whole, t->scalar, 2 * i * (kLdc + 1) + 1, 0);
  }
  for (i = 0; i < kOrder; ++i) {
    for (j = 0; j < kLdc; ++j) { /* line i of memory */
      const int is_below = t->layout == KIZAMI_COL_MAJOR ? j >= i : j <= i;
      const int is_above = t->layout == KIZAMI_COL_MAJOR ? j <= i : j >= i;
      const int is_made = j < kOrder && (t->is_lower ? is_below : is_above);
      const size_t at = bytes * (size_t)(i * kLdc + j);
      CHECK(memcmp((char*)of_c + at, (char*)(is_made ? whole : before) + at, bytes) == 0);
      if (num_failures > 20) return status;
    }
  }
  CHECK(outcome.rung == of_host.rung && outcome.bound == of_host.bound && outcome.moduli == of_host.moduli);
  CHECK(outcome.scheme == KIZAMI_SCHEME_OZAKI2);
  return status;
}

static kizami_status compare_triangles(void) {
  const double imaginary[] = {1, 1};
  struct triangle t;
  kizami_policy *policy, *host_policy;
  kizami_status status = KIZAMI_OK;
  int i;
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_create(&host_policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_engine(policy, KIZAMI_ENGINE_HOPPER) == KIZAMI_OK);
  CHECK(kizami_policy_set_scheme(host_policy, KIZAMI_SCHEME_OZAKI2) == KIZAMI_OK);
  for (i = 0; i < 32 && status == KIZAMI_OK; ++i) {
    t.scalar = i % 4;
    t.is_lower = i / 4 % 2;
    t.is_hermitian = i / 8 % 2;
    t.layout = i / 16 == t.is_lower ? KIZAMI_ROW_MAJOR : KIZAMI_COL_MAJOR;
    t.op = i / 16 % 2 ? KIZAMI_CONJ_TRANSPOSE : KIZAMI_NONE;
    status = compare(&t, policy, host_policy);
  }
  if (status == KIZAMI_OK) {
    memcpy(of_c, before, sizeof of_c);
    t.scalar = KIZAMI_C128;
    t.is_hermitian = 1;
    CHECK_ERROR(make(&t, devices, 2, kLda, imaginary, policy, NULL), KIZAMI_INVALID_ARGUMENT, "must be real");
    CHECK(kizami_policy_set_scheme(policy, KIZAMI_SCHEME_OZAKI1) == KIZAMI_OK);
    CHECK_ERROR(make(&ordinary, devices, 2, kLda, &one, policy, NULL), KIZAMI_UNSUPPORTED,
                "scheme ozaki1 makes no shared triangle");
    CHECK(memcmp(of_c, before, sizeof of_c) == 0);
  }
  kizami_policy_destroy(policy);
  kizami_policy_destroy(host_policy);
  return status;
}

int main(void) {
  kizami_outcome outcome, of_host;
  kizami_status status;
  int i;
  for (i = 0; i < kM * kK; ++i) a[i] = (i * 7919 % 1009) / 1009.0 - 0.5;
  for (i = 0; i < kK * kN; ++i) b[i] = (i * 6007 % 1013) / 1013.0 - 0.5;
  for (i = 0; i < kM * kN; ++i) c[i] = want[i] = i % 3;
  for (i = 0; i < kLdc * kOrder; ++i) of_c[i] = before[i] = i % 5;
  outcome.struct_size = of_host.struct_size = sizeof outcome;
  check_arguments_of_products();
  check_arguments_of_triangles();
  CHECK(memcmp(c, want, sizeof c) == 0);
  status = multiply(devices, 3, KIZAMI_F64, kM, &one, &outcome);
  if (status == KIZAMI_UNSUPPORTED && num_failures == 0) {
    CHECK_ERROR(make(&ordinary, devices, 2, kLda, &one, NULL, NULL), KIZAMI_UNSUPPORTED, "");
    CHECK(memcmp(of_c, before, sizeof of_c) == 0);
    printf("not on a device: %s\n", kizami_last_error());
    return memcmp(c, want, sizeof c) == 0 && num_failures == 0 ? 77 : 1;
  }
  CHECK(status == KIZAMI_OK);
  CHECK(kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, one, a, kM, b, kK, half, want, kM, NULL,
                     &of_host) == KIZAMI_OK);
  CHECK(memcmp(c, want, sizeof c) == 0);
  CHECK(outcome.rung == of_host.rung && outcome.bound == of_host.bound && outcome.moduli == of_host.moduli);
  status = compare_triangles();
  if (status == KIZAMI_UNSUPPORTED && num_failures == 0) {
    printf("no triangles on this device: %s\n", kizami_last_error());
    return 77;
  }
  CHECK(status == KIZAMI_OK);
  printf("%d failures\n", num_failures);
  return num_failures == 0 ? 0 : 1;
}
