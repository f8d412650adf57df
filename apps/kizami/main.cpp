// SPDX-License-Identifier: MIT
#include "commands.hpp"

int main(int argc, char** argv) { return kizami::cli::run_kizami(argc, argv); }
