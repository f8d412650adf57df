/* SPDX-License-Identifier: MIT
 * The C ABI of libkizami: matrix products with a proven error bound,
 *   C <- alpha op(A) op(B) + beta C,
 * in FP32, FP64 and their complex types. C99, and C++; docs/abi.md says what stays fixed from version to version.
 *
 * Rules that hold for every function
 *  - Status: a function that can fail returns KIZAMI_OK (0) or the code of its error. No exception leaves the library,
 *    nothing is printed, and after an error the matrix C and every output are as they were, except where said.
 *  - Bad arguments: a NULL handle, a NULL output or an unknown enum value is KIZAMI_INVALID_ARGUMENT. Not detectable:
 *    pointers to memory that is too small or freed.
 *  - Ownership: who creates a handle destroys it, once, with the function named beside it; destroying NULL does
 *    nothing. No handle refers to another one or to the caller's matrices after the call that made it.
 *  - Threads: all functions may be called from any thread. Handles that are passed as const may be shared by threads.
 *    A call computes with several threads of the library's pool (kizami_policy_set_threads), and blocks until done.
 *    Those of kizami_cuda_ compute on the calling thread's current CUDA device, and return before it is done.
 *  - Sizes are counted in elements, never in bytes, unless the name says bytes. */
#ifndef KIZAMI_KIZAMI_H
#define KIZAMI_KIZAMI_H

#include <stddef.h>
#include <stdint.h>

#include "kizami/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ----------------------------------------------------------------------------------------------------- */

#define KIZAMI_VERSION_MAJOR 0
#define KIZAMI_VERSION_MINOR 1
#define KIZAMI_VERSION_PATCH 0
/* Comparable: 100 for 0.1.0. */
#define KIZAMI_VERSION_NUMBER (KIZAMI_VERSION_MAJOR * 10000 + KIZAMI_VERSION_MINOR * 100 + KIZAMI_VERSION_PATCH)

/* KIZAMI_VERSION_NUMBER of the library that runs; the macro is that of the header. */
KIZAMI_API int kizami_version_number(void);
/* The same as text, "0.1.0". Never NULL; valid as long as the library is loaded. */
KIZAMI_API const char* kizami_version(void);

/* ---- Constants. The types are int, so that an unknown value can be refused. Values never change. ----------------- */

/* clang-format off */
/* begin constants: written by tools/write_faces.py from the C++ enums */
typedef int kizami_status;
enum {
  KIZAMI_OK = 0,
  KIZAMI_INVALID_ARGUMENT = 1,     /* an argument breaks its documented limit */
  KIZAMI_UNSUPPORTED = 2,          /* the request is well-formed, but no scheme or engine here can carry it */
  KIZAMI_ACCURACY_UNREACHABLE = 3, /* the forced scheme cannot guarantee the wanted accuracy */
  KIZAMI_WORKSPACE_TOO_SMALL = 4,  /* the caller's workspace limit is below the smallest possible workspace */
  KIZAMI_OUT_OF_MEMORY = 5,        /* the system refused an allocation */
  KIZAMI_NON_FINITE = 6,           /* the policy rejects NaN and Inf, and an operand holds one */
  KIZAMI_INTERNAL = 7              /* a broken invariant of the library itself: please report it */
};

/* Types of elements. Complex types hold real and imaginary part side by side, as std::complex and NumPy do. */
typedef int kizami_scalar;
enum {
  KIZAMI_F32 = 0,
  KIZAMI_F64 = 1,
  KIZAMI_C64 = 2, /* two FP32 numbers: std::complex<float>, float _Complex */
  KIZAMI_C128 = 3 /* two FP64 numbers: std::complex<double>, double _Complex */
};

/* For real types KIZAMI_CONJ_TRANSPOSE is KIZAMI_TRANSPOSE, and KIZAMI_CONJUGATE is KIZAMI_NONE. */
typedef int kizami_op;
enum {
  KIZAMI_NONE = 0,
  KIZAMI_TRANSPOSE = 1,
  KIZAMI_CONJ_TRANSPOSE = 2,
  KIZAMI_CONJUGATE = 3
};

typedef int kizami_layout;
enum {
  KIZAMI_COL_MAJOR = 0,
  KIZAMI_ROW_MAJOR = 1
};

/* Which operand of C = A B a view, a statistic or a prepared operand belongs to. */
typedef int kizami_side;
enum {
  KIZAMI_SIDE_A = 0,
  KIZAMI_SIDE_B = 1
};

/* The matrix that an error bound is measured against. Complex types: each part of C has its own, made of the 2k real
 * terms of that part: |Re A||Re B| + |Im A||Im B| for the real part, |Re A||Im B| + |Im A||Re B| for the imaginary
 * one; norms are those of the 2k real numbers of a line. */
typedef int kizami_gauge;
enum {
  KIZAMI_GAUGE_ENTRY = 0, /* (|A||B|)_ij: componentwise, the gauge of native BLAS */
  KIZAMI_GAUGE_NORM = 1   /* ||a_i||_2 ||b_j||_2: normwise; cheaper: no certificate, and bits of an element depend on its lines only */
};

