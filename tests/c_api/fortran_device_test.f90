! SPDX-License-Identifier: MIT
! The Fortran module on a CUDA device: the bits of the host's calls, compared by ==. Where there is no device: a skip,
! exit code 77, or a failure if KIZAMI_REQUIRE_GPU is set.
program fortran_device_test
  use, intrinsic :: iso_c_binding
  use kizami
  implicit none

  ! Of CUDA's runtime.
  integer(c_int), parameter :: to_device = 1, to_host = 2
  interface
    function cuda_get_device_count(count) bind(C, name="cudaGetDeviceCount") result(answer)
      import :: c_int
      integer(c_int), intent(out) :: count
      integer(c_int) :: answer
    end function cuda_get_device_count
    function cuda_malloc(memory, bytes) bind(C, name="cudaMalloc") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), intent(out) :: memory
      integer(c_size_t), value :: bytes
      integer(c_int) :: answer
    end function cuda_malloc
    function cuda_memcpy(to, from, bytes, direction) bind(C, name="cudaMemcpy") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
      integer(c_int), value :: direction
      integer(c_int) :: answer
    end function cuda_memcpy
    function cuda_device_synchronize() bind(C, name="cudaDeviceSynchronize") result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function cuda_device_synchronize
  end interface

  integer(c_int64_t), parameter :: m = 61, n = 47, k = 150, products = 2
  real(c_double), target :: a(m, k), b(k, n, products), c(m, n, products), here(m, n, products), one = 1, two = 2
  type(c_ptr) :: on_device(3), workspace, plan, policy, none, memory, prepared
  type(kizami_plan_info) :: info
  type(kizami_outcome) :: outcome, wanted, each(products)
  integer(c_size_t) :: held, most, used, bytes
  integer(c_int) :: refusal
  integer :: i, length

  if (cuda_get_device_count(i) /= 0 .or. i == 0) then
    call get_environment_variable('KIZAMI_REQUIRE_GPU', length=length)
    print '(a)', 'skipped: no CUDA device is found'
    if (length > 0) error stop 1
    stop 77
  end if
  none = c_null_ptr

  a = reshape([(sin(1 + 0.7d0 * i) * 2.0d0**modulo(i, 7), i = 1, size(a))], shape(a))
  b = reshape([(cos(2 + 0.3d0 * i) * 2.0d0**modulo(i, 5), i = 1, size(b))], shape(b))
  c = reshape([(real(i, c_double), i = 1, size(c))], shape(c))
  here = c
  on_device(1) = copy_of(c_loc(a), c_sizeof(a))
  on_device(2) = copy_of(c_loc(b), c_sizeof(b))
  on_device(3) = copy_of(c_loc(c), c_sizeof(c))

  ! One call for both products: C_i <- A B_i + 2 C_i.
  call expect(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, c_loc(one), &
      c_loc(a), m, 0_c_int64_t, c_loc(b), k, k * n, c_loc(two), c_loc(here), m, m * n, products, none, wanted) &
      == KIZAMI_OK, 'the host')
  call expect(kizami_cuda_gemm_strided_batched(none, KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, &
      0, c_loc(one), on_device(1), m, 0_c_int64_t, on_device(2), k, k * n, c_loc(two), on_device(3), m, m * n, &
      products, none, outcome) == KIZAMI_OK, 'kizami_cuda_gemm_strided_batched')
  call expect(kizami_cuda_last_call_writes_c() == 1, 'kizami_cuda_last_call_writes_c')
  call compare('bits of a batch')
  call expect(outcome%moduli == wanted%moduli .and. outcome%bound == wanted%bound .and. outcome%moduli > 0, 'outcome')

  ! As planned, in a workspace of the caller.
  call expect(kizami_cuda_plan_create(plan, KIZAMI_F64, m, n, k, products, 0, none) == KIZAMI_OK, &
      'kizami_cuda_plan_create')
  call expect(kizami_plan_query(plan, info) == KIZAMI_OK .and. info%workspace_bytes > 0, 'kizami_plan_query')
  call expect(cuda_malloc(workspace, info%workspace_bytes) == 0, 'cudaMalloc')
  call expect(kizami_gemm_strided_batched(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, c_loc(two), &
      c_loc(a), m, 0_c_int64_t, c_loc(b), k, k * n, c_loc(one), c_loc(here), m, m * n, products, none) &
      == KIZAMI_OK, 'the host')
  call expect(kizami_cuda_run_strided_batched(plan, none, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, c_loc(two), &
      on_device(1), m, 0_c_int64_t, on_device(2), k, k * n, c_loc(one), on_device(3), m, m * n, workspace, &
      info%workspace_bytes) == KIZAMI_OK, 'kizami_cuda_run_strided_batched')
  call expect(kizami_cuda_read_outcomes(plan, none, workspace, info%workspace_bytes, each, products) == KIZAMI_OK, &
      'kizami_cuda_read_outcomes')
  call compare('bits of a planned batch')
  call expect(all(each%scheme == KIZAMI_SCHEME_OZAKI2) .and. maxval(each%moduli) == outcome%moduli, 'outcomes')
  call kizami_plan_destroy(plan)

  ! One product; a policy that needs may_sync.
  call expect(kizami_policy_create(policy) == KIZAMI_OK, 'kizami_policy_create')
  call expect(kizami_policy_set_fp64_arithmetic(policy, 0) == KIZAMI_OK, 'kizami_policy_set_fp64_arithmetic')
  refusal = gemm_by(policy)  ! before its text is asked for: operands of .and. have no order
  call expect(refusal == KIZAMI_UNSUPPORTED .and. index(kizami_error_text(), 'sync') > 0, 'refusal')
  call compare('C after a refusal')
  call expect(kizami_policy_set_may_sync(policy, 1) == KIZAMI_OK, 'kizami_policy_set_may_sync')
  call expect(gemm_by(policy) == KIZAMI_OK, 'kizami_cuda_gemm')
  call expect(kizami_gemm(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, c_loc(one), c_loc(a), m, &
      c_loc(b), k, c_loc(two), c_loc(here), m, policy) == KIZAMI_OK, 'the host')
  call compare('bits of one product')
  call kizami_policy_destroy(policy)

  ! A prepared, in memory of the caller.
  call expect(kizami_cuda_plan_create(plan, KIZAMI_F64, m, n, k, 1_c_int64_t, 0, none) == KIZAMI_OK, &
      'kizami_cuda_plan_create')
  call expect(kizami_plan_query(plan, info) == KIZAMI_OK, 'kizami_plan_query')
  call expect(kizami_cuda_prepared_bytes(plan, KIZAMI_SIDE_A, bytes) == KIZAMI_OK .and. bytes > 0, &
      'kizami_cuda_prepared_bytes')
  call expect(cuda_malloc(memory, bytes) == 0 .and. cuda_malloc(workspace, info%workspace_bytes) == 0, 'cudaMalloc')
  call expect(kizami_cuda_prepare(prepared, plan, none, KIZAMI_SIDE_A, KIZAMI_COL_MAJOR, KIZAMI_NONE, on_device(1), m, &
      memory, bytes) == KIZAMI_OK, 'kizami_cuda_prepare')
  do i = 1, 2
    call expect(kizami_cuda_run_prepared(plan, none, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 0, c_loc(one), &
        prepared, none, 0_c_int64_t, none, on_device(2), k, c_loc(two), on_device(3), m, workspace, &
        info%workspace_bytes) == KIZAMI_OK, 'kizami_cuda_run_prepared')
    call expect(kizami_gemm(KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, c_loc(one), c_loc(a), m, &
        c_loc(b), k, c_loc(two), c_loc(here), m, none) == KIZAMI_OK, 'the host')
    call compare('bits of a prepared operand')
  end do
  call kizami_cuda_prepared_destroy(prepared)
  call kizami_plan_destroy(plan)
  call expect(kizami_cuda_workspace_pool(held, most, used) == KIZAMI_OK .and. most > 0, 'kizami_cuda_workspace_pool')
  print '(a)', 'the bits of the host'

contains

  function gemm_by(policy) result(status)
    type(c_ptr), intent(in) :: policy
    integer(c_int) :: status
    status = kizami_cuda_gemm(none, KIZAMI_F64, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, m, n, k, 0, c_loc(one), &
        on_device(1), m, on_device(2), k, c_loc(two), on_device(3), m, policy)
  end function gemm_by

  function copy_of(memory, bytes) result(copy)
    type(c_ptr), intent(in) :: memory
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr) :: copy
    call expect(cuda_malloc(copy, bytes) == 0, 'cudaMalloc')
    call expect(cuda_memcpy(copy, memory, bytes, to_device) == 0, 'cudaMemcpy')
  end function copy_of

  ! C of the device is that of the host.
  subroutine compare(what)
    character(len=*), intent(in) :: what
    call expect(cuda_device_synchronize() == 0, 'cudaDeviceSynchronize')
    c = -1
    call expect(cuda_memcpy(c_loc(c), on_device(3), c_sizeof(c), to_host) == 0, 'cudaMemcpy')
    call expect(all(c == here), what)
  end subroutine compare

  subroutine expect(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    print '(5a)', what, ': wrong; last error: "', kizami_error_text(), '"'
    error stop 1
  end subroutine expect
end program fortran_device_test
