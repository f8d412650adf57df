! SPDX-License-Identifier: MIT
! The same from Fortran:  C <- A B at 40 proven bits, complex, then a plan.
! include/kizami/kizami.f90 is compiled with the program: a module with the functions of kizami.h under their names.
program fortran_example
  use, intrinsic :: iso_c_binding
  use kizami
  implicit none

  integer, parameter :: m = 60, n = 50, k = 200
  complex(c_double_complex) :: a(m, k), b(k, n), c(m, n)
  complex(c_double_complex), parameter :: one = (1, 0), zero = (0, 0)
  real(c_double), parameter :: unit_roundoff = 0.5_c_double**53
  type(c_ptr) :: policy, plan
  type(kizami_outcome) :: outcome
  type(kizami_plan_info) :: info
  real(c_double) :: error, magnitudes
  integer :: i

  a = reshape([(cmplx(sin(1.0d0 + i), cos(0.7d0 * i), c_double), i = 1, m * k)], [m, k])
  b = reshape([(cmplx(cos(2.0d0 + i), sin(0.3d0 * i), c_double), i = 1, k * n)], [k, n])

  call check('policy', kizami_policy_create(policy))
  call check('accuracy', kizami_policy_set_accuracy(policy, KIZAMI_ACCURACY_BITS, 40_c_int))
  call check('product', kizami_zgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, int(m, c_int64_t), &
      int(n, c_int64_t), int(k, c_int64_t), one, a, int(m, c_int64_t), b, int(k, c_int64_t), zero, c, &
      int(m, c_int64_t), policy, outcome))
  print '(a, i0, a, es9.2, a)', 'moduli ', outcome%moduli, ', bound ', outcome%bound, ' |A||B| of each part'

  ! The real part of one element beside a plain sum, whose own error is at most 2 k u |A||B|.
  error = abs(real(c(2, 3)) - real(sum(a(2, :) * b(:, 3))))
  magnitudes = sum(abs(real(a(2, :)) * real(b(:, 3))) + abs(aimag(a(2, :)) * aimag(b(:, 3))))
  if (.not. error <= (outcome%bound + 2.02 * k * unit_roundoff) * magnitudes) error stop 'outside the bound'

  call check('plan', kizami_plan_create(plan, KIZAMI_C128, int(m, c_int64_t), int(n, c_int64_t), int(k, c_int64_t), &
      policy))
  call check('query', kizami_plan_query(plan, info))
  print '(a, i0, a)', 'a plan needs ', info%workspace_bytes, ' bytes'
  call kizami_plan_destroy(plan)
  call kizami_policy_destroy(policy)

  ! A mistake is refused with its reason.
  if (kizami_zgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, int(m, c_int64_t), int(n, c_int64_t), &
      int(k, c_int64_t), one, a, 1_c_int64_t, b, int(k, c_int64_t), zero, c, int(m, c_int64_t), c_null_ptr) &
      /= KIZAMI_INVALID_ARGUMENT) error stop 'lda = 1 was accepted'
  print '(2a)', 'refused: ', kizami_error_text()

contains

  subroutine check(what, status)
    character(len=*), intent(in) :: what
    integer(c_int), intent(in) :: status
    if (status == KIZAMI_OK) return
    print '(3a)', what, ': ', kizami_error_text()
    error stop 1
  end subroutine check
end program fortran_example