typedef int kizami_accuracy;
enum {
  KIZAMI_ACCURACY_NATIVE = 0, /* |C - AB| <= c(k) u G with c(k) = min(max(k, 8), 16 sqrt(k)) and u = 2^-24, 2^-53, or 2^-104 (dd) */
  KIZAMI_ACCURACY_BITS = 1,   /* |C - AB| <= 2^-bits G */
  KIZAMI_ACCURACY_CORRECT = 2 /* C = AB correctly rounded (to nearest, ties to even); alpha = +-1 and beta = 0 only */
};

typedef int kizami_scheme;
enum {
  KIZAMI_SCHEME_AUTO = 0,   /* the planner's choice: native where it meets the bound and reproducibility is not asked for */
  KIZAMI_SCHEME_NATIVE = 1, /* the platform BLAS */
  KIZAMI_SCHEME_OZAKI2 = 2, /* residues modulo pairwise coprime moduli, CRT reconstruction */
  KIZAMI_SCHEME_EC = 3,     /* error-corrected products of FP16, BF16 or TF32 parts on tensor cores: FP32 and its complex type only */
  KIZAMI_SCHEME_OZAKI1 = 4  /* slices of a few bits, products of pairs of slices, exact sums */
};

typedef int kizami_engine;
enum {
  KIZAMI_ENGINE_AUTO = 0,        /* the planner's choice */
  KIZAMI_ENGINE_CPU_REF = 1,     /* plain C++, to be compared with */
  KIZAMI_ENGINE_CPU_SIMD = 2,    /* the widest integer arithmetic of the processor */
  KIZAMI_ENGINE_NATIVE_BLAS = 3, /* the platform BLAS, of scheme native */
  KIZAMI_ENGINE_CUBLASLT = 4,    /* cuBLASLt; operands in device memory */
  KIZAMI_ENGINE_HOPPER = 5,      /* kernels for devices of compute capability 9.0; operands in device memory */
  KIZAMI_ENGINE_TC_MODEL = 6,    /* a software tensor core, of schemes ec and ozaki1 */
  KIZAMI_ENGINE_TILE = 7,        /* kernels in CUDA Tile C++, on processors and devices */
  KIZAMI_ENGINE_MMA = 8          /* mma.sync, of scheme ec: what documents describe; operands in device memory */
};

/* How scheme ec splits its operands and which products of the parts it takes. x = hi + lo + remainder. */
typedef int kizami_variant;
enum {
  KIZAMI_VARIANT_AUTO = 0,        /* scaled; scaled_tf32 where its range does not do; scheme ozaki2 where neither does */
  KIZAMI_VARIANT_SCALED = 1,      /* FP16, rows and columns scaled by powers of two, lo hi + hi lo + hi hi in one promoted accumulator */
  KIZAMI_VARIANT_HALFHALF = 2,    /* FP16 as given, lo scaled by 2^11 and summed apart; only the sum of hi hi is promoted */
  KIZAMI_VARIANT_TF32TF32 = 3,    /* TF32, likewise */
  KIZAMI_VARIANT_MARKIDIS = 4,    /* FP16 as given, four products, nothing scaled, nothing promoted */
  KIZAMI_VARIANT_FENG = 5,        /* the products of markidis with the round-split of EGEMM-TC, whatever truncate_parts says */
  KIZAMI_VARIANT_BF16X3 = 6,      /* BF16, two parts, three products, promoted; rows and columns scaled */
  KIZAMI_VARIANT_BF16X6 = 7,      /* BF16, three parts, the six products i + j <= 2 */
  KIZAMI_VARIANT_BF16X9 = 8,      /* BF16, three parts, all products */
  KIZAMI_VARIANT_FP16 = 9,        /* one FP16 product as given, not corrected, not promoted: for studies */
  KIZAMI_VARIANT_TF32 = 10,       /* one TF32 product, likewise */
  KIZAMI_VARIANT_SCALED_TF32 = 11 /* scaled with TF32 for FP16: half the speed, nearly all of FP32's range */
};

/* What slices of scheme ozaki1 are held in. */
typedef int kizami_slice_format;
enum {
  KIZAMI_SLICE_FORMAT_INT8 = 0, /* signed bytes, summed in INT32 */
  KIZAMI_SLICE_FORMAT_FP16 = 1, /* the others: whole numbers that the format holds exactly, summed exactly in FP32 */
  KIZAMI_SLICE_FORMAT_BF16 = 2,
  KIZAMI_SLICE_FORMAT_E4M3 = 3, /* FP8 with 4 significand bits */
  KIZAMI_SLICE_FORMAT_E5M2 = 4  /* FP8 with 3 */
};

/* How a number becomes digits. */
typedef int kizami_slice_split;
enum {
  KIZAMI_SLICE_SPLIT_AUTO = 0,      /* bytes for INT8, nearest for the others */
  KIZAMI_SLICE_SPLIT_TRUNCATED = 1, /* ozIMMU: sign and magnitude, 7 bits a slice; INT8 only */
  KIZAMI_SLICE_SPLIT_NEAREST = 2,   /* each slice rounds what is left to nearest: digits up to 2^(bits - 1) */
  KIZAMI_SLICE_SPLIT_BYTES = 3      /* 8 bits a slice: balanced bytes in -128..127; INT8 only */
};

