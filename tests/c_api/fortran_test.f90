! SPDX-License-Identifier: MIT
! The Fortran module agrees with the library: sizes of structures, real products known exactly, arguments that are
! addresses.
program fortran_test
  use, intrinsic :: iso_c_binding
  use kizami
  implicit none

  integer(c_int64_t), parameter :: m = 2, n = 2, k = 3
  real(c_double), target :: a(2, 3), b(3, 2), c(2, 2), wanted(2, 2), one = 1, zero = 0
  real(c_float) :: a4(2, 3), b4(3, 2), c4(2, 2)
  type(c_ptr) :: plan, prepared
  type(kizami_outcome) :: outcome
  type(kizami_plan_info) :: info
  character(kind=c_char) :: text(4096)
  integer(c_size_t) :: length

  a = reshape([1, 2, 3, 4, 5, 6], [2, 3])
  b = reshape([7, 8, 9, 10, 11, 12], [3, 2])
  wanted = matmul(a, b)
  a4 = real(a, c_float)
  b4 = real(b, c_float)

  call expect(outcome%struct_size == c_sizeof(outcome), 'size of kizami_outcome')
  call expect(info%struct_size == c_sizeof(info), 'size of kizami_plan_info')
  c = -1
  call expect(kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, 1.0_c_double, a, m, b, k, &
      0.0_c_double, c, m, c_null_ptr, outcome) == KIZAMI_OK, 'kizami_dgemm')
  call expect(all(c == wanted) .and. outcome%scheme == KIZAMI_SCHEME_OZAKI2 .and. outcome%bound > 0, 'result')
  call expect(outcome%slices == 0 .and. outcome%moduli > 0, 'counts')
  c4 = 1
  call expect(kizami_sgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, 2.0, a4, m, b4, k, 1.0, c4, m, &
      c_null_ptr) == KIZAMI_OK, 'kizami_sgemm')
  call expect(all(c4 == 2 * real(wanted, c_float) + 1), 'result in FP32')

  call expect(kizami_plan_create(plan, KIZAMI_F64, m, n, k, c_null_ptr) == KIZAMI_OK, 'kizami_plan_create')
  call expect(kizami_plan_query(plan, info) == KIZAMI_OK, 'kizami_plan_query')
  call expect(info%m == m .and. info%n == n .and. info%k == k .and. info%workspace_bytes > 0, 'plan_info')
  call expect(kizami_plan_explain(plan, text, int(size(text), c_size_t), length) == KIZAMI_OK, 'kizami_plan_explain')
  call expect(length > 0 .and. length < size(text) .and. text(length + 1) == char(0), 'length of the text')
  call expect(kizami_prepare(prepared, plan, KIZAMI_SIDE_A, KIZAMI_COL_MAJOR, KIZAMI_NONE, c_loc(a), m) == KIZAMI_OK, &
      'kizami_prepare')
  c = -1
  call expect(kizami_run_prepared(plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, c_loc(one), prepared, c_null_ptr, &
      m, c_null_ptr, c_loc(b), k, c_loc(zero), c_loc(c), m, c_null_ptr, 0_c_size_t, outcome) == KIZAMI_OK, &
      'kizami_run_prepared')
  call expect(all(c == wanted), 'result of kizami_run_prepared')
  call kizami_prepared_destroy(prepared)
  call kizami_plan_destroy(plan)

  call expect(kizami_policy_set_gauge(c_null_ptr, KIZAMI_GAUGE_NORM) == KIZAMI_INVALID_ARGUMENT, 'refusal')
  call expect(kizami_error_text() == 'policy is NULL', 'reason')

contains

  subroutine expect(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    print '(5a)', what, ': wrong; last error: "', kizami_error_text(), '"'
    error stop 1
  end subroutine expect
end program fortran_test
