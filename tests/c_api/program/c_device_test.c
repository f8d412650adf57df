/* SPDX-License-Identifier: MIT
 * The C ABI on a CUDA device: every call has the bits and the outcome of the host's calls, compared by ==. Where there is
 * no device: a skip, exit code 77, or a failure if KIZAMI_REQUIRE_GPU is set. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

#include "checks.h"

enum { kM = 67, kN = 45, kK = 130, kLda = 137, kLdb = 133, kLdc = 71, kCount = 3, kMaxBytes = 16 * 137 * 140 };

#define CHECK_CUDA(call) CHECK((call) == cudaSuccess)

/* ---- Memory: every matrix on both sides -------------------------------------------------------------------------- */

typedef struct Pair {
  char host[kMaxBytes];
  char* device;
} Pair;
static Pair a[kCount], b[kCount], c[kCount];
static char there[kMaxBytes];

static int parts_of(kizami_scalar scalar) { return scalar >= KIZAMI_C64 ? 2 : 1; }
static int is_single(kizami_scalar scalar) { return scalar == KIZAMI_F32 || scalar == KIZAMI_C64; }
static size_t size_of(kizami_scalar scalar) { return (is_single(scalar) ? 4u : 8u) * (size_t)parts_of(scalar); }

/* Numbers with all their bits, over a few binades. */
static void fill(kizami_scalar scalar, int seed, Pair* x) {
  const int count = (int)(kMaxBytes / (is_single(scalar) ? 4 : 8));
  int i;
  for (i = 0; i < count; ++i) {
    const double value = ldexp(sin(1.0 + seed + 0.7 * i), (i * 5 + seed) % 9 - 4);
    if (is_single(scalar)) {
      ((float*)(void*)x->host)[i] = (float)value;
    } else {
      ((double*)(void*)x->host)[i] = value;
    }
  }
  CHECK_CUDA(cudaMemcpy(x->device, x->host, kMaxBytes, cudaMemcpyHostToDevice));
}
/* What the device has now, whole, is what the host has. */
static int is_equal(const Pair* x) {
  CHECK_CUDA(cudaMemcpy(there, x->device, kMaxBytes, cudaMemcpyDeviceToHost));
  return memcmp(there, x->host, kMaxBytes) == 0;
}
static void set_operands(kizami_scalar scalar) {
  int i;
  for (i = 0; i < kCount; ++i) {
    fill(scalar, 3 * i, &a[i]);
    fill(scalar, 3 * i + 1, &b[i]);
    fill(scalar, 3 * i + 2, &c[i]);
  }
}

/* All that an outcome says, but for the engine. */
static int have_equal_facts(const kizami_outcome* x, const kizami_outcome* y) {
  return x->scheme == y->scheme && x->gauge == y->gauge && x->bound == y->bound && x->moduli == y->moduli &&
         x->rung == y->rung && x->equilibrated == y->equilibrated && x->repaired == y->repaired &&
         x->nonfinite_rows == y->nonfinite_rows && x->nonfinite_cols == y->nonfinite_cols;
}

/* alpha and beta of every type, on the host and on the device. */
static const float f32[4] = {1.5f, -0.25f, 0.5f, 2.0f};
static const double f64[4] = {1.5, -0.25, 0.5, 2.0};
static const void* alpha_of(kizami_scalar scalar) { return is_single(scalar) ? (const void*)f32 : (const void*)f64; }
static const void* beta_of(kizami_scalar scalar) {
  return is_single(scalar) ? (const void*)(f32 + 2) : (const void*)(f64 + 2);
}

/* ---- Calls that plan themselves ---------------------------------------------------------------------------------- */

static void test_gemm(kizami_scalar scalar, cudaStream_t stream) {
  static const kizami_op ops[][2] = {{KIZAMI_NONE, KIZAMI_NONE}, {KIZAMI_TRANSPOSE, KIZAMI_CONJ_TRANSPOSE}};
  static const kizami_layout layouts[] = {KIZAMI_COL_MAJOR, KIZAMI_ROW_MAJOR};
  int i, l;
  for (i = 0; i < 2; ++i) {
    for (l = 0; l < 2; ++l) {
      kizami_outcome here, device;
      here.struct_size = device.struct_size = sizeof here;
      set_operands(scalar);
      CHECK(kizami_gemm(scalar, layouts[l], ops[i][0], ops[i][1], kM, kN, kK, alpha_of(scalar), a[0].host, kLda,
                        b[0].host, kLdb, beta_of(scalar), c[0].host, kLdc, NULL, &here) == KIZAMI_OK);
      CHECK(!is_equal(&c[0])); /* the host has multiplied, the device not yet */
      CHECK(kizami_cuda_gemm(stream, scalar, layouts[l], ops[i][0], ops[i][1], kM, kN, kK, 0, alpha_of(scalar),
                             a[0].device, kLda, b[0].device, kLdb, beta_of(scalar), c[0].device, kLdc, NULL,
                             &device) == KIZAMI_OK);
      CHECK(kizami_cuda_last_call_writes_c() == 1);
      CHECK(is_equal(&c[0]));
      CHECK(have_equal_facts(&here, &device) && here.moduli > 0 && strcmp(here.engine, device.engine) != 0);
    }
  }
}