/* How products of slices are added up. Never changes a bit, but for rounded. */
typedef int kizami_slice_sums;
enum {
  KIZAMI_SLICE_SUMS_AUTO = 0,         /* concatenated; on a device in blocks of lines, or fused, where that is quicker */
  KIZAMI_SLICE_SUMS_PAIRS = 1,        /* every product in INT32 by itself, and one exact sum of them all */
  KIZAMI_SLICE_SUMS_GROUPED = 2,      /* ozIMMU_EF: as many products of one anti-diagonal as INT32 holds exactly */
  KIZAMI_SLICE_SUMS_CONCATENATED = 3, /* ozIMMU_EF_S: those as one product, slices side by side along k */
  KIZAMI_SLICE_SUMS_BLOCKED = 4,      /* ozIMMU_EF_L: grouped with the larger operand in blocks of lines; on a device in several streams */
  KIZAMI_SLICE_SUMS_FUSED = 5,        /* one launch that keeps the sums of all anti-diagonals on the chip; engine hopper, 2 to 4 slices */
  KIZAMI_SLICE_SUMS_ROUNDED = 6       /* ozIMMU: every product added to an FP64 sum by itself, which rounds; named slices of INT8 */
};

/* How a complex product becomes real ones in scheme ozaki1. Of itself the planner takes enlarged for slices of INT8
 * and four for others. On a device, in gauge kNorm and where no bits are promised, it takes what it predicts to be
 * the quickest. */
typedef int kizami_complex_form;
enum {
  KIZAMI_COMPLEX_FORM_AUTO = 0,      /* as the planner says */
  KIZAMI_COMPLEX_FORM_FOUR = 1,      /* Re A Re B - Im A Im B, Re A Im B + Im A Re B */
  KIZAMI_COMPLEX_FORM_KARATSUBA = 2, /* three; (Re A + Im A) is formed exactly */
  KIZAMI_COMPLEX_FORM_ENLARGED = 3   /* one: [Re A, -Im A; Im A, Re A] [Re B; Im B] */
};

/* What may differ between two calls on equal operands. */
typedef int kizami_reproducibility;
enum {
  KIZAMI_REPRODUCIBILITY_NONE = 0,  /* the planner may choose the platform BLAS */
  KIZAMI_REPRODUCIBILITY_ENGINE = 1 /* equal Numerics, equal bits: every engine, thread count, chunking and machine */
};
/* end constants */
/* clang-format on */

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The stable lower-case name of a status, "invalid_argument"; "unknown" for other numbers. Never NULL, never freed. */
KIZAMI_API const char* kizami_status_name(kizami_status status);

/* Why the last function of this thread that returns a kizami_status failed, in one sentence with argument, value and
 * limit; "" if it succeeded. Never NULL. Valid until this thread's next call of such a function; each thread has its
 * own. At most 1023 characters. */
KIZAMI_API const char* kizami_last_error(void);

/* ---- Policy: what the caller wishes ------------------------------------------------------------------------------ */

/* Mutable. Wherever a const kizami_policy* is taken, NULL means the default policy, and the values are copied: a policy
 * may be changed or destroyed right after the call. No thread may change a policy while another one uses it. */
typedef struct kizami_policy kizami_policy;

/* Creates the default policy: accuracy native, gauge entry, everything else automatic, the same bits everywhere.
 * The caller owns *policy: kizami_policy_destroy(). Errors: invalid_argument (policy is NULL), out_of_memory. */
KIZAMI_API kizami_status kizami_policy_create(kizami_policy** policy);
KIZAMI_API void kizami_policy_destroy(kizami_policy* policy);

/* The setters check one value by itself, and leave the policy as it was on invalid_argument. What depends on the type
 * or on other values is checked when a product is planned. */

/* Sets one wish by its word, to a value in text: kizami_policy_set(policy, "accuracy", "bits=40"). The words and their values are
 * those of the command line (kizami help policy), of the settings of the drop-in libraries and of Python; kizami_policy_help()
 * lists them. Errors: invalid_argument (NULL, an unknown word, a value that is not allowed), out_of_memory. */
KIZAMI_API kizami_status kizami_policy_set(kizami_policy* policy, const char* key, const char* value);
/* The value of one wish, as kizami_policy_set() takes it; buffer, capacity and length as kizami_plan_explain(). policy: NULL for
 * the default. Errors: invalid_argument (NULL, an unknown word), out_of_memory. */
KIZAMI_API kizami_status kizami_policy_get(const kizami_policy* policy, const char* key, char* buffer, size_t capacity,
                                           size_t* length);
/* All wishes in words, one a line: word=default (values): meaning. buffer, capacity and length as kizami_plan_explain(). */
KIZAMI_API kizami_status kizami_policy_help(char* buffer, size_t capacity, size_t* length);

/* The same with a function each, for what has constants above.
 * bits: of KIZAMI_ACCURACY_BITS, in 1..52 (FP32 allows 23); 0 for the other kinds. */
