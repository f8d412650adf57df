/* SPDX-License-Identifier: MIT
 * The same from C:  C <- A B at 40 proven bits, then many products by one plan.
 * Every function that can fail returns a status; kizami_last_error() gives the reason in words. A policy says what is
 * wished, an outcome says what was done, a plan is decided once and run often, in a workspace that the caller owns. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kizami/kizami.h"

enum { kM = 60, kN = 50, kK = 200, kProducts = 3 };

/* Prints the reason of a failure; 1 if there is one. */
static int failed(const char* what, kizami_status status) {
  if (status == KIZAMI_OK) return 0;
  printf("%s: %s: %s\n", what, kizami_status_name(status), kizami_last_error());
  return 1;
}

/* Whether C(0,0) differs from a plain loop by no more than both bounds allow: the outcome's, and k u of the loop. */
static int is_within_bounds(const double* a, const double* b, const double* c, double bound) {
  double sum = 0, magnitudes = 0;
  int l;
  for (l = 0; l < kK; ++l) {
    sum += a[l * kM] * b[l];
    magnitudes += fabs(a[l * kM] * b[l]);
  }
  return fabs(c[0] - sum) <= (bound + 1.01 * kK * ldexp(1, -53)) * magnitudes;
}

int main(void) {
  static double a[kM * kK], b[kK * kN], c[kM * kN]; /* column-major */
  const double one = 1, zero = 0;
  kizami_policy* policy = NULL;
  kizami_plan* plan = NULL;
  kizami_outcome outcome;
  kizami_plan_info info;
  void *memory, *workspace;
  int i, t;
  for (i = 0; i < kM * kK; ++i) a[i] = sin(1.0 + i);
  for (i = 0; i < kK * kN; ++i) b[i] = cos(2.0 + i);

  /* One call. */
  outcome.struct_size = sizeof outcome;
  if (failed("policy", kizami_policy_create(&policy))) return 1;
  if (failed("accuracy", kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, 40))) return 1;
  if (failed("product", kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 1, a, kM, b, kK, 0, c, kM,
                                     policy, &outcome))) {
    return 1;
  }
  printf("Kizami %s: engine %s, %d moduli, bound %.3g |A||B|\n", kizami_version(), outcome.engine, (int)outcome.moduli,
         outcome.bound);
  if (outcome.bound > ldexp(1, -40) || !is_within_bounds(a, b, c, outcome.bound)) return 1;

  /* Decided once, run often: nothing is allocated in the loop. */
  info.struct_size = sizeof info;
  if (failed("plan", kizami_plan_create(&plan, KIZAMI_F64, kM, kN, kK, policy))) return 1;
  kizami_policy_destroy(policy);
  if (failed("query", kizami_plan_query(plan, &info))) return 1;
  memory = malloc(info.workspace_bytes + 64);
  if (memory == NULL) return 1;
  workspace = (char*)memory + (64 - (uintptr_t)memory % 64) % 64;
  for (t = 1; t <= kProducts; ++t) {
    for (i = 0; i < kK * kN; ++i) b[i] = cos(0.3 * t * i);
    if (failed("run", kizami_run(plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, &one, a, kM, b, kK, &zero, c, kM,
                                 workspace, info.workspace_bytes, &outcome))) {
      return 1;
    }
    if (!is_within_bounds(a, b, c, info.bound)) return 1;
  }
  printf("%d products by one plan in %lu bytes of workspace\n", kProducts, (unsigned long)info.workspace_bytes);
  free(memory);
  kizami_plan_destroy(plan);

  /* A mistake is refused with its reason, and C stays as it was. */
  if (kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 1, a, kM - 1, b, kK, 0, c, kM, NULL, NULL) !=
      KIZAMI_INVALID_ARGUMENT) {
    return 1;
  }
  printf("refused: %s\n", kizami_last_error());
  return 0;
}
