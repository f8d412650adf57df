// SPDX-License-Identifier: MIT
// The words behind "--" of commands that start a program. They are taken off before options are parsed: all of them are
// the program's.
#pragma once

#include <string>
#include <vector>

namespace kizami::cli {

/// Of this command line; empty: there is no "--", or nothing behind it.
[[nodiscard]] const std::vector<std::string>& program_words();

/// Takes the words off the command line of such a command. @return the words that remain
int take_program_words(int argc, char** argv);

}  // namespace kizami::cli