KIZAMI_API kizami_status kizami_policy_set_accuracy(kizami_policy* policy, kizami_accuracy kind, int bits);
KIZAMI_API kizami_status kizami_policy_set_gauge(kizami_policy* policy, kizami_gauge gauge);
KIZAMI_API kizami_status kizami_policy_set_scheme(kizami_policy* policy, kizami_scheme scheme);
KIZAMI_API kizami_status kizami_policy_set_engine(kizami_policy* policy, kizami_engine engine);
KIZAMI_API kizami_status kizami_policy_set_reproducibility(kizami_policy* policy, kizami_reproducibility promise);
/* Scheme ec only. variant: a named one is taken at its own bound where the accuracy is native. keep_small_term: 1 also
 * takes the product of the two small parts. promotion_k: elements of k after which a tensor core's sum is added to an FP32
 * sum outside it, a multiple of 16 in 0..65536; 0 leaves it to the variant. */
KIZAMI_API kizami_status kizami_policy_set_variant(kizami_policy* policy, kizami_variant variant, int keep_small_term,
                                                   int promotion_k);
/* Scheme ec, KIZAMI_C64 and KIZAMI_GAUGE_NORM only: 1 makes complex products of three real ones, whose imaginary part
 * cancels, instead of four (0, default). */
KIZAMI_API kizami_status kizami_policy_set_karatsuba(kizami_policy* policy, int is_wanted);
/* Scheme ozaki1 only. num_slices in 1..20; 0 (default) leaves it to the planner, -1 goes on until nothing is left.
 * num_diagonals: products of slices i + j < num_diagonals, in 1..39; 0 (default) leaves it to the planner, -1 takes all. */
KIZAMI_API kizami_status kizami_policy_set_slices(kizami_policy* policy, int num_slices, int num_diagonals);
/* Scheme ozaki1 only. slice_bits: of a digit beside its sign, in 1..11; 0 (default) leaves it to format and split.
 * has_one_scale: 1 takes one power of two for a matrix instead of one for each line (0, default). */
KIZAMI_API kizami_status kizami_policy_set_digits(kizami_policy* policy, kizami_slice_format format,
                                                  kizami_slice_split split, int slice_bits, int has_one_scale);
/* Scheme ozaki1 only. Never changes a bit, but for KIZAMI_SLICE_SUMS_ROUNDED. */
KIZAMI_API kizami_status kizami_policy_set_slice_sums(kizami_policy* policy, kizami_slice_sums sums);
/* Scheme ozaki1 with sums by name, but for FUSED and ROUNDED. lines: of the larger operand in one block, in 1..1048576;
 * num_streams: that take blocks in turn in device memory, in 1..8; 0 (default): one, with KIZAMI_SLICE_SUMS_BLOCKED as
 * measured. Never changes a bit. */
KIZAMI_API kizami_status kizami_policy_set_slice_blocks(kizami_policy* policy, int lines, int num_streams);
/* Scheme ozaki1 and complex types only. */
KIZAMI_API kizami_status kizami_policy_set_complex_form(kizami_policy* policy, kizami_complex_form form);
/* 1 (default): elements that no number of moduli certifies are computed in FP64 arithmetic of proven bound; 0: the call
 * is refused instead (accuracy_unreachable). */
KIZAMI_API kizami_status kizami_policy_set_fp64_arithmetic(kizami_policy* policy, int is_allowed);
/* 0 (default): NaN and Inf are multiplied as BLAS does; 1: they are an error (non_finite). */
KIZAMI_API kizami_status kizami_policy_set_reject_nonfinite(kizami_policy* policy, int is_rejected);
/* For studies: exactly so many moduli, whatever the accuracy; 0 (default) leaves it to the planner. In 0..64 */
KIZAMI_API kizami_status kizami_policy_set_moduli(kizami_policy* policy, int num_moduli);
/* 0 (default): as many as the machine offers to this process. In 0..32767. Never changes a bit. */
KIZAMI_API kizami_status kizami_policy_set_threads(kizami_policy* policy, int num_threads);
/* Upper limit of the workspace; 0 (default): 1 GiB. Never changes a bit. */
KIZAMI_API kizami_status kizami_policy_set_workspace_limit(kizami_policy* policy, size_t bytes);
/* Calls on a device only: 1 lets them wait for what the elements say, which some policies need; 0 (default). */
KIZAMI_API kizami_status kizami_policy_set_may_sync(kizami_policy* policy, int is_allowed);

/* ---- Structures that may grow ------------------------------------------------------------------------------------ */

/* The caller sets struct_size = sizeof of the structure before the call; the library writes no byte beyond it. Later
 * versions add members at the end only. A size of no version is invalid_argument. Engine names end with a zero byte. */

