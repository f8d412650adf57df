// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>

#include "address_space.hpp"
#include "interrupt.hpp"

namespace kizami::cli {
namespace {

/// Where the program was started without standard streams, files would get their descriptors, and reports would go into
/// matrices. Writing to the ones opened here fails.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);  // the lowest that is free: fd
  }
}

}  // namespace

int run_program(const char* name, const std::function<ExitCode()>& work) noexcept {
  static int exit_code = 0;  // read when the process ends
  ExitCode code = ExitCode::kInternal;
  try {
    name_program(name);
    end_before_libraries_where_limited(exit_code);
    occupy_standard_streams();
    install_interrupt_handlers();
    code = work();
  } catch (const Failure& failure) {
    code = failure.code();
    print_error(failure.what());
  } catch (const std::bad_alloc&) {
    code = ExitCode::kOutOfMemory;
    print_error("no memory for the working data of this command");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return exit_code = static_cast<int>(code);
}

}  // namespace kizami::cli
