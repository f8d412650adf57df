// SPDX-License-Identifier: MIT
// kizami audit: one run of an unchanged program whose own library computes, and what was seen of its products.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audit_html.hpp"
#include "audit_summary.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "output_file.hpp"
#include "preloading.hpp"
#include "program_words.hpp"

namespace kizami::cli {
namespace {

struct AuditOptions {
  std::string json;
  std::string html;
  std::string rules;
  bool is_quiet = false;
};

/// @param make  gives the text, if a file is wanted
template <class Make>
void write_file(const std::string& path, const Make& make) {
  if (path.empty()) return;
  const std::string text = make();
  if (path == "-") return write_stdout(text);
  OutputFile file(path, text.size());
  file.write(text);
  file.commit();
}

ExitCode audit_program(const AuditOptions& options) {
  const std::vector<std::string>& command = program_words();
  if (command.empty()) throw Failure(ExitCode::kUsage, "no program: kizami audit [OPTION...] -- PROGRAM [ARGUMENT...]");
  const std::string path = find_program(command[0]);
  if (path.empty()) throw Failure(static_cast<ExitCode>(127), fmt::format("{}: no such program", command[0]));
  const DropinLibraries libraries = find_dropin_libraries(Before::kAll, needs_wide_integers(binary_of(path)));
  require_understood(libraries, {});
  const std::string json = path_of_rank(options.json);
  const std::string html = path_of_rank(options.html);
  const std::string rules = path_of_rank(options.rules);
  for (const std::string& file : {json, html, rules}) require_writable(file);
  ReportFolder folder;
  Variables variables = preloading_variables(libraries, folder.path());
  variables.emplace_back("KIZAMI_AUDIT", "1");
  const Started done = start_and_wait(command, path, variables);
  const std::vector<nlohmann::json> lines = folder.lines();
  AuditSummary summary = summarize(lines, command, done.seconds, status_text(done.status));
  const std::int64_t num_running = folder.num_running();
  if (summary.calls == 0) summary.why_no_calls = why_no_calls(path, lines, done.status, num_running);
  if (!options.is_quiet) {
    std::string text = audit_text(summary);
    if (summary.calls > 0) text += running_line(num_running);
    if (!libraries.note.empty()) text += "  " + libraries.note + "\n";
    std::fputs(text.c_str(), stderr);
  }
  write_file(json, [&] { return audit_json(summary, lines); });
  write_file(html, [&] { return audit_html(summary); });
  write_file(rules, [&] { return audit_rules(summary); });
  folder.remove();  // before a signal ends this process
  return static_cast<ExitCode>(end_like(done.status));
}

}  // namespace

Command add_audit(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("audit",
                                               "run an unchanged program on its own BLAS and cuBLAS, and tell what it "
                                               "multiplies, how well, and what Kizami would gain");
  const auto options = std::make_shared<AuditOptions>();
  app->footer(
      "\nkizami audit [OPTION...] -- PROGRAM [ARGUMENT...]\n\nResults of the program are its own library's. Of some "
      "calls four elements are computed again\n"
      "in arithmetic of 113 bits: for 2 % of the time, at first 5 %. Exit status and signals are those of the "
      "program, as of kizami run.\n"
      "\nExamples:\n"
      "  kizami audit -- python3 script.py\n"
      "  kizami audit --html audit.html --rules kizami.rules -- ./solver input.dat\n"
      "  kizami audit --json audit.jsonl -- mpirun -np 4 ./solver      each rank is a process of the report\n");
  app->add_option(
         "--json", options->json,
         "write lines of JSON there; - is standard output, and of several ranks of MPI each has a file of its own")
      ->type_name("FILE");
  app->add_option("--html", options->html, "write a page with pictures there")->type_name("FILE");
  app->add_option("--rules", options->rules, "write a rules file there, for kizami run --rules")->type_name("FILE");
  app->add_flag("-q,--quiet", options->is_quiet, "do not print the report on stderr");
  return {app, [options] { return audit_program(*options); }};
}

}  // namespace kizami::cli