/* What a call did with the elements it saw. */
typedef struct kizami_outcome {
  size_t struct_size;     /* set by the caller */
  kizami_scheme scheme;   /* never KIZAMI_SCHEME_AUTO */
  kizami_gauge gauge;     /* of the bound */
  double bound;           /* |C - AB| <= bound * gauge for alpha = 1, beta = 0; 0 after a quick return */
  int32_t moduli;         /* of ozaki2; 0 if all was answered in FP64 arithmetic */
  int32_t rung;           /* index into the plan's ladder; -1: FP64 arithmetic or scheme native */
  int32_t equilibrated;   /* 1: the inner index was rescaled by exact powers of two */
  int32_t reserved;       /* 0 */
  int64_t repaired;       /* elements recomputed in FP64 arithmetic, because no bound was certified for them */
  int64_t nonfinite_rows; /* rows of op(A) that hold NaN or Inf; not looked for by scheme native */
  int64_t nonfinite_cols; /* columns of op(B) likewise */
  char engine[32];        /* "cpu_ref", "cpu_simd", "tile", "native_blas", "tc_model", or "none" after a quick return */
  kizami_variant variant; /* scheme ec: the variant that answered; otherwise KIZAMI_VARIANT_AUTO */
  int32_t reserved_2;     /* 0 */
  int32_t slices;         /* of ozaki1; 0 otherwise */
  int32_t is_conditional; /* 1: of native; where terms overflow or underflow, the bound does not hold */
} kizami_outcome;

/* What a plan decided. */
typedef struct kizami_plan_info {
  size_t struct_size; /* set by the caller */
  kizami_scalar scalar;
  kizami_scheme scheme; /* never KIZAMI_SCHEME_AUTO */
  kizami_gauge gauge;   /* of the bound */
  int32_t base_moduli;  /* of the lowest rung; 0 for scheme native */
  int32_t max_moduli;   /* of the highest rung */
  int32_t reserved;     /* 0 */
  int64_t m;
  int64_t n;
  int64_t k;
  double bound;             /* guaranteed for every product of this plan, relative to the gauge */
  double predicted_seconds; /* of one product */
  uint64_t numerics_hash;   /* equal for plans that give equal bits on equal operands (scheme ozaki2) */
  size_t workspace_bytes;   /* that kizami_run() needs; 0: none */
  char engine[32];
  kizami_variant variant; /* scheme ec: the variant that is tried first; otherwise KIZAMI_VARIANT_AUTO */
  int32_t reserved_2;     /* 0 */
} kizami_plan_info;

/* ---- One product in one call ------------------------------------------------------------------------------------- */

/* C <- alpha op(A) op(B) + beta C for scalars of type `scalar`.
 * Shapes: op(A) is m x k, op(B) k x n, C m x n, as stored by xGEMM of BLAS: with KIZAMI_COL_MAJOR, lda >= max(1, rows
 *   of A as stored), and so on; with KIZAMI_ROW_MAJOR, columns. m, n, k in [0, 2^34), k in
 *   [0, 2^33) for complex scalars, a matrix at most 2^62 elements.
 * alpha, beta: point to one scalar of that type; never NULL.
 * A, B, C: aligned as their type. beta = 0 never reads C; alpha = 0 or k = 0 never reads A and B, which may then be
 *   NULL. C must not overlap A or B; A and B may be the same memory.
 * policy: NULL for the default. outcome: NULL, or written on success.
 * Errors: invalid_argument (sizes, leading dimensions, NULL, overlap, enum values), accuracy_unreachable, unsupported,
 *   workspace_too_small, out_of_memory, non_finite. */
KIZAMI_API kizami_status kizami_gemm(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                     int64_t m, int64_t n, int64_t k, const void* alpha, const void* A, int64_t lda,
                                     const void* B, int64_t ldb, const void* beta, void* C, int64_t ldc,
                                     const kizami_policy* policy, kizami_outcome* outcome);

/* kizami_gemm() for one type each, column-major or row-major like CBLAS. Complex scalars and matrices are passed by
 * address, real and imaginary part side by side. */
KIZAMI_API kizami_status kizami_sgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n,
                                      int64_t k, float alpha, const float* A, int64_t lda, const float* B, int64_t ldb,
                                      float beta, float* C, int64_t ldc, const kizami_policy* policy,
                                      kizami_outcome* outcome);
KIZAMI_API kizami_status kizami_dgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n,
                                      int64_t k, double alpha, const double* A, int64_t lda, const double* B,
                                      int64_t ldb, double beta, double* C, int64_t ldc, const kizami_policy* policy,
                                      kizami_outcome* outcome);
KIZAMI_API kizami_status kizami_cgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n,
                                      int64_t k, const void* alpha, const void* A, int64_t lda, const void* B,
                                      int64_t ldb, const void* beta, void* C, int64_t ldc, const kizami_policy* policy,
                                      kizami_outcome* outcome);
KIZAMI_API kizami_status kizami_zgemm(kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m, int64_t n,
                                      int64_t k, const void* alpha, const void* A, int64_t lda, const void* B,
                                      int64_t ldb, const void* beta, void* C, int64_t ldc, const kizami_policy* policy,
                                      kizami_outcome* outcome);

/* ---- Batches: one plan, many products of one shape --------------------------------------------------------------- */

