// SPDX-License-Identifier: MIT
#include "address_space.hpp"
#include "commands.hpp"

int main(int argc, char** argv) {
  static int exit_code = 0;
  kizami::cli::end_before_libraries_where_limited(exit_code);
  exit_code = kizami::cli::run_program(argc, argv);
  return exit_code;
}
