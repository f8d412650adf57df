/* SPDX-License-Identifier: MIT
 * Device calls of the C ABI where no device is needed: what is wrong with the arguments is said first; then that there is
 * no device, or no CUDA in the library. Matrices stay as they are. */
#include "checks.h"

enum { kM = 3, kN = 2, kK = 4, kCount = 2 };

static const double one = 1, zero = 0;
static double a[kCount * kM * kK], b[kCount * kK * kN], c[kCount * kM * kN];

#define GEMM(stream, scalar, op_a, has_device_factors, alpha, lda, policy, outcome)                             \
  kizami_cuda_gemm((stream), (scalar), KIZAMI_COL_MAJOR, (op_a), KIZAMI_NONE, kM, kN, kK, (has_device_factors), \
                   (alpha), a, (lda), b, kK, &zero, c, kM, (policy), (outcome))
#define STRIDED(stride_c, count)                                                                                      \
  kizami_cuda_gemm_strided_batched(NULL, KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 0, &one, \
                                   a, kM, kM* kK, b, kK, kK* kN, &zero, c, kM, (stride_c), (count), NULL, NULL)
#define POINTED(as, has_device_arrays, count)                                                                 \
  kizami_cuda_gemm_batched(NULL, KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 0, &one, \
                           (has_device_arrays), (as), kM, bs, kK, &zero, cs, kM, (count), NULL, NULL)

static const void* as[kCount] = {a, a + kM* kK};
static const void* bs[kCount] = {b, b + kK* kN};
static void* cs[kCount] = {c, c + kM* kN};

static void test_arguments(void) {
  kizami_outcome outcome;
  kizami_plan* plan = NULL;
  outcome.struct_size = 8;
  CHECK_ERROR(GEMM(NULL, 4, KIZAMI_NONE, 0, &one, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "scalar = 4");
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, 4, 0, &one, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "op_a = 4");
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, KIZAMI_NONE, 2, &one, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT,
              "has_device_factors = 2, must be in 0..1");
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, KIZAMI_NONE, 0, NULL, kM, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "alpha is NULL");
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, KIZAMI_NONE, 0, &one, kM - 1, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "lda = 2");
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, KIZAMI_NONE, 0, &one, kM, NULL, &outcome), KIZAMI_INVALID_ARGUMENT,
              "outcome->struct_size = 8");
  CHECK_ERROR(STRIDED(kM * kN - 1, kCount), KIZAMI_INVALID_ARGUMENT, "stride_c = 5");
  CHECK_ERROR(STRIDED(kM * kN, -1), KIZAMI_INVALID_ARGUMENT, "batch_count = -1");
  CHECK_ERROR(POINTED(as, 2, kCount), KIZAMI_INVALID_ARGUMENT, "has_device_arrays = 2");
  CHECK_ERROR(POINTED(NULL, 1, kCount), KIZAMI_INVALID_ARGUMENT, "A is NULL");
  CHECK_ERROR(kizami_cuda_plan_create(NULL, KIZAMI_F64, 1, 1, 1, 1, 0, NULL), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_cuda_plan_create(&plan, -1, 1, 1, 1, 1, 0, NULL), KIZAMI_INVALID_ARGUMENT, "scalar = -1");
  CHECK_ERROR(kizami_cuda_plan_create(&plan, KIZAMI_F64, 1, 1, 1, -1, 0, NULL), KIZAMI_INVALID_ARGUMENT,
              "batch_count = -1");
  CHECK_ERROR(kizami_cuda_plan_create(&plan, KIZAMI_F64, 1, 1, 1, 1, -1, NULL), KIZAMI_INVALID_ARGUMENT,
              "has_device_arrays = -1");
  CHECK(plan == NULL);
  CHECK_ERROR(kizami_cuda_workspace_pool(NULL, NULL, NULL), KIZAMI_INVALID_ARGUMENT, "held_bytes is NULL");
}