/* C_i <- alpha op(A_i) op(B_i) + beta C_i for i = 0 .. batch_count - 1.
 * A_i begins stride_a elements after A_(i-1), and so on. Strides >= 0; 0 gives every product the same A or B. With
 *   batch_count > 1 no element may belong to two C_i (checked). No C_i may overlap any A_j or B_j (checked for i = j).
 * Everything else: see kizami_gemm(). Each product has the bits that kizami_gemm() gives it.
 * outcome: the largest bound, moduli, slices and rung of all products; counts are added up.
 * Errors: as kizami_gemm(). A shape, a stride or a NULL is refused before any C is touched. Where the elements of a
 *   product are the reason, kizami_last_error() names the first such product; its C is untouched, others may be written.
 * Products run side by side where there are more of them than threads. */
KIZAMI_API kizami_status kizami_gemm_strided_batched(kizami_scalar scalar, kizami_layout layout, kizami_op op_a,
                                                     kizami_op op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                                                     const void* A, int64_t lda, int64_t stride_a, const void* B,
                                                     int64_t ldb, int64_t stride_b, const void* beta, void* C,
                                                     int64_t ldc, int64_t stride_c, int64_t batch_count,
                                                     const kizami_policy* policy, kizami_outcome* outcome);

/* The same with arrays of batch_count pointers. The C_i must not overlap each other (not checked). */
KIZAMI_API kizami_status kizami_gemm_batched(kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                             int64_t m, int64_t n, int64_t k, const void* alpha, const void* const* A,
                                             int64_t lda, const void* const* B, int64_t ldb, const void* beta,
                                             void* const* C, int64_t ldc, int64_t batch_count,
                                             const kizami_policy* policy, kizami_outcome* outcome);

/* ---- Decide once, run many times --------------------------------------------------------------------------------- */

/* An immutable decision how to multiply op(A) (m x k) by op(B) (k x n). Safe to share among threads. */
typedef struct kizami_plan kizami_plan;

/* Plans. The caller owns *plan: kizami_plan_destroy().
 * m, n, k: as kizami_gemm(). policy: NULL for the default.
 * Errors: invalid_argument, accuracy_unreachable, unsupported, workspace_too_small, out_of_memory. */
KIZAMI_API kizami_status kizami_plan_create(kizami_plan** plan, kizami_scalar scalar, int64_t m, int64_t n, int64_t k,
                                            const kizami_policy* policy);
KIZAMI_API void kizami_plan_destroy(kizami_plan* plan);

/* Fills *info. Errors: invalid_argument (NULL, info->struct_size). */
KIZAMI_API kizami_status kizami_plan_query(const kizami_plan* plan, kizami_plan_info* info);

/* The plan in words, one fact a line. Writes the text, cut to capacity - 1 characters, and a zero byte to buffer; and
 * the length of the whole text, without zero byte, to *length. The text is whole if *length < capacity.
 * buffer may be NULL if capacity = 0; length may be NULL. Errors: invalid_argument, out_of_memory. */
KIZAMI_API kizami_status kizami_plan_explain(const kizami_plan* plan, char* buffer, size_t capacity, size_t* length);

/* What the library found on this machine, in words; buffer, capacity and length as kizami_plan_explain(). */
KIZAMI_API kizami_status kizami_machine_report(char* buffer, size_t capacity, size_t* length);

/* One operand split once for many products. Immutable; safe to share among threads. */
typedef struct kizami_prepared kizami_prepared;

/* Splits op(X) for plans of equal numerics_hash. The caller owns *prepared: kizami_prepared_destroy(); X may be freed.
 * Shapes: KIZAMI_SIDE_A: op(X) is m x k of the plan; KIZAMI_SIDE_B: k x n. layout, op, ldx as kizami_gemm().
 * Errors: invalid_argument; unsupported (scheme native); non_finite (if the policy rejects); out_of_memory. */
KIZAMI_API kizami_status kizami_prepare(kizami_prepared** prepared, const kizami_plan* plan, kizami_side side,
                                        kizami_layout layout, kizami_op op, const void* X, int64_t ldx);
KIZAMI_API void kizami_prepared_destroy(kizami_prepared* prepared);
/* The memory that a prepared operand holds. Errors: invalid_argument (NULL). */
KIZAMI_API kizami_status kizami_prepared_size(const kizami_prepared* prepared, size_t* bytes);

/* C <- alpha op(A) op(B) + beta C as planned; scalars and matrices are of the plan's type.
 * workspace: plan_info.workspace_bytes or more on a 64-byte boundary, for this call alone: then nothing is allocated.
 *   NULL with workspace_bytes = 0: allocated and freed inside.
 * Everything else, errors too: see kizami_gemm(). */
KIZAMI_API kizami_status kizami_run(const kizami_plan* plan, kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                    const void* alpha, const void* A, int64_t lda, const void* B, int64_t ldb,
                                    const void* beta, void* C, int64_t ldc, void* workspace, size_t workspace_bytes,
                                    kizami_outcome* outcome);

/* kizami_run() with one or both operands prepared. Where prepared_a is not NULL, A may be NULL (lda then does not
 * matter); elements that need more moduli than were prepared need A as well, or the call is refused with
 * accuracy_unreachable. Where prepared_a is NULL, A is taken as in kizami_run(). The same holds for B.
 * Further errors: invalid_argument (prepared for another side, shape, type or numerics_hash). */