static void test_batches(kizami_scalar scalar, cudaStream_t stream) {
  const void *as[kCount], *bs[kCount];
  void *cs[kCount], *device_arrays = NULL;
  kizami_outcome here, device;
  int i, form;
  here.struct_size = device.struct_size = sizeof here;
  for (i = 0; i < kCount; ++i) {
    as[i] = a[i].device;
    bs[i] = b[i].device;
    cs[i] = c[i].device;
  }
  CHECK_CUDA(cudaMalloc(&device_arrays, 3 * sizeof as));
  CHECK_CUDA(cudaMemcpy(device_arrays, as, sizeof as, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy((char*)device_arrays + sizeof as, bs, sizeof as, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy((char*)device_arrays + 2 * sizeof as, cs, sizeof as, cudaMemcpyHostToDevice));
  for (form = 0; form < 2; ++form) { /* arrays of pointers on the host, on the device */
    const char* const arrays = (const char*)device_arrays;
    const void *has[kCount], *hbs[kCount];
    void* hcs[kCount];
    for (i = 0; i < kCount; ++i) {
      has[i] = a[i].host;
      hbs[i] = b[i].host;
      hcs[i] = c[i].host;
    }
    set_operands(scalar);
    CHECK(kizami_gemm_batched(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, alpha_of(scalar), has,
                              kLda, hbs, kLdb, beta_of(scalar), hcs, kLdc, kCount, NULL, &here) == KIZAMI_OK);
    CHECK(kizami_cuda_gemm_batched(stream, scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 0,
                                   alpha_of(scalar), form, form == 0 ? as : (const void* const*)(const void*)arrays,
                                   kLda, form == 0 ? bs : (const void* const*)(const void*)(arrays + sizeof as), kLdb,
                                   beta_of(scalar),
                                   form == 0 ? cs : (void* const*)(const void*)(arrays + 2 * sizeof as), kLdc, kCount,
                                   NULL, &device) == KIZAMI_OK);
    for (i = 0; i < kCount; ++i) CHECK(is_equal(&c[i]));
    CHECK(have_equal_facts(&here, &device));
  }
  /* Side by side in one matrix: strides of a few columns. */
  set_operands(scalar);
  CHECK(kizami_gemm_strided_batched(scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 20, 10, 30, alpha_of(scalar),
                                    a[0].host, kLda, 0, b[0].host, kLdb, 10 * kLdb, beta_of(scalar), c[0].host, kLdc,
                                    10 * kLdc, kCount, NULL, &here) == KIZAMI_OK);
  CHECK(kizami_cuda_gemm_strided_batched(stream, scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 20, 10, 30, 0,
                                         alpha_of(scalar), a[0].device, kLda, 0, b[0].device, kLdb, 10 * kLdb,
                                         beta_of(scalar), c[0].device, kLdc, 10 * kLdc, kCount, NULL,
                                         &device) == KIZAMI_OK);
  CHECK(is_equal(&c[0]) && have_equal_facts(&here, &device));
  CHECK(kizami_cuda_gemm_strided_batched(stream, scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 20, 10, 30, 0,
                                         alpha_of(scalar), NULL, kLda, 0, NULL, kLdb, 0, beta_of(scalar), NULL, kLdc, 0,
                                         0, NULL, &device) == KIZAMI_OK);
  CHECK(strcmp(device.engine, "none") == 0 && device.scheme != KIZAMI_SCHEME_AUTO);
  CHECK_CUDA(cudaFree(device_arrays));
}

/* ---- Plans, workspaces of the caller, factors on the device ------------------------------------------------------ */

static void test_plans(kizami_scalar scalar, cudaStream_t stream) {
  kizami_plan *host_plan = NULL, *plan = NULL;
  kizami_plan_info host_info, info;
  kizami_outcome here, device;
  void *workspace = NULL, *factors = NULL;
  const size_t bytes_of_two = 2 * size_of(scalar);
  host_info.struct_size = info.struct_size = sizeof info;
  here.struct_size = device.struct_size = sizeof here;
  set_operands(scalar);
  CHECK(kizami_plan_create(&host_plan, scalar, kM, kN, kK, NULL) == KIZAMI_OK);
  CHECK(kizami_cuda_plan_create(&plan, scalar, kM, kN, kK, 1, 0, NULL) == KIZAMI_OK);
  CHECK(kizami_plan_query(host_plan, &host_info) == KIZAMI_OK && kizami_plan_query(plan, &info) == KIZAMI_OK);
  CHECK(info.numerics_hash == host_info.numerics_hash && info.m == kM && info.workspace_bytes > 0);
  CHECK_CUDA(cudaMalloc(&workspace, info.workspace_bytes));
  CHECK_CUDA(cudaMalloc(&factors, bytes_of_two));
  CHECK_CUDA(cudaMemcpy(factors, alpha_of(scalar), size_of(scalar), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy((char*)factors + size_of(scalar), beta_of(scalar), size_of(scalar), cudaMemcpyHostToDevice));
#define RUN(plan, workspace, bytes)                                                                          \
  kizami_cuda_run((plan), stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 1, factors, a[0].device, kLda, \
                  b[0].device, kLdb, (char*)factors + size_of(scalar), c[0].device, kLdc, (workspace), (bytes))
  CHECK_ERROR(RUN(plan, workspace, info.workspace_bytes - 1), KIZAMI_INVALID_ARGUMENT, "workspace = ");
  CHECK_ERROR(RUN(plan, (char*)workspace + 64, info.workspace_bytes), KIZAMI_INVALID_ARGUMENT, "256-byte boundary");
  CHECK_ERROR(RUN(host_plan, workspace, info.workspace_bytes), KIZAMI_INVALID_ARGUMENT, "operands in host memory");
  CHECK_ERROR(kizami_run(plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, alpha_of(scalar), a[0].host, kLda, b[0].host,
                         kLdb, beta_of(scalar), c[0].host, kLdc, NULL, 0, NULL),
              KIZAMI_INVALID_ARGUMENT, "operands in device memory");
  CHECK(kizami_cuda_last_call_writes_c() == 0 && is_equal(&c[0]));
  CHECK(RUN(plan, workspace, info.workspace_bytes) == KIZAMI_OK);
  CHECK(kizami_cuda_read_outcome(plan, stream, workspace, info.workspace_bytes, &device) == KIZAMI_OK);
  CHECK(kizami_run(host_plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, alpha_of(scalar), a[0].host, kLda, b[0].host,
                   kLdb, beta_of(scalar), c[0].host, kLdc, NULL, 0, &here) == KIZAMI_OK);
  CHECK(is_equal(&c[0]) && have_equal_facts(&here, &device));
  kizami_plan_destroy(plan);
  kizami_plan_destroy(host_plan);
  CHECK_CUDA(cudaFree(workspace));
  CHECK_CUDA(cudaFree(factors));
#undef RUN
}

/* A in memory of the caller, B in memory of its own; their matrices are named where they are prepared alone. */
static void test_prepared(kizami_scalar scalar, cudaStream_t stream) {
  kizami_plan *host_plan = NULL, *plan = NULL;
  kizami_plan_info info;
  kizami_cuda_prepared *kept_a = NULL, *kept_b = NULL;
  kizami_outcome here, device;
  void *workspace = NULL, *memory = NULL;
  size_t bytes = 0;
  int sides;
  info.struct_size = sizeof info;
  here.struct_size = device.struct_size = sizeof here;
  set_operands(scalar);
  CHECK(kizami_plan_create(&host_plan, scalar, kM, kN, kK, NULL) == KIZAMI_OK);
  CHECK(kizami_cuda_plan_create(&plan, scalar, kM, kN, kK, 1, 0, NULL) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK);
  CHECK(kizami_cuda_prepared_bytes(plan, KIZAMI_SIDE_A, &bytes) == KIZAMI_OK && bytes > 0);
  CHECK_CUDA(cudaMalloc(&workspace, info.workspace_bytes));
  CHECK_CUDA(cudaMalloc(&memory, bytes));
#define PREPARE(kept, side, op, matrix, ld, memory, size) \
  kizami_cuda_prepare((kept), plan, stream, (side), KIZAMI_COL_MAJOR, (op), (matrix), (ld), (memory), (size))
  CHECK_ERROR(PREPARE(&kept_a, KIZAMI_SIDE_A, KIZAMI_NONE, a[0].device, kLda, memory, bytes - 1),
              KIZAMI_INVALID_ARGUMENT, "memory of the prepared operand = ");
  CHECK(kept_a == NULL);
  CHECK(PREPARE(&kept_a, KIZAMI_SIDE_A, KIZAMI_NONE, a[0].device, kLda, memory, bytes) == KIZAMI_OK);
  CHECK(PREPARE(&kept_b, KIZAMI_SIDE_B, KIZAMI_TRANSPOSE, b[0].device, kLdb, NULL, 0) == KIZAMI_OK);
#define RUN(a_or_null, b_or_null)                                                                                 \
  kizami_cuda_run_prepared(plan, stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, 0, alpha_of(scalar),    \
                           (a_or_null), (a_or_null) == NULL ? a[0].device : NULL, (a_or_null) == NULL ? kLda : 0, \
                           (b_or_null), (b_or_null) == NULL ? b[0].device : NULL, (b_or_null) == NULL ? kLdb : 0, \
                           beta_of(scalar), c[0].device, kLdc, workspace, info.workspace_bytes)
  CHECK_ERROR(RUN(kept_b, NULL), KIZAMI_INVALID_ARGUMENT, "was prepared as operand B, must be as A");
  CHECK(is_equal(&c[0]));
  for (sides = 0; sides < 4; ++sides) {
    CHECK(RUN(sides % 2 == 0 ? NULL : kept_a, sides < 2 ? NULL : kept_b) == KIZAMI_OK);
    CHECK(kizami_cuda_read_outcome(plan, stream, workspace, info.workspace_bytes, &device) == KIZAMI_OK);
    CHECK(kizami_run(host_plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_TRANSPOSE, alpha_of(scalar), a[0].host, kLda,
                     b[0].host, kLdb, beta_of(scalar), c[0].host, kLdc, NULL, 0, &here) == KIZAMI_OK);
    CHECK(is_equal(&c[0]) && have_equal_facts(&here, &device));
  }
  kizami_cuda_prepared_destroy(kept_a);
  kizami_cuda_prepared_destroy(kept_b);
  kizami_cuda_prepared_destroy(NULL);
  kizami_plan_destroy(plan);
  kizami_plan_destroy(host_plan);
  CHECK_CUDA(cudaFree(workspace));
  CHECK_CUDA(cudaFree(memory));
#undef PREPARE
#undef RUN
}

static void test_plan_of_a_batch(cudaStream_t stream) {
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  kizami_outcome outcomes[kCount], here;
  const void *as[kCount], *bs[kCount];
  void *cs[kCount], *workspace = NULL;
  int i;
  info.struct_size = sizeof info;
  here.struct_size = sizeof here;
  outcomes[0].struct_size = sizeof outcomes[0];
  set_operands(KIZAMI_F64);
  for (i = 0; i < kCount; ++i) {
    as[i] = a[i].device;
    bs[i] = b[i].device;
    cs[i] = c[i].device;
  }
  CHECK(kizami_cuda_plan_create(&plan, KIZAMI_F64, kM, kN, kK, kCount, 0, NULL) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK);
  CHECK_CUDA(cudaMalloc(&workspace, info.workspace_bytes));
  CHECK_ERROR(kizami_cuda_run(plan, stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, f64, as[0], kLda, bs[0],
                              kLdb, f64 + 2, cs[0], kLdc, workspace, info.workspace_bytes),
              KIZAMI_INVALID_ARGUMENT, "products");
  CHECK(kizami_cuda_run_batched(plan, stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, f64, as, kLda, bs, kLdb,
                                f64 + 2, cs, kLdc, workspace, info.workspace_bytes) == KIZAMI_OK);
  CHECK(kizami_cuda_read_outcomes(plan, stream, workspace, info.workspace_bytes, outcomes, kCount) == KIZAMI_OK);
  for (i = 0; i < kCount; ++i) {
    CHECK(kizami_gemm(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f64, a[i].host, kLda,
                      b[i].host, kLdb, f64 + 2, c[i].host, kLdc, NULL, &here) == KIZAMI_OK);
    CHECK(is_equal(&c[i]) && outcomes[i].struct_size == sizeof here && have_equal_facts(&here, &outcomes[i]));
  }
  /* The same matrix A for all, and matrices C at equal distances of one array. */
  set_operands(KIZAMI_F64);
  CHECK(kizami_cuda_run_strided_batched(plan, stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, f64, as[0], kLda,
                                        0, bs[0], kLdb, kLdb, f64 + 2, cs[0], kLdc, kLdc * kN, workspace,
                                        info.workspace_bytes) == KIZAMI_OK);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f64, a[0].host,
                                    kLda, 0, b[0].host, kLdb, kLdb, f64 + 2, c[0].host, kLdc, kLdc * kN, kCount, NULL,
                                    NULL) == KIZAMI_OK);
  CHECK(is_equal(&c[0]));
  kizami_plan_destroy(plan);
  CHECK_CUDA(cudaFree(workspace));
}

/* ---- Waiting, graphs, the pool ----------------------------------------------------------------------------------- */

static void test_may_sync(cudaStream_t stream) {
  kizami_policy* policy = NULL;
  CHECK(kizami_policy_create(&policy) == KIZAMI_OK);
  CHECK(kizami_policy_set_reject_nonfinite(policy, 1) == KIZAMI_OK);
  set_operands(KIZAMI_F64);
  ((double*)(void*)a[0].host)[kLda + 1] = NAN;
  CHECK_CUDA(cudaMemcpy(a[0].device, a[0].host, kMaxBytes, cudaMemcpyHostToDevice));
#define GEMM()                                                                                                      \
  kizami_cuda_gemm(stream, KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, 0, f64, a[0].device, \
                   kLda, b[0].device, kLdb, f64 + 2, c[0].device, kLdc, policy, NULL)
  CHECK_ERROR(GEMM(), KIZAMI_UNSUPPORTED, "sync");
  CHECK_ERROR(kizami_policy_set_may_sync(policy, 2), KIZAMI_INVALID_ARGUMENT, "is_allowed = 2");
  CHECK(kizami_policy_set_may_sync(policy, 1) == KIZAMI_OK);
  CHECK_ERROR(GEMM(), KIZAMI_NON_FINITE, "");
  CHECK(kizami_cuda_last_call_writes_c() == 0 && is_equal(&c[0]));
  kizami_policy_destroy(policy);
#undef GEMM
}

/* A captured call follows what the memory holds at each replay. */
static void test_graph(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  kizami_plan* plan = NULL;
  kizami_plan_info info;
  void* workspace = NULL;
  int seed;
  info.struct_size = sizeof info;
  set_operands(KIZAMI_F64);
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK(kizami_cuda_plan_create(&plan, KIZAMI_F64, kM, kN, kK, 1, 0, NULL) == KIZAMI_OK);
  CHECK(kizami_plan_query(plan, &info) == KIZAMI_OK);
  CHECK_CUDA(cudaMalloc(&workspace, info.workspace_bytes));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(kizami_cuda_run(plan, stream, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, f64, a[0].device, kLda,
                        b[0].device, kLdb, f64 + 2, c[0].device, kLdc, workspace, info.workspace_bytes) == KIZAMI_OK);
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));
  for (seed = 20; seed < 23; ++seed) {
    fill(KIZAMI_F64, seed, &a[0]);
    fill(KIZAMI_F64, seed + 1, &c[0]);
    CHECK_CUDA(cudaGraphLaunch(replay, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK(kizami_gemm(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f64, a[0].host, kLda,
                      b[0].host, kLdb, f64 + 2, c[0].host, kLdc, NULL, NULL) == KIZAMI_OK);
    CHECK(is_equal(&c[0]));
  }
  CHECK_CUDA(cudaGraphExecDestroy(replay));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaFree(workspace));
  kizami_plan_destroy(plan);
}

