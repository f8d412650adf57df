! SPDX-License-Identifier: MIT
! libkizami from Fortran 2018: the functions, constants and structures of kizami.h, under the same names. Compile this
! file with your program, and link libkizami. kizami.h says what each argument means. What differs here:
!  - handles (policy, plan, prepared) are type(c_ptr); c_null_ptr where C has NULL;
!  - the matrices of kizami_sgemm, dgemm, cgemm and zgemm are arrays of their type; those of the other functions are
!    addresses (c_loc), and so are alpha and beta there;
!  - streams, matrices in device memory and arrays of pointers to them are type(c_ptr); c_devloc() of CUDA Fortran is one;
!  - an outcome may be left out. Give it and a plan_info no struct_size: their initial value is right;
!  - kizami_error_text() is kizami_last_error() as a string;
!  - kizami_matmul() multiplies arrays by their shapes, at a number of bits.
module kizami
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_double_complex, c_f_pointer, c_float, c_float_complex, &
      c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  ! begin constants: written by tools/write_faces.py from the C++ enums
  integer(c_int), parameter, public :: KIZAMI_OK = 0
  integer(c_int), parameter, public :: KIZAMI_INVALID_ARGUMENT = 1
  integer(c_int), parameter, public :: KIZAMI_UNSUPPORTED = 2
  integer(c_int), parameter, public :: KIZAMI_ACCURACY_UNREACHABLE = 3
  integer(c_int), parameter, public :: KIZAMI_WORKSPACE_TOO_SMALL = 4
  integer(c_int), parameter, public :: KIZAMI_OUT_OF_MEMORY = 5
  integer(c_int), parameter, public :: KIZAMI_NON_FINITE = 6
  integer(c_int), parameter, public :: KIZAMI_INTERNAL = 7
  integer(c_int), parameter, public :: KIZAMI_F32 = 0
  integer(c_int), parameter, public :: KIZAMI_F64 = 1
  integer(c_int), parameter, public :: KIZAMI_C64 = 2
  integer(c_int), parameter, public :: KIZAMI_C128 = 3
  integer(c_int), parameter, public :: KIZAMI_NONE = 0
  integer(c_int), parameter, public :: KIZAMI_TRANSPOSE = 1
  integer(c_int), parameter, public :: KIZAMI_CONJ_TRANSPOSE = 2
  integer(c_int), parameter, public :: KIZAMI_CONJUGATE = 3
  integer(c_int), parameter, public :: KIZAMI_COL_MAJOR = 0
  integer(c_int), parameter, public :: KIZAMI_ROW_MAJOR = 1
  integer(c_int), parameter, public :: KIZAMI_SIDE_A = 0
  integer(c_int), parameter, public :: KIZAMI_SIDE_B = 1
  integer(c_int), parameter, public :: KIZAMI_GAUGE_ENTRY = 0
  integer(c_int), parameter, public :: KIZAMI_GAUGE_NORM = 1
  integer(c_int), parameter, public :: KIZAMI_ACCURACY_NATIVE = 0
  integer(c_int), parameter, public :: KIZAMI_ACCURACY_BITS = 1
  integer(c_int), parameter, public :: KIZAMI_ACCURACY_CORRECT = 2
  integer(c_int), parameter, public :: KIZAMI_SCHEME_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_SCHEME_NATIVE = 1
  integer(c_int), parameter, public :: KIZAMI_SCHEME_OZAKI2 = 2
  integer(c_int), parameter, public :: KIZAMI_SCHEME_EC = 3
  integer(c_int), parameter, public :: KIZAMI_SCHEME_OZAKI1 = 4
  integer(c_int), parameter, public :: KIZAMI_ENGINE_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_ENGINE_CPU_REF = 1
  integer(c_int), parameter, public :: KIZAMI_ENGINE_CPU_SIMD = 2
  integer(c_int), parameter, public :: KIZAMI_ENGINE_NATIVE_BLAS = 3
  integer(c_int), parameter, public :: KIZAMI_ENGINE_CUBLASLT = 4
  integer(c_int), parameter, public :: KIZAMI_ENGINE_HOPPER = 5
  integer(c_int), parameter, public :: KIZAMI_ENGINE_TC_MODEL = 6
  integer(c_int), parameter, public :: KIZAMI_ENGINE_TILE = 7
  integer(c_int), parameter, public :: KIZAMI_ENGINE_MMA = 8
  integer(c_int), parameter, public :: KIZAMI_VARIANT_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_VARIANT_SCALED = 1
  integer(c_int), parameter, public :: KIZAMI_VARIANT_HALFHALF = 2
  integer(c_int), parameter, public :: KIZAMI_VARIANT_TF32TF32 = 3
  integer(c_int), parameter, public :: KIZAMI_VARIANT_MARKIDIS = 4
  integer(c_int), parameter, public :: KIZAMI_VARIANT_FENG = 5
  integer(c_int), parameter, public :: KIZAMI_VARIANT_BF16X3 = 6
  integer(c_int), parameter, public :: KIZAMI_VARIANT_BF16X6 = 7
  integer(c_int), parameter, public :: KIZAMI_VARIANT_BF16X9 = 8
  integer(c_int), parameter, public :: KIZAMI_VARIANT_FP16 = 9
  integer(c_int), parameter, public :: KIZAMI_VARIANT_TF32 = 10
  integer(c_int), parameter, public :: KIZAMI_VARIANT_SCALED_TF32 = 11
  integer(c_int), parameter, public :: KIZAMI_SLICE_FORMAT_INT8 = 0
  integer(c_int), parameter, public :: KIZAMI_SLICE_FORMAT_FP16 = 1
  integer(c_int), parameter, public :: KIZAMI_SLICE_FORMAT_BF16 = 2
  integer(c_int), parameter, public :: KIZAMI_SLICE_FORMAT_E4M3 = 3
  integer(c_int), parameter, public :: KIZAMI_SLICE_FORMAT_E5M2 = 4
  integer(c_int), parameter, public :: KIZAMI_SLICE_SPLIT_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_SLICE_SPLIT_TRUNCATED = 1
  integer(c_int), parameter, public :: KIZAMI_SLICE_SPLIT_NEAREST = 2
  integer(c_int), parameter, public :: KIZAMI_SLICE_SPLIT_BYTES = 3
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_PAIRS = 1
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_GROUPED = 2
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_CONCATENATED = 3
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_BLOCKED = 4
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_FUSED = 5
  integer(c_int), parameter, public :: KIZAMI_SLICE_SUMS_ROUNDED = 6
  integer(c_int), parameter, public :: KIZAMI_COMPLEX_FORM_AUTO = 0
  integer(c_int), parameter, public :: KIZAMI_COMPLEX_FORM_FOUR = 1
  integer(c_int), parameter, public :: KIZAMI_COMPLEX_FORM_KARATSUBA = 2
  integer(c_int), parameter, public :: KIZAMI_COMPLEX_FORM_ENLARGED = 3
  integer(c_int), parameter, public :: KIZAMI_REPRODUCIBILITY_NONE = 0
  integer(c_int), parameter, public :: KIZAMI_REPRODUCIBILITY_ENGINE = 1
  ! end constants

  type, bind(C), public :: kizami_outcome
    integer(c_size_t) :: struct_size = 112
    integer(c_int) :: scheme = 0, gauge = 0
    real(c_double) :: bound = 0
    integer(c_int32_t) :: moduli = 0, rung = 0, equilibrated = 0, reserved = 0
    integer(c_int64_t) :: repaired = 0, nonfinite_rows = 0, nonfinite_cols = 0
    character(kind=c_char) :: engine(32) = char(0)
    integer(c_int) :: variant = 0
    integer(c_int32_t) :: reserved_2 = 0, slices = 0, is_conditional = 0
  end type kizami_outcome

  type, bind(C), public :: kizami_plan_info
    integer(c_size_t) :: struct_size = 128
    integer(c_int) :: scalar = 0, scheme = 0, gauge = 0
    integer(c_int32_t) :: base_moduli = 0, max_moduli = 0, reserved = 0
    integer(c_int64_t) :: m = 0, n = 0, k = 0
    real(c_double) :: bound = 0, predicted_seconds = 0
    integer(c_int64_t) :: numerics_hash = 0
    integer(c_size_t) :: workspace_bytes = 0
    character(kind=c_char) :: engine(32) = char(0)
    integer(c_int) :: variant = 0
    integer(c_int32_t) :: reserved_2 = 0
  end type kizami_plan_info

  public :: kizami_error_text, kizami_version_number, kizami_version, kizami_status_name, kizami_last_error, &
      kizami_policy_create, kizami_policy_destroy, kizami_policy_set, kizami_policy_get, kizami_policy_help, &
      kizami_policy_set_accuracy, kizami_policy_set_gauge, &
      kizami_policy_set_scheme, kizami_policy_set_engine, kizami_policy_set_reproducibility, kizami_policy_set_variant, &
      kizami_policy_set_karatsuba, kizami_policy_set_slices, kizami_policy_set_digits, kizami_policy_set_slice_sums, &
      kizami_policy_set_slice_blocks, &
      kizami_policy_set_complex_form, &
      kizami_policy_set_fp64_arithmetic, kizami_policy_set_reject_nonfinite, kizami_policy_set_moduli, &
      kizami_policy_set_threads, kizami_policy_set_workspace_limit, kizami_gemm, kizami_sgemm, kizami_dgemm, &
      kizami_cgemm, kizami_zgemm, kizami_gemm_strided_batched, kizami_gemm_batched, kizami_plan_create, &
      kizami_plan_destroy, kizami_plan_query, kizami_plan_explain, kizami_machine_report, kizami_prepare, &
      kizami_prepared_destroy, kizami_prepared_size, kizami_run, kizami_run_prepared, &
      kizami_policy_set_may_sync, kizami_cuda_plan_create, kizami_cuda_run, kizami_cuda_prepared_bytes, &
      kizami_cuda_prepare, kizami_cuda_prepared_destroy, kizami_cuda_run_prepared, kizami_cuda_run_strided_batched, &
      kizami_cuda_run_batched, kizami_cuda_read_outcome, kizami_cuda_read_outcomes, kizami_cuda_gemm, &
      kizami_cuda_gemm_strided_batched, kizami_cuda_gemm_batched, kizami_cuda_last_call_writes_c, &
      kizami_cuda_workspace_pool, kizami_cuda_limit_workspaces

  ! call kizami_matmul(a, b, c, bits=40): C <- A B for arrays of one type, real or complex, of single or double
  ! precision, with an error of at most 2^-bits (|A||B|) in every element (1 to 52, of single precision to 23); without
  ! bits at accuracy native, which keeps to what a native product guarantees. A is m x k, B k x n, C m x n; C is no part
  ! of A or B. Sections that are not contiguous are copied. status: KIZAMI_OK or the code of the error, and message says
  ! why; without status an error ends the program. On an error C keeps its elements.
  interface kizami_matmul
    module procedure matmul_f32, matmul_f64, matmul_c64, matmul_c128
  end interface kizami_matmul
  public :: kizami_matmul

  interface
    function kizami_version_number() bind(C, name="kizami_version_number") result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function kizami_version_number

    function kizami_version() bind(C, name="kizami_version") result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function kizami_version

    function kizami_status_name(status) bind(C, name="kizami_status_name") result(answer)
      import :: c_int, c_ptr
      integer(c_int), value :: status
      type(c_ptr) :: answer
    end function kizami_status_name

    function kizami_last_error() bind(C, name="kizami_last_error") result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function kizami_last_error

    function kizami_policy_create(policy) bind(C, name="kizami_policy_create") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), intent(out) :: policy
      integer(c_int) :: answer
    end function kizami_policy_create

    subroutine kizami_policy_destroy(policy) bind(C, name="kizami_policy_destroy")
      import :: c_ptr
      type(c_ptr), value :: policy
    end subroutine kizami_policy_destroy

    function kizami_policy_set(policy, key, value) bind(C, name="kizami_policy_set") result(answer)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: policy
      character(kind=c_char), intent(in) :: key(*), value(*)
      integer(c_int) :: answer
    end function kizami_policy_set

    function kizami_policy_get(policy, key, buffer, capacity, length) bind(C, name="kizami_policy_get") result(answer)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: policy
      character(kind=c_char), intent(in) :: key(*)
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: answer
    end function kizami_policy_get

    function kizami_policy_help(buffer, capacity, length) bind(C, name="kizami_policy_help") result(answer)
      import :: c_char, c_int, c_size_t
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: answer
    end function kizami_policy_help

    function kizami_policy_set_accuracy(policy, kind, bits) bind(C, name="kizami_policy_set_accuracy") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: kind, bits
      integer(c_int) :: answer
    end function kizami_policy_set_accuracy

    function kizami_policy_set_gauge(policy, gauge) bind(C, name="kizami_policy_set_gauge") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: gauge
      integer(c_int) :: answer
    end function kizami_policy_set_gauge

    function kizami_policy_set_scheme(policy, scheme) bind(C, name="kizami_policy_set_scheme") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: scheme
      integer(c_int) :: answer
    end function kizami_policy_set_scheme

    function kizami_policy_set_engine(policy, engine) bind(C, name="kizami_policy_set_engine") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: engine
      integer(c_int) :: answer
    end function kizami_policy_set_engine

    function kizami_policy_set_reproducibility(policy, promise) bind(C, &
        name="kizami_policy_set_reproducibility") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: promise
      integer(c_int) :: answer
    end function kizami_policy_set_reproducibility

    function kizami_policy_set_variant(policy, variant, keep_small_term, promotion_k) bind(C, &
        name="kizami_policy_set_variant") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: variant, keep_small_term, promotion_k
      integer(c_int) :: answer
    end function kizami_policy_set_variant

    function kizami_policy_set_karatsuba(policy, is_wanted) bind(C, name="kizami_policy_set_karatsuba") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: is_wanted
      integer(c_int) :: answer
    end function kizami_policy_set_karatsuba

    function kizami_policy_set_slices(policy, num_slices, num_diagonals) bind(C, &
        name="kizami_policy_set_slices") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: num_slices, num_diagonals
      integer(c_int) :: answer
    end function kizami_policy_set_slices

    function kizami_policy_set_digits(policy, format, split, slice_bits, has_one_scale) bind(C, &
        name="kizami_policy_set_digits") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: format, split, slice_bits, has_one_scale
      integer(c_int) :: answer
    end function kizami_policy_set_digits

    function kizami_policy_set_slice_blocks(policy, lines, num_streams) bind(C, &
        name="kizami_policy_set_slice_blocks") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: lines, num_streams
      integer(c_int) :: answer
    end function kizami_policy_set_slice_blocks

    function kizami_policy_set_slice_sums(policy, sums) bind(C, &
        name="kizami_policy_set_slice_sums") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: sums
      integer(c_int) :: answer
    end function kizami_policy_set_slice_sums

    function kizami_policy_set_complex_form(policy, form) bind(C, &
        name="kizami_policy_set_complex_form") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: form
      integer(c_int) :: answer
    end function kizami_policy_set_complex_form

    function kizami_policy_set_fp64_arithmetic(policy, is_allowed) bind(C, &
        name="kizami_policy_set_fp64_arithmetic") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: is_allowed
      integer(c_int) :: answer
    end function kizami_policy_set_fp64_arithmetic

    function kizami_policy_set_reject_nonfinite(policy, is_rejected) bind(C, &
        name="kizami_policy_set_reject_nonfinite") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: is_rejected
      integer(c_int) :: answer
    end function kizami_policy_set_reject_nonfinite

    function kizami_policy_set_moduli(policy, num_moduli) bind(C, name="kizami_policy_set_moduli") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: num_moduli
      integer(c_int) :: answer
    end function kizami_policy_set_moduli

    function kizami_policy_set_threads(policy, num_threads) bind(C, name="kizami_policy_set_threads") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: num_threads
      integer(c_int) :: answer
    end function kizami_policy_set_threads

    function kizami_policy_set_workspace_limit(policy, bytes) bind(C, &
        name="kizami_policy_set_workspace_limit") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: policy
      integer(c_size_t), value :: bytes
      integer(c_int) :: answer
    end function kizami_policy_set_workspace_limit

    function kizami_policy_set_may_sync(policy, is_allowed) bind(C, &
        name="kizami_policy_set_may_sync") result(answer)
      import :: c_int, c_ptr
      type(c_ptr), value :: policy
      integer(c_int), value :: is_allowed
      integer(c_int) :: answer
    end function kizami_policy_set_may_sync

    function kizami_gemm(scalar, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, &
        outcome) bind(C, name="kizami_gemm") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: scalar, layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      type(c_ptr), value :: alpha, a, b, beta, c, policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_gemm

    function kizami_sgemm(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, &
        outcome) bind(C, name="kizami_sgemm") result(answer)
      import :: c_float, c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      real(c_float), value :: alpha, beta
      real(c_float), intent(in) :: a(*), b(*)
      real(c_float), intent(inout) :: c(*)
      type(c_ptr), value :: policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_sgemm

    function kizami_dgemm(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, &
        outcome) bind(C, name="kizami_dgemm") result(answer)
      import :: c_double, c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      real(c_double), value :: alpha, beta
      real(c_double), intent(in) :: a(*), b(*)
      real(c_double), intent(inout) :: c(*)
      type(c_ptr), value :: policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_dgemm

    function kizami_cgemm(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, &
        outcome) bind(C, name="kizami_cgemm") result(answer)
      import :: c_float_complex, c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      complex(c_float_complex), intent(in) :: alpha, a(*), b(*), beta
      complex(c_float_complex), intent(inout) :: c(*)
      type(c_ptr), value :: policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_cgemm

    function kizami_zgemm(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, &
        outcome) bind(C, name="kizami_zgemm") result(answer)
      import :: c_double_complex, c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      complex(c_double_complex), intent(in) :: alpha, a(*), b(*), beta
      complex(c_double_complex), intent(inout) :: c(*)
      type(c_ptr), value :: policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_zgemm

    function kizami_gemm_strided_batched(scalar, layout, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, &
        stride_b, beta, c, ldc, stride_c, batch_count, policy, outcome) bind(C, &
        name="kizami_gemm_strided_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: scalar, layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, stride_a, ldb, stride_b, ldc, stride_c, batch_count
      type(c_ptr), value :: alpha, a, b, beta, c, policy
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_gemm_strided_batched

    function kizami_gemm_batched(scalar, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &
        batch_count, policy, outcome) bind(C, name="kizami_gemm_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      integer(c_int), value :: scalar, layout, op_a, op_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc, batch_count
      type(c_ptr), value :: alpha, beta, policy
      type(c_ptr), intent(in) :: a(*), b(*), c(*)
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_gemm_batched

    function kizami_plan_create(plan, scalar, m, n, k, policy) bind(C, name="kizami_plan_create") result(answer)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), intent(out) :: plan
      integer(c_int), value :: scalar
      integer(c_int64_t), value :: m, n, k
      type(c_ptr), value :: policy
      integer(c_int) :: answer
    end function kizami_plan_create

    subroutine kizami_plan_destroy(plan) bind(C, name="kizami_plan_destroy")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine kizami_plan_destroy

    function kizami_plan_query(plan, info) bind(C, name="kizami_plan_query") result(answer)
      import :: c_int, c_ptr, kizami_plan_info
      type(c_ptr), value :: plan
      type(kizami_plan_info), intent(inout) :: info
      integer(c_int) :: answer
    end function kizami_plan_query

    function kizami_plan_explain(plan, buffer, capacity, length) bind(C, name="kizami_plan_explain") result(answer)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: plan
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: answer
    end function kizami_plan_explain

    function kizami_machine_report(buffer, capacity, length) bind(C, name="kizami_machine_report") result(answer)
      import :: c_char, c_int, c_size_t
      character(kind=c_char), intent(inout) :: buffer(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: answer
    end function kizami_machine_report

    function kizami_prepare(prepared, plan, side, layout, op, x, ldx) bind(C, name="kizami_prepare") result(answer)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), intent(out) :: prepared
      type(c_ptr), value :: plan, x
      integer(c_int), value :: side, layout, op
      integer(c_int64_t), value :: ldx
      integer(c_int) :: answer
    end function kizami_prepare

    subroutine kizami_prepared_destroy(prepared) bind(C, name="kizami_prepared_destroy")
      import :: c_ptr
      type(c_ptr), value :: prepared
    end subroutine kizami_prepared_destroy

    function kizami_prepared_size(prepared, bytes) bind(C, name="kizami_prepared_size") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: prepared
      integer(c_size_t), intent(out) :: bytes
      integer(c_int) :: answer
    end function kizami_prepared_size

    function kizami_run(plan, layout, op_a, op_b, alpha, a, lda, b, ldb, beta, c, ldc, workspace, workspace_bytes, &
        outcome) bind(C, name="kizami_run") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t, kizami_outcome
      type(c_ptr), value :: plan, alpha, a, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: lda, ldb, ldc
      integer(c_size_t), value :: workspace_bytes
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_run

    function kizami_run_prepared(plan, layout, op_a, op_b, alpha, prepared_a, a, lda, prepared_b, b, ldb, beta, c, &
        ldc, workspace, workspace_bytes, outcome) bind(C, name="kizami_run_prepared") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t, kizami_outcome
      type(c_ptr), value :: plan, alpha, prepared_a, a, prepared_b, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b
      integer(c_int64_t), value :: lda, ldb, ldc
      integer(c_size_t), value :: workspace_bytes
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_run_prepared

    function kizami_cuda_plan_create(plan, scalar, m, n, k, batch_count, has_device_arrays, policy) bind(C, &
        name="kizami_cuda_plan_create") result(answer)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), intent(out) :: plan
      integer(c_int), value :: scalar, has_device_arrays
      integer(c_int64_t), value :: m, n, k, batch_count
      type(c_ptr), value :: policy
      integer(c_int) :: answer
    end function kizami_cuda_plan_create

    function kizami_cuda_run(plan, stream, layout, op_a, op_b, has_device_factors, alpha, a, lda, b, ldb, beta, &
        c, ldc, workspace, workspace_bytes) bind(C, name="kizami_cuda_run") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: plan, stream, alpha, a, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: lda, ldb, ldc
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: answer
    end function kizami_cuda_run

    function kizami_cuda_prepared_bytes(plan, side, bytes) bind(C, name="kizami_cuda_prepared_bytes") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: plan
      integer(c_int), value :: side
      integer(c_size_t), intent(out) :: bytes
      integer(c_int) :: answer
    end function kizami_cuda_prepared_bytes

    function kizami_cuda_prepare(prepared, plan, stream, side, layout, op, x, ldx, memory, memory_bytes) bind(C, &
        name="kizami_cuda_prepare") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), intent(out) :: prepared
      type(c_ptr), value :: plan, stream, x, memory
      integer(c_int), value :: side, layout, op
      integer(c_int64_t), value :: ldx
      integer(c_size_t), value :: memory_bytes
      integer(c_int) :: answer
    end function kizami_cuda_prepare

    subroutine kizami_cuda_prepared_destroy(prepared) bind(C, name="kizami_cuda_prepared_destroy")
      import :: c_ptr
      type(c_ptr), value :: prepared
    end subroutine kizami_cuda_prepared_destroy

    function kizami_cuda_run_prepared(plan, stream, layout, op_a, op_b, has_device_factors, alpha, prepared_a, a, &
        lda, prepared_b, b, ldb, beta, c, ldc, workspace, workspace_bytes) bind(C, &
        name="kizami_cuda_run_prepared") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: plan, stream, alpha, prepared_a, a, prepared_b, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: lda, ldb, ldc
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: answer
    end function kizami_cuda_run_prepared

    function kizami_cuda_run_strided_batched(plan, stream, layout, op_a, op_b, has_device_factors, alpha, a, &
        lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, workspace, workspace_bytes) bind(C, &
        name="kizami_cuda_run_strided_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: plan, stream, alpha, a, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: lda, stride_a, ldb, stride_b, ldc, stride_c
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: answer
    end function kizami_cuda_run_strided_batched

    function kizami_cuda_run_batched(plan, stream, layout, op_a, op_b, has_device_factors, alpha, a, lda, b, &
        ldb, beta, c, ldc, workspace, workspace_bytes) bind(C, name="kizami_cuda_run_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: plan, stream, alpha, a, b, beta, c, workspace
      integer(c_int), value :: layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: lda, ldb, ldc
      integer(c_size_t), value :: workspace_bytes
      integer(c_int) :: answer
    end function kizami_cuda_run_batched

    function kizami_cuda_read_outcome(plan, stream, workspace, workspace_bytes, outcome) bind(C, &
        name="kizami_cuda_read_outcome") result(answer)
      import :: c_int, c_ptr, c_size_t, kizami_outcome
      type(c_ptr), value :: plan, stream, workspace
      integer(c_size_t), value :: workspace_bytes
      type(kizami_outcome), intent(inout) :: outcome
      integer(c_int) :: answer
    end function kizami_cuda_read_outcome

    function kizami_cuda_read_outcomes(plan, stream, workspace, workspace_bytes, outcomes, &
        num_outcomes) bind(C, name="kizami_cuda_read_outcomes") result(answer)
      import :: c_int, c_int64_t, c_ptr, c_size_t, kizami_outcome
      type(c_ptr), value :: plan, stream, workspace
      integer(c_size_t), value :: workspace_bytes
      type(kizami_outcome), intent(inout) :: outcomes(*)
      integer(c_int64_t), value :: num_outcomes
      integer(c_int) :: answer
    end function kizami_cuda_read_outcomes

    function kizami_cuda_gemm(stream, scalar, layout, op_a, op_b, m, n, k, has_device_factors, alpha, a, lda, &
        b, ldb, beta, c, ldc, policy, outcome) bind(C, name="kizami_cuda_gemm") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      type(c_ptr), value :: stream, alpha, a, b, beta, c, policy
      integer(c_int), value :: scalar, layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_cuda_gemm

    function kizami_cuda_gemm_strided_batched(stream, scalar, layout, op_a, op_b, m, n, k, has_device_factors, &
        alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch_count, policy, &
        outcome) bind(C, name="kizami_cuda_gemm_strided_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      type(c_ptr), value :: stream, alpha, a, b, beta, c, policy
      integer(c_int), value :: scalar, layout, op_a, op_b, has_device_factors
      integer(c_int64_t), value :: m, n, k, lda, stride_a, ldb, stride_b, ldc, stride_c, batch_count
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_cuda_gemm_strided_batched

    function kizami_cuda_gemm_batched(stream, scalar, layout, op_a, op_b, m, n, k, has_device_factors, alpha, &
        has_device_arrays, a, lda, b, ldb, beta, c, ldc, batch_count, policy, outcome) bind(C, &
        name="kizami_cuda_gemm_batched") result(answer)
      import :: c_int, c_int64_t, c_ptr, kizami_outcome
      type(c_ptr), value :: stream, alpha, a, b, beta, c, policy
      integer(c_int), value :: scalar, layout, op_a, op_b, has_device_factors, has_device_arrays
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc, batch_count
      type(kizami_outcome), intent(inout), optional :: outcome
      integer(c_int) :: answer
    end function kizami_cuda_gemm_batched

    function kizami_cuda_last_call_writes_c() bind(C, name="kizami_cuda_last_call_writes_c") result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function kizami_cuda_last_call_writes_c

    function kizami_cuda_workspace_pool(held_bytes, most_held_bytes, used_bytes) bind(C, &
        name="kizami_cuda_workspace_pool") result(answer)
      import :: c_int, c_size_t
      integer(c_size_t), intent(out) :: held_bytes, most_held_bytes, used_bytes
      integer(c_int) :: answer
    end function kizami_cuda_workspace_pool

    function kizami_cuda_limit_workspaces(bytes) bind(C, name="kizami_cuda_limit_workspaces") result(answer)
      import :: c_int, c_size_t
      integer(c_size_t), value :: bytes
      integer(c_int) :: answer
    end function kizami_cuda_limit_workspaces
  end interface

contains

  ! Why the last call of this thread failed; '' if it succeeded.
  function kizami_error_text() result(text)
    character(len=:), allocatable :: text
    text = text_of(kizami_last_error())
  end function kizami_error_text

  ! Checks shapes and makes the policy. On an error: its code, and why.
  subroutine begin_matmul(shape_a, shape_b, shape_c, bits, policy, code, why)
    integer, intent(in) :: shape_a(2), shape_b(2), shape_c(2)
    integer, intent(in), optional :: bits
    type(c_ptr), intent(out) :: policy
    integer(c_int), intent(out) :: code
    character(len=:), allocatable, intent(out) :: why
    character(len=160) :: line

    policy = c_null_ptr
    code = KIZAMI_INVALID_ARGUMENT
    if (shape_b(1) /= shape_a(2)) then
      write (line, '(2(a, i0))') 'size(b, 1) = ', shape_b(1), ', must be size(a, 2) = ', shape_a(2)
    else if (shape_c(1) /= shape_a(1)) then
      write (line, '(2(a, i0))') 'size(c, 1) = ', shape_c(1), ', must be size(a, 1) = ', shape_a(1)
    else if (shape_c(2) /= shape_b(2)) then
      write (line, '(2(a, i0))') 'size(c, 2) = ', shape_c(2), ', must be size(b, 2) = ', shape_b(2)
    else
      code = kizami_policy_create(policy)
      if (code == KIZAMI_OK .and. present(bits)) &
        code = kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, int(bits, c_int))
      why = kizami_error_text()
      return
    end if
    why = trim(line)
  end subroutine begin_matmul

  ! Hands over what happened, or ends the program where nobody asked for it.
  subroutine end_matmul(policy, code, why, status, message)
    type(c_ptr), intent(in) :: policy
    integer(c_int), intent(in) :: code
    character(len=*), intent(in) :: why
    integer, intent(out), optional :: status
    character(len=*), intent(out), optional :: message

    call kizami_policy_destroy(policy)
    if (present(message)) message = why
    if (present(status)) then
      status = code
    else if (code /= KIZAMI_OK) then
      write (error_unit, '(2a)') 'kizami_matmul: ', why
      error stop 1
    end if
  end subroutine end_matmul

  subroutine matmul_f32(a, b, c, bits, status, message, outcome)
    real(c_float), intent(in) :: a(:, :), b(:, :)
    real(c_float), intent(inout) :: c(:, :)
    integer, intent(in), optional :: bits
    integer, intent(out), optional :: status
    character(len=*), intent(out), optional :: message
    type(kizami_outcome), intent(inout), optional :: outcome

    type(c_ptr) :: policy
    integer(c_int) :: code
    integer(c_int64_t) :: m, n, k
    character(len=:), allocatable :: why

    call begin_matmul(shape(a), shape(b), shape(c), bits, policy, code, why)
    if (code == KIZAMI_OK) then
      m = size(c, 1)
      n = size(c, 2)
      k = size(a, 2)
      code = kizami_sgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, 1.0_c_float, a, &
          max(m, 1_c_int64_t), b, max(k, 1_c_int64_t), 0.0_c_float, c, max(m, 1_c_int64_t), policy, outcome)
      why = kizami_error_text()
    end if
    call end_matmul(policy, code, why, status, message)
  end subroutine matmul_f32

  subroutine matmul_f64(a, b, c, bits, status, message, outcome)
    real(c_double), intent(in) :: a(:, :), b(:, :)
    real(c_double), intent(inout) :: c(:, :)
    integer, intent(in), optional :: bits
    integer, intent(out), optional :: status
    character(len=*), intent(out), optional :: message
    type(kizami_outcome), intent(inout), optional :: outcome

    type(c_ptr) :: policy
    integer(c_int) :: code
    integer(c_int64_t) :: m, n, k
    character(len=:), allocatable :: why

    call begin_matmul(shape(a), shape(b), shape(c), bits, policy, code, why)
    if (code == KIZAMI_OK) then
      m = size(c, 1)
      n = size(c, 2)
      k = size(a, 2)
      code = kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, 1.0_c_double, a, &
          max(m, 1_c_int64_t), b, max(k, 1_c_int64_t), 0.0_c_double, c, max(m, 1_c_int64_t), policy, outcome)
      why = kizami_error_text()
    end if
    call end_matmul(policy, code, why, status, message)
  end subroutine matmul_f64

  subroutine matmul_c64(a, b, c, bits, status, message, outcome)
    complex(c_float_complex), intent(in) :: a(:, :), b(:, :)
    complex(c_float_complex), intent(inout) :: c(:, :)
    integer, intent(in), optional :: bits
    integer, intent(out), optional :: status
    character(len=*), intent(out), optional :: message
    type(kizami_outcome), intent(inout), optional :: outcome

    type(c_ptr) :: policy
    integer(c_int) :: code
    integer(c_int64_t) :: m, n, k
    character(len=:), allocatable :: why

    call begin_matmul(shape(a), shape(b), shape(c), bits, policy, code, why)
    if (code == KIZAMI_OK) then
      m = size(c, 1)
      n = size(c, 2)
      k = size(a, 2)
      code = kizami_cgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, (1.0_c_float, 0.0_c_float), a, &
          max(m, 1_c_int64_t), b, max(k, 1_c_int64_t), (0.0_c_float, 0.0_c_float), c, &
          max(m, 1_c_int64_t), policy, outcome)
      why = kizami_error_text()
    end if
    call end_matmul(policy, code, why, status, message)
  end subroutine matmul_c64

  subroutine matmul_c128(a, b, c, bits, status, message, outcome)
    complex(c_double_complex), intent(in) :: a(:, :), b(:, :)
    complex(c_double_complex), intent(inout) :: c(:, :)
    integer, intent(in), optional :: bits
    integer, intent(out), optional :: status
    character(len=*), intent(out), optional :: message
    type(kizami_outcome), intent(inout), optional :: outcome

    type(c_ptr) :: policy
    integer(c_int) :: code
    integer(c_int64_t) :: m, n, k
    character(len=:), allocatable :: why

    call begin_matmul(shape(a), shape(b), shape(c), bits, policy, code, why)
    if (code == KIZAMI_OK) then
      m = size(c, 1)
      n = size(c, 2)
      k = size(a, 2)
      code = kizami_zgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, (1.0_c_double, 0.0_c_double), a, &
          max(m, 1_c_int64_t), b, max(k, 1_c_int64_t), (0.0_c_double, 0.0_c_double), c, &
          max(m, 1_c_int64_t), policy, outcome)
      why = kizami_error_text()
    end if
    call end_matmul(policy, code, why, status, message)
  end subroutine matmul_c128

  ! The characters before the first zero byte.
  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    integer, parameter :: max_length = 1024
    character(kind=c_char), pointer :: bytes(:)
    integer :: i
    call c_f_pointer(address, bytes, [max_length])
    text = ''
    do i = 1, max_length
      if (bytes(i) == char(0)) return
      text = text // bytes(i)
    end do
  end function text_of
end module kizami
