/* SPDX-License-Identifier: MIT
 * What the programs of the C ABI say of what they find. */
#ifndef KIZAMI_TESTS_C_API_CHECKS_H
#define KIZAMI_TESTS_C_API_CHECKS_H

#include <stdio.h>
#include <string.h>

#include "kizami/kizami.h"

static int num_failures = 0;

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      printf("%s:%d: false: %s; last error: '%s'\n", __FILE__, __LINE__, #condition, kizami_last_error()); \
      ++num_failures;                                                                                      \
    }                                                                                                      \
  } while (0)

/* A call must fail with this code, and say so with these words in the reason. */
#define CHECK_ERROR(call, code, words)                                                                         \
  do {                                                                                                         \
    const kizami_status status_ = (call);                                                                      \
    if (status_ != (code) || strstr(kizami_last_error(), (words)) == NULL) {                                   \
      printf("%s:%d: %s gave %s, '%s'; wanted '%s'\n", __FILE__, __LINE__, #call, kizami_status_name(status_), \
             kizami_last_error(), (words));                                                                    \
      ++num_failures;                                                                                          \
    }                                                                                                          \
  } while (0)

#endif