static void test_pool(void) {
  size_t held = 0, most = 0, used = 0;
  CHECK(kizami_cuda_workspace_pool(&held, &most, &used) == KIZAMI_OK);
  CHECK(most > 0 && most >= held && held >= used);
}

int main(void) {
  kizami_scalar scalar;
  cudaStream_t stream = NULL;
  int count = 0, i;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    printf("skipped: no CUDA device is found\n");
    return getenv("KIZAMI_REQUIRE_GPU") == NULL ? 77 : 1;
  }
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (i = 0; i < kCount; ++i) {
    CHECK_CUDA(cudaMalloc((void**)&a[i].device, kMaxBytes));
    CHECK_CUDA(cudaMalloc((void**)&b[i].device, kMaxBytes));
    CHECK_CUDA(cudaMalloc((void**)&c[i].device, kMaxBytes));
  }
  for (scalar = KIZAMI_F32; scalar <= KIZAMI_C128; ++scalar) {
    test_gemm(scalar, stream);
    test_batches(scalar, stream);
    test_plans(scalar, stream);
    test_prepared(scalar, stream);
  }
  test_plan_of_a_batch(stream);
  test_may_sync(stream);
  test_graph();
  test_pool();
  CHECK_CUDA(cudaDeviceSynchronize());
  printf("%d failures\n", num_failures);
  return num_failures == 0 ? 0 : 1;
}
