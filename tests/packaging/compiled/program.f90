! SPDX-License-Identifier: MIT
! A user's program in Fortran: a product known exactly, then a wish of bits that the outcome shows.
program compiled
  use kizami
  implicit none
  integer, parameter :: wp = kind(1.0d0)
  real(wp) :: a(2, 2), b(2, 2), c(2, 2)
  type(kizami_outcome) :: outcome

  a = reshape([1, 2, 3, 4], [2, 2])
  b = reshape([5, 6, 7, 8], [2, 2])
  call kizami_matmul(a, b, c, bits=40, outcome=outcome)
  if (any(c /= matmul(a, b))) error stop 'wrong'
  if (.not. (outcome%bound > 0 .and. outcome%bound <= 0.5_wp**40)) error stop 'no bound of 40 bits'
  print '(a, es8.1)', 'bound ', outcome%bound
end program compiled
