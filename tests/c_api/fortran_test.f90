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

  call test_matmul()

contains

  ! All types, shapes and sections; bits that a wish decides, by what the outcome says; refusals with their reasons.
  subroutine test_matmul()
    integer, parameter :: rows = 31, columns = 17, inner = 100
    real(c_double) :: x(rows, inner), y(inner, columns), z(rows, columns), wide(2 * rows, inner)
    real(c_double) :: empty(3, 0), none(0, 4), out(3, 4)
    real(c_double) :: untouched(rows, columns), error(rows, columns), magnitudes(rows, columns)
    real(c_float) :: x4(rows, inner), y4(inner, columns), z4(rows, columns)
    complex(c_float_complex) :: x8(rows, inner), y8(inner, columns), z8(rows, columns)
    complex(c_double_complex) :: x16(rows, inner), y16(inner, columns), z16(rows, columns)
    type(kizami_outcome) :: few, many
    character(len=120) :: message
    integer :: i, status

    ! Small integers: every product is exact, whatever the type, so that the intrinsic has the same bits.
    x = reshape([(real(modulo(7 * i, 23) - 11, c_double), i = 1, rows * inner)], [rows, inner])
    y = reshape([(real(modulo(5 * i, 19) - 9, c_double), i = 1, inner * columns)], [inner, columns])
    z = -1
    call kizami_matmul(x, y, z)
    call expect(all(z == matmul(x, y)), 'kizami_matmul of FP64')
    x4 = real(x, c_float)
    y4 = real(y, c_float)
    call kizami_matmul(x4, y4, z4)
    call expect(all(z4 == matmul(x4, y4)), 'kizami_matmul of FP32')
    x8 = cmplx(x4, -2 * x4, c_float)
    y8 = cmplx(3 * y4, y4, c_float)
    call kizami_matmul(x8, y8, z8)
    call expect(all(z8 == matmul(x8, y8)), 'kizami_matmul of complex FP32')
    x16 = cmplx(x, -2 * x, c_double)
    y16 = cmplx(3 * y, y, c_double)
    call kizami_matmul(x16, y16, z16, bits=52)
    call expect(all(z16 == matmul(x16, y16)), 'kizami_matmul of complex FP64')

    ! Sections with strides, of operands and of the result.
    wide = 99
    wide(1::2, :) = x
    untouched = 5
    call kizami_matmul(wide(1::2, inner:1:-1), y(inner:1:-1, :), z)
    call expect(all(z == matmul(x, y)), 'sections')
    call kizami_matmul(x(1:3, :), y(:, 1:columns:4), untouched(2:6:2, 1:columns:4))
    call expect(all(untouched(2:6:2, 1:columns:4) == matmul(x(1:3, :), y(:, 1:columns:4))), 'section of the result')
    call expect(all(untouched(1:5:2, :) == 5) .and. all(untouched(:, 2:3) == 5), 'what lies beside the result')
    out = 7
    empty = 1
    none = 1
    call kizami_matmul(empty, none, out)
    call expect(all(out == 0), 'an inner size of zero')

    ! bits is a wish that the library sees: more of them take more moduli, and each keeps to its bound.
    x = reshape([(sin(1.0d0 + i), i = 1, rows * inner)], [rows, inner])
    y = reshape([(cos(2.0d0 + i), i = 1, inner * columns)], [inner, columns])
    magnitudes = matmul(abs(x), abs(y))
    call kizami_matmul(x, y, z, bits=50, outcome=many)
    error = z
    call kizami_matmul(x, y, z, bits=20, outcome=few)
    call expect(few%moduli > 0 .and. few%moduli < many%moduli .and. few%bound <= 0.5d0**20 .and. &
        many%bound <= 0.5d0**50, 'moduli by bits')
    call expect(all(abs(z - error) <= (few%bound + many%bound) * magnitudes) .and. any(z /= error), 'errors by bits')

    call kizami_matmul(x, y(1:inner - 1, :), z, status=status, message=message)
    call expect(status == KIZAMI_INVALID_ARGUMENT .and. message == 'size(b, 1) = 99, must be size(a, 2) = 100', &
        'rows of b')
    call kizami_matmul(x, y, z(1:rows - 1, :), status=status, message=message)
    call expect(status == KIZAMI_INVALID_ARGUMENT .and. message == 'size(c, 1) = 30, must be size(a, 1) = 31', &
        'rows of c')
    call kizami_matmul(x, y, z(:, 2:), status=status, message=message)
    call expect(status == KIZAMI_INVALID_ARGUMENT .and. message == 'size(c, 2) = 16, must be size(b, 2) = 17', &
        'columns of c')
    error = z
    call kizami_matmul(x, y, z, bits=53, status=status, message=message)
    call expect(status == KIZAMI_INVALID_ARGUMENT .and. index(message, '53') > 0 .and. all(z == error), &
        'bits that are too many')
    call kizami_matmul(x, y, z, bits=52, status=status, message=message)
    call expect(status == KIZAMI_OK .and. message == '', 'status and message of success')
  end subroutine test_matmul

  subroutine expect(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    print '(5a)', what, ': wrong; last error: "', kizami_error_text(), '"'
    error stop 1
  end subroutine expect
end program fortran_test
