// SPDX-License-Identifier: MIT
#include "address_space.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "failure.hpp"

namespace kizami::cli {
namespace {

/// OpenBLAS 0.3.21 of Debian on x86-64 asks for 2^27 bytes and a page for each thread; others for less.
constexpr std::size_t kBufferBytes = (std::size_t{1} << 27) + (std::size_t{1} << 16);

const int* code_at_exit = nullptr;

void end_now() {
  std::fflush(nullptr);
  ::_exit(*code_at_exit);
}

/// The most bytes that the process may map; RLIM_INFINITY without a limit.
rlim_t address_space_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

bool can_map(std::size_t bytes) {
  void* const found =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return false;
  ::munmap(found, bytes);
  return true;
}

}  // namespace

void end_before_libraries_where_limited(const int& exit_code) {
  if (address_space_limit() == RLIM_INFINITY) return;
  code_at_exit = &exit_code;
  std::atexit(end_now);
}

void require_room_for_native_blas(const Plan& plan) {
  const rlim_t limit = address_space_limit();
  if (plan.scheme() != Scheme::kNative || limit == RLIM_INFINITY || can_map(kBufferBytes)) return;
  throw Failure(
      ExitCode::kOutOfMemory,
      fmt::format(
          "the address space is limited to {}, which leaves no room for the buffer of {} that the platform BLAS "
          "needs: raise the limit (ulimit -v), or take --scheme ozaki2",
          in_bytes(static_cast<std::uint64_t>(limit)), in_bytes(kBufferBytes)));
}

}  // namespace kizami::cli