/* Nothing is prepared for a device by a plan of the host. */
static void test_prepared_by(const kizami_plan* plan, int has_cuda) {
  kizami_cuda_prepared* kept = NULL;
  size_t bytes = 7;
  const kizami_status code = has_cuda ? KIZAMI_INVALID_ARGUMENT : KIZAMI_UNSUPPORTED;
  const char* const words = has_cuda ? "operands in host memory, must be for device memory" : "built without CUDA";
#define PREPARE(prepared, plan, side, op, ld, memory, size) \
  kizami_cuda_prepare((prepared), (plan), NULL, (side), KIZAMI_COL_MAJOR, (op), a, (ld), (memory), (size))
  CHECK_ERROR(PREPARE(NULL, plan, KIZAMI_SIDE_A, KIZAMI_NONE, kM, NULL, 0), KIZAMI_INVALID_ARGUMENT,
              "prepared is NULL");
  CHECK_ERROR(PREPARE(&kept, NULL, KIZAMI_SIDE_A, KIZAMI_NONE, kM, NULL, 0), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(PREPARE(&kept, plan, 2, KIZAMI_NONE, kM, NULL, 0), KIZAMI_INVALID_ARGUMENT, "side = 2");
  CHECK_ERROR(PREPARE(&kept, plan, KIZAMI_SIDE_A, 4, kM, NULL, 0), KIZAMI_INVALID_ARGUMENT, "op = 4");
  CHECK_ERROR(PREPARE(&kept, plan, KIZAMI_SIDE_A, KIZAMI_TRANSPOSE, kM, NULL, 0), KIZAMI_INVALID_ARGUMENT,
              "ldx = 3, must be >= 4");
  CHECK_ERROR(PREPARE(&kept, plan, KIZAMI_SIDE_A, KIZAMI_NONE, kM, NULL, 1), KIZAMI_INVALID_ARGUMENT, "memory is NULL");
  CHECK_ERROR(PREPARE(&kept, plan, KIZAMI_SIDE_A, KIZAMI_NONE, kM, NULL, 0), code, words);
  CHECK(kept == NULL);
  CHECK_ERROR(kizami_cuda_prepared_bytes(NULL, KIZAMI_SIDE_A, &bytes), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_cuda_prepared_bytes(plan, KIZAMI_SIDE_A, NULL), KIZAMI_INVALID_ARGUMENT, "bytes is NULL");
  CHECK_ERROR(kizami_cuda_prepared_bytes(plan, -1, &bytes), KIZAMI_INVALID_ARGUMENT, "side = -1");
  CHECK_ERROR(kizami_cuda_prepared_bytes(plan, KIZAMI_SIDE_A, &bytes), code, words);
  CHECK(bytes == 7);
  CHECK_ERROR(kizami_cuda_run_prepared(NULL, NULL, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, &one, NULL, a, kM,
                                       NULL, b, kK, &zero, c, kM, c, sizeof c),
              KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(kizami_cuda_run_prepared(plan, NULL, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, &one, NULL, a, kM - 1,
                                       NULL, b, kK, &zero, c, kM, c, sizeof c),
              KIZAMI_INVALID_ARGUMENT, "lda = 2");
  kizami_cuda_prepared_destroy(NULL);
#undef PREPARE
}

/* A plan of the host is none of a device, wherever this runs. */
static void test_plan_of_the_host(int has_cuda) {
  kizami_plan* plan = NULL;
  kizami_outcome outcomes[kCount];
  outcomes[0].struct_size = sizeof outcomes[0];
  CHECK(kizami_plan_create(&plan, KIZAMI_F64, kM, kN, kK, NULL) == KIZAMI_OK);
#define RUN(plan, layout, beta, workspace, bytes)                                                                      \
  kizami_cuda_run((plan), NULL, (layout), KIZAMI_NONE, KIZAMI_NONE, 0, &one, a, kM, b, kK, (beta), c, kM, (workspace), \
                  (bytes))
  CHECK_ERROR(RUN(NULL, KIZAMI_COL_MAJOR, &zero, c, sizeof c), KIZAMI_INVALID_ARGUMENT, "plan is NULL");
  CHECK_ERROR(RUN(plan, 2, &zero, c, sizeof c), KIZAMI_INVALID_ARGUMENT, "layout = 2");
  CHECK_ERROR(RUN(plan, KIZAMI_COL_MAJOR, NULL, c, sizeof c), KIZAMI_INVALID_ARGUMENT, "beta is NULL");
  CHECK_ERROR(RUN(plan, KIZAMI_COL_MAJOR, &zero, NULL, 1), KIZAMI_INVALID_ARGUMENT, "workspace is NULL");
  CHECK_ERROR(RUN(plan, KIZAMI_COL_MAJOR, &zero, c, sizeof c), has_cuda ? KIZAMI_INVALID_ARGUMENT : KIZAMI_UNSUPPORTED,
              has_cuda ? "the plan is for operands in host memory" : "built without CUDA");
  CHECK_ERROR(kizami_cuda_read_outcome(plan, NULL, NULL, 0, outcomes), KIZAMI_INVALID_ARGUMENT, "workspace is NULL");
  CHECK_ERROR(kizami_cuda_read_outcome(plan, NULL, c, sizeof c, NULL), KIZAMI_INVALID_ARGUMENT, "outcome is NULL");
  CHECK_ERROR(kizami_cuda_read_outcomes(plan, NULL, c, sizeof c, outcomes, kCount), KIZAMI_INVALID_ARGUMENT,
              "num_outcomes = 2, must be 1");
  test_prepared_by(plan, has_cuda);
  kizami_plan_destroy(plan);
#undef RUN
}

/* Returns whether there is a device. */
static int test_no_device(void) {
  kizami_plan* plan = NULL;
  size_t held = 7, most = 7, used = 7;
  int i;
  if (kizami_cuda_plan_create(&plan, KIZAMI_F64, kM, kN, kK, 1, 0, NULL) == KIZAMI_OK) {
    kizami_plan_destroy(plan);
    return 1;
  }
  CHECK(plan == NULL);
  CHECK(strstr(kizami_last_error(), "CUDA") != NULL);
  CHECK_ERROR(GEMM(NULL, KIZAMI_F64, KIZAMI_NONE, 0, &one, kM, NULL, NULL), KIZAMI_UNSUPPORTED, "CUDA");
  CHECK_ERROR(STRIDED(kM * kN, kCount), KIZAMI_UNSUPPORTED, "CUDA");
  CHECK_ERROR(POINTED(as, 0, kCount), KIZAMI_UNSUPPORTED, "CUDA");
  CHECK_ERROR(POINTED(as, 1, kCount), KIZAMI_UNSUPPORTED, "CUDA");
  CHECK(kizami_cuda_last_call_writes_c() == 0);
  CHECK(kizami_cuda_workspace_pool(&held, &most, &used) != KIZAMI_OK && held == 7 && most == 7 && used == 7);
  for (i = 0; i < kCount * kM * kN; ++i) CHECK(c[i] == 5);
  return 0;
}

int main(void) {
  kizami_plan* plan = NULL;
  int i, has_cuda;
  for (i = 0; i < kCount * kM * kN; ++i) c[i] = 5;
  kizami_cuda_plan_create(&plan, KIZAMI_F64, kM, kN, kK, 1, 0, NULL);
  has_cuda = strstr(kizami_last_error(), "built without CUDA") == NULL;
  kizami_plan_destroy(plan);
  test_arguments();
  test_plan_of_the_host(has_cuda);
  CHECK(kizami_cuda_limit_workspaces(0) == KIZAMI_OK);
  if (test_no_device()) printf("there is a device: its absence is not tried\n");
  printf("%d failures\n", num_failures);
  return num_failures == 0 ? 0 : 1;
}