KIZAMI_API kizami_status kizami_run_prepared(const kizami_plan* plan, kizami_layout layout, kizami_op op_a,
                                             kizami_op op_b, const void* alpha, const kizami_prepared* prepared_a,
                                             const void* A, int64_t lda, const kizami_prepared* prepared_b,
                                             const void* B, int64_t ldb, const void* beta, void* C, int64_t ldc,
                                             void* workspace, size_t workspace_bytes, kizami_outcome* outcome);

/* ---- Matrices in the memory of a CUDA device --------------------------------------------------------------------- */

/* A cudaStream_t; NULL is the default stream. */
struct CUstream_st;
typedef struct CUstream_st* kizami_stream;

/* Rules that hold for every function below
 *  - Device: the current one of the calling thread (cudaSetDevice). Without one, and in a library that was built without
 *    CUDA, a call whose arguments are right is unsupported.
 *  - Queue: a call returns once its work is in the stream, allocates nothing where a workspace is given, and can be
 *    captured into a CUDA graph, but where it says that it waits. Matrices, workspace, and alpha and beta in device
 *    memory must stay until the work is done.
 *  - A, B, C: device memory; layouts, shapes and leading dimensions as kizami_gemm(), complex elements aligned as a whole.
 *  - has_device_factors: 0: alpha and beta point to host memory, and are read before the call returns; 1: to device
 *    memory, and are read when the work runs.
 *  - Bits: those that the host gives by a plan of equal numerics_hash.
 *  - Errors: further to those of kizami_gemm(), out_of_memory where the device has no room for a workspace, and internal
 *    with CUDA's words. What is known without the elements is refused before anything is enqueued;
 *    kizami_cuda_last_call_writes_c() says whether C may have been written. */

/* Plans for batch_count products of one shape (1: kizami_cuda_run(); more, or 0: the batched functions) on the current
 * device. kizami_plan_query(), _explain() and _destroy() take them too; kizami_run() and kizami_prepare() do not.
 * has_device_arrays: 1 for kizami_cuda_run_batched() with arrays of pointers that are in device memory themselves.
 * policy: NULL for the default. Accuracy native and bits; reject_nonfinite, fp64_arithmetic = 0 and slices that the
 *   elements count need may_sync. A workspace limit of 0: as much as the plan would like, at most a quarter of the
 *   device's memory. threads is not looked at.
 * Errors: as kizami_plan_create(); unsupported also where no engine runs on the device. */
KIZAMI_API kizami_status kizami_cuda_plan_create(kizami_plan** plan, kizami_scalar scalar, int64_t m, int64_t n,
                                                 int64_t k, int64_t batch_count, int has_device_arrays,
                                                 const kizami_policy* policy);

/* Enqueues C <- alpha op(A) op(B) + beta C as planned.
 * workspace: plan_info.workspace_bytes or more of device memory on a 256-byte boundary, not in use by another call.
 * Errors: unsupported: may_sync while the stream is captured; scheme native without libcublas. */
KIZAMI_API kizami_status kizami_cuda_run(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                         kizami_op op_a, kizami_op op_b, int has_device_factors, const void* alpha,
                                         const void* A, int64_t lda, const void* B, int64_t ldb, const void* beta,
                                         void* C, int64_t ldc, void* workspace, size_t workspace_bytes);

/* One operand in device memory split once for many products. Immutable; safe to share among threads and streams. */
typedef struct kizami_cuda_prepared kizami_cuda_prepared;

/* The device memory that a prepared operand of the plan's shape takes.
 * Errors: invalid_argument (a plan for the host or for a batch); unsupported (its scheme keeps nothing: native, ozaki1). */
KIZAMI_API kizami_status kizami_cuda_prepared_bytes(const kizami_plan* plan, kizami_side side, size_t* bytes);

/* Enqueues the split of op(X), for plans of equal numerics with as many lines on that side. The caller owns *prepared:
 * kizami_cuda_prepared_destroy(). X must stay as it is, where it is, as long as calls use *prepared: they read it where
 * elements need more than was prepared, or are NaN or Inf.
 * Shapes: KIZAMI_SIDE_A: op(X) is m x k of the plan; KIZAMI_SIDE_B: k x n. layout, op, ldx as kizami_gemm().
 * memory: kizami_cuda_prepared_bytes() or more of device memory on a 256-byte boundary, which stays as long. NULL with
 *   memory_bytes = 0: allocated here, which may wait for the device, and freed by kizami_cuda_prepared_destroy(), which
 *   waits for it.
 * Calls on other streams are for the caller to order behind this one.
 * Errors: as kizami_cuda_prepared_bytes(). */
KIZAMI_API kizami_status kizami_cuda_prepare(kizami_cuda_prepared** prepared, const kizami_plan* plan,
                                             kizami_stream stream, kizami_side side, kizami_layout layout, kizami_op op,
                                             const void* X, int64_t ldx, void* memory, size_t memory_bytes);
KIZAMI_API void kizami_cuda_prepared_destroy(kizami_cuda_prepared* prepared);

/* kizami_cuda_run() with one or both operands prepared: the same bits. Where prepared_a is not NULL, op_a, A and lda do
 * not matter. The same holds for B.
 * Further errors: invalid_argument (prepared for another side, shape, type, device or numerics_hash). */
