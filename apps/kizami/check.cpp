// SPDX-License-Identifier: MIT
// kizami check: runs cases of the grammar against the exact product.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "case_runner.hpp"
#include "check/case.hpp"
#include "check/text.hpp"
#include "commands.hpp"
#include "failure.hpp"

namespace kizami::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> lines;
  std::string file;
  bool is_grammar_wanted = false;
  bool is_quiet = false;
};

check::Case parsed(const std::string& line, const std::string& where) {
  Result<check::Case> out = check::parse_case(line);
  if (!out.ok()) throw Failure(ExitCode::kUsage, fmt::format("{}: {}", where, out.status().reason()));
  return out.value();
}

/// Cases of a file, one a line; blank lines and what follows '#' are comments.
void read_cases(std::istream& in, const std::string& name, std::vector<check::Case>& out) {
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out.push_back(parsed(line, fmt::format("{}:{}", name, number)));
  }
  if (in.bad() || !in.eof()) throw Failure(ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
}

std::vector<check::Case> cases_of(const CheckOptions& options) {
  std::vector<check::Case> out;
  for (const std::string& line : options.lines) out.push_back(parsed(line, "case " + check::quoted(line)));
  if (options.file == "-") {
    read_cases(std::cin, "standard input", out);
  } else if (!options.file.empty()) {
    std::ifstream in(options.file);
    if (!in) throw Failure(ExitCode::kBadInput, fmt::format("{}: cannot be opened", options.file));
    read_cases(in, options.file, out);
  }
  if (out.empty())
    throw Failure(ExitCode::kUsage, "no case: give one as an argument or many by --file (see kizami check --grammar)");
  return out;
}

ExitCode run_check(const CheckOptions& options) {
  if (options.is_grammar_wanted) return write_stdout(check::case_help()), ExitCode::kOk;
  const std::vector<check::Case> cases = cases_of(options);
  std::array<std::int64_t, 4> count{};
  for (const check::Case& spec : cases) {
    const CaseResult result = run_case(spec);
    ++count[static_cast<std::size_t>(result.verdict)];
    if (options.is_quiet && result.verdict == CaseVerdict::kPassed) continue;
    std::string text =
        fmt::format("{:<10} {}\n           {}\n", to_string(result.verdict), print(spec), one_line(result.detail));
    if (result.verdict == CaseVerdict::kFailed)
      text += fmt::format("           repro: kizami check '{}'\n", print(spec));
    write_stdout(text);
  }
  const auto [passed, failed, refused, mistrusted] = count;
  std::string skipped = fmt::format("{} skipped", refused + mistrusted);
  if (refused + mistrusted > 0) skipped += fmt::format(" ({} refused, {} mistrusted)", refused, mistrusted);
  write_stdout(fmt::format("{} passed, {} failed, {}\n", passed, failed, skipped));
  if (failed > 0) throw Failure(ExitCode::kCheckFailed, fmt::format("{} of {} cases failed", failed, cases.size()));
  return ExitCode::kOk;
}

}  // namespace

Command add_check(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("check", "run cases and compare them with the exact product");
  const auto options = std::make_shared<CheckOptions>();
  app->add_option("CASE", options->lines, "a case, in quotes")->type_name("");
  app->add_option("--file", options->file, "cases, one a line, # for comments; - for standard input")
      ->type_name("FILE");
  app->add_flag("--grammar", options->is_grammar_wanted, "print the grammar of cases and the classes of matrices");
  app->add_flag("-q,--quiet", options->is_quiet, "print only cases that did not pass");
  app->footer(
      "\nPASSED: the error of every element compared is within the bound, NaN and Inf stand where they belong, nothing "
      "but C was\n"
      "written, and other engines, thread counts and workspaces give the same bits (scheme ozaki2). REFUSED: the "
      "library says why\n"
      "it cannot. MISTRUSTED: nothing wrong, but most of C is 0. Products of more than 2^27 terms are compared in a "
      "sample.\n"
      "\nExamples:\n  kizami check 'd nt 33x65x129 a=1 b=-0.5 A=exprand:phi=4 B=grade:cols acc=bits=40 seed=7'\n"
      "  kizami check 'z nc 33x20x65 a=1-2i b=0.5 A=randn,im2^-40 B=gram,nani@middle'\n");
  return {app, [options] { return run_check(*options); }};
}

}  // namespace kizami::cli
