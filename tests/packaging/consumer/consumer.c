/* SPDX-License-Identifier: MIT
 * A user's program in C: a product known exactly. */
#include <kizami/kizami.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, wanted[] = {23, 34, 31, 46}; /* column-major */
  double c[4];
  kizami_outcome outcome;
  outcome.struct_size = sizeof outcome;
  if (kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, NULL, &outcome) !=
      KIZAMI_OK) {
    printf("refused: %s\n", kizami_last_error());
    return 1;
  }
  printf("%s, engine %s, C(0,0) = %g\n", kizami_version(), outcome.engine, c[0]);
  return kizami_version_number() == KIZAMI_VERSION_NUMBER && memcmp(c, wanted, sizeof c) == 0 ? 0 : 1;
}
