/* SPDX-License-Identifier: MIT
 * A product on several devices by the C ABI: what is wrong with the arguments; then, where there is a device, the bits
 * of the host, from matrices of the host. Exit code 77: there is none. */
#include "kizami/multi.h"

#include "checks.h"

enum { kM = 70, kN = 50, kK = 90 };

static const double one = 1, half = 0.5;
static double a[kM * kK], b[kK * kN], c[kM * kN], want[kM * kN];

static kizami_status multiply(const int* devices, int num_devices, kizami_scalar scalar, int64_t lda,
                              const double* alpha, kizami_outcome* outcome) {
  return kizami_multi_gemm(devices, num_devices, scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, alpha,
                           a, lda, b, kK, &half, c, kM, NULL, outcome);
}

int main(void) {
  const int devices[] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  kizami_outcome outcome, of_host;
  kizami_status status;
  int i;
  for (i = 0; i < kM * kK; ++i) a[i] = (i * 7919 % 1009) / 1009.0 - 0.5;
  for (i = 0; i < kK * kN; ++i) b[i] = (i * 6007 % 1013) / 1013.0 - 0.5;
  for (i = 0; i < kM * kN; ++i) c[i] = want[i] = i % 3;
  outcome.struct_size = 8;
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM, &one, &outcome), KIZAMI_INVALID_ARGUMENT,
              "outcome->struct_size = 8");
  outcome.struct_size = sizeof outcome;
  of_host.struct_size = sizeof of_host;
  CHECK_ERROR(multiply(NULL, 1, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "devices is NULL");
  CHECK_ERROR(multiply(devices, 0, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "num_devices = 0");
  CHECK_ERROR(multiply(devices, 9, KIZAMI_F64, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "must be in 1..8");
  CHECK_ERROR(multiply(devices, 1, 4, kM, &one, NULL), KIZAMI_INVALID_ARGUMENT, "scalar = 4");
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM - 1, &one, NULL), KIZAMI_INVALID_ARGUMENT, "lda = 69");
  CHECK_ERROR(multiply(devices, 1, KIZAMI_F64, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "alpha is NULL");
  CHECK(memcmp(c, want, sizeof c) == 0);
  status = multiply(devices, 3, KIZAMI_F64, kM, &one, &outcome);
  if (status == KIZAMI_UNSUPPORTED && num_failures == 0) {
    printf("not on a device: %s\n", kizami_last_error());
    return memcmp(c, want, sizeof c) == 0 ? 77 : 1;
  }
  CHECK(status == KIZAMI_OK);
  CHECK(kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, one, a, kM, b, kK, half, want, kM, NULL,
                     &of_host) == KIZAMI_OK);
  CHECK(memcmp(c, want, sizeof c) == 0);
  CHECK(outcome.rung == of_host.rung && outcome.bound == of_host.bound && outcome.moduli == of_host.moduli);
  printf("%d failures\n", num_failures);
  return num_failures == 0 ? 0 : 1;
}