KIZAMI_API kizami_status kizami_cuda_run_prepared(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                                  kizami_op op_a, kizami_op op_b, int has_device_factors,
                                                  const void* alpha, const kizami_cuda_prepared* prepared_a,
                                                  const void* A, int64_t lda, const kizami_cuda_prepared* prepared_b,
                                                  const void* B, int64_t ldb, const void* beta, void* C, int64_t ldc,
                                                  void* workspace, size_t workspace_bytes);

/* kizami_cuda_run() for the products of a plan, strides as kizami_gemm_strided_batched(). Each product has the bits that
 * kizami_cuda_run() gives it. */
KIZAMI_API kizami_status kizami_cuda_run_strided_batched(const kizami_plan* plan, kizami_stream stream,
                                                         kizami_layout layout, kizami_op op_a, kizami_op op_b,
                                                         int has_device_factors, const void* alpha, const void* A,
                                                         int64_t lda, int64_t stride_a, const void* B, int64_t ldb,
                                                         int64_t stride_b, const void* beta, void* C, int64_t ldc,
                                                         int64_t stride_c, void* workspace, size_t workspace_bytes);

/* The same with arrays of pointers: in host memory, read before the call returns; or, by a plan with has_device_arrays,
 * all three in device memory, read when the work runs. The C_i must not overlap each other (not checked). */
KIZAMI_API kizami_status kizami_cuda_run_batched(const kizami_plan* plan, kizami_stream stream, kizami_layout layout,
                                                 kizami_op op_a, kizami_op op_b, int has_device_factors,
                                                 const void* alpha, const void* const* A, int64_t lda,
                                                 const void* const* B, int64_t ldb, const void* beta, void* const* C,
                                                 int64_t ldc, void* workspace, size_t workspace_bytes);

/* What the last call with this workspace did; of a batch as kizami_gemm_strided_batched(). Waits for the stream.
 * Scheme native: what the plan says. */
KIZAMI_API kizami_status kizami_cuda_read_outcome(const kizami_plan* plan, kizami_stream stream, const void* workspace,
                                                  size_t workspace_bytes, kizami_outcome* outcome);
/* The same of each product. outcomes: as many as the plan has products; struct_size of the first one is that of all. */
KIZAMI_API kizami_status kizami_cuda_read_outcomes(const kizami_plan* plan, kizami_stream stream, const void* workspace,
                                                   size_t workspace_bytes, kizami_outcome* outcomes,
                                                   int64_t num_outcomes);

/* kizami_gemm() in device memory, with a cached plan and a workspace of the library's pool.
 * outcome: NULL, or written on success: then the call waits for the stream. */
KIZAMI_API kizami_status kizami_cuda_gemm(kizami_stream stream, kizami_scalar scalar, kizami_layout layout,
                                          kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                                          int has_device_factors, const void* alpha, const void* A, int64_t lda,
                                          const void* B, int64_t ldb, const void* beta, void* C, int64_t ldc,
                                          const kizami_policy* policy, kizami_outcome* outcome);
/* kizami_gemm_strided_batched() likewise. */
KIZAMI_API kizami_status kizami_cuda_gemm_strided_batched(
    kizami_stream stream, kizami_scalar scalar, kizami_layout layout, kizami_op op_a, kizami_op op_b, int64_t m,
    int64_t n, int64_t k, int has_device_factors, const void* alpha, const void* A, int64_t lda, int64_t stride_a,
    const void* B, int64_t ldb, int64_t stride_b, const void* beta, void* C, int64_t ldc, int64_t stride_c,
    int64_t batch_count, const kizami_policy* policy, kizami_outcome* outcome);
/* kizami_gemm_batched() likewise. has_device_arrays: 1 where all three arrays of pointers are in device memory: what
 * cublas<t>gemmBatched takes. They then cost a copy of each matrix. */
KIZAMI_API kizami_status kizami_cuda_gemm_batched(kizami_stream stream, kizami_scalar scalar, kizami_layout layout,
                                                  kizami_op op_a, kizami_op op_b, int64_t m, int64_t n, int64_t k,
                                                  int has_device_factors, const void* alpha, int has_device_arrays,
                                                  const void* const* A, int64_t lda, const void* const* B, int64_t ldb,
                                                  const void* beta, void* const* C, int64_t ldc, int64_t batch_count,
                                                  const kizami_policy* policy, kizami_outcome* outcome);

/* 1: the last of the calls above by this thread has enqueued work that writes C; 0: C is as it was. */
KIZAMI_API int kizami_cuda_last_call_writes_c(void);

/* Bytes that the pool for workspaces of kizami_cuda_gemm() and its kin holds of the current device, held at most, and
 * uses for calls that are not done. Errors: invalid_argument (NULL), unsupported, internal. */
KIZAMI_API kizami_status kizami_cuda_workspace_pool(size_t* held_bytes, size_t* most_held_bytes, size_t* used_bytes);
/* Limits what each device's pool holds; 0: no limit. Before the first call on a device. Cannot fail. */
KIZAMI_API kizami_status kizami_cuda_limit_workspaces(size_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KIZAMI_KIZAMI_H */
