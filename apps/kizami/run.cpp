// SPDX-License-Identifier: MIT
// kizami run: starts an unchanged program under the drop-in libraries, and says what became of its products.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "failure.hpp"
#include "kizami/variables.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "preloading.hpp"
#include "program_words.hpp"

namespace kizami::cli {
namespace {

struct RunOptions {
  PolicyOptions policy;
  std::map<std::string, std::string> settings;  ///< other variables, by their names
  std::string before = "all";
  std::string json;
  bool is_quiet = false;
};

Before before_of(const std::string& name) {
  if (name == "blas") return Before::kBlas;
  if (name == "cublas") return Before::kCublas;
  if (name == "all") return Before::kAll;
  refuse_name("--before", name, "blas, cublas, all");
}

/// Wishes as typed, under the names that the drop-in libraries read, which check their values (require_understood()).
Variables variables_of(const RunOptions& options) {
  static_cast<void>(policy_of(options.policy));  // refuses what no face takes
  Variables out;
  for (const auto& [key, value] : options.policy.values) {
    if (value.empty()) continue;
    if (key == "sync") throw Failure(ExitCode::kUsage, "--sync is not for programs that know nothing of Kizami");
    out.emplace_back(variable_of(key), value);
  }
  for (const auto& [name, value] : options.settings) out.emplace_back(name, value);
  return out;
}

struct Routine {
  std::int64_t emulated = 0, native = 0;
  double emulated_seconds = 0, native_seconds = 0, predicted_native = 0;
  std::map<std::string, std::int64_t> why;
};

std::string table_of(const std::vector<nlohmann::json>& lines) {
  std::map<std::string, Routine> routines;
  for (const nlohmann::json& line : lines) {
    if (line["event"] != "calls") continue;
    Routine& routine = routines[line.value("routine", "")];
    const auto calls = line.value("calls", std::int64_t{0});
    const double seconds = line.value("seconds", 0.0);
    if (line.value("answer", "") == "native") {
      routine.native += calls;
      routine.native_seconds += seconds;
      routine.why[line.value("why_native", "")] += calls;
    } else {
      routine.emulated += calls;
      routine.emulated_seconds += seconds;
      routine.predicted_native += line.value("predicted_native_seconds", 0.0);
    }
  }
  std::vector<std::pair<std::string, Routine>> order(routines.begin(), routines.end());
  std::ranges::stable_sort(order, [](const auto& x, const auto& y) {
    return x.second.emulated_seconds + x.second.native_seconds > y.second.emulated_seconds + y.second.native_seconds;
  });
  std::string out = fmt::format("  {:<24} {:>10} {:>10} {:>14} {:>10} {:>10}\n", "routine", "emulated", "seconds",
                                "(native, pred.)", "native", "seconds");
  for (const auto& [name, r] : order) {
    out += fmt::format("  {:<24} {:>10} {:>10.3g} {:>14.3g} {:>10} {:>10.3g}\n", name, r.emulated, r.emulated_seconds,
                       r.predicted_native, r.native, r.native_seconds);
    for (const auto& [why, calls] : r.why) out += fmt::format("      {} native: {}\n", calls, why);
  }
  return out;
}

struct Seen {
  std::int64_t processes = 0, cut = 0, emulated = 0, native = 0;
};

Seen seen_in(const std::vector<nlohmann::json>& lines) {
  const Processes processes = processes_of(lines);
  Seen seen{processes.count, processes.cut, 0, 0};
  for (const nlohmann::json& line : lines) {
    if (line["event"] != "process") continue;
    seen.emulated += line.value("emulated", std::int64_t{0});
    seen.native += line.value("native", std::int64_t{0});
  }
  return seen;
}

/// @param why_no_calls  empty: there were some
std::string report_of(const std::vector<nlohmann::json>& lines, const Started& done, const std::string& why_no_calls,
                      std::int64_t num_running) {
  if (!why_no_calls.empty()) return fmt::format("kizami run: 0 calls seen, because {}\n", why_no_calls);
  const Seen seen = seen_in(lines);
  std::string out =
      fmt::format("kizami run: {} emulated, {} native, in {}; {:.3g} s in all, {}\n", plural(seen.emulated, "call"),
                  seen.native, plural(seen.processes, "process"), done.seconds, status_text(done.status));
  if (num_running > 0) {
    out += running_line(num_running);
  } else if (seen.cut > 0) {
    out += fmt::format("  {} ended before the report was whole: calls of the last moments are not counted\n",
                       plural(seen.cut, "process"));
  }
  return out + table_of(lines);
}

void write_json(const std::string& path, const std::vector<std::string>& command, std::vector<nlohmann::json> lines,
                const Started& done, const std::string& reason) {
  nlohmann::json last{
      {"event", "run"}, {"command", command}, {"ended", status_text(done.status)}, {"seconds", done.seconds}};
  if (!reason.empty()) last["why_no_calls"] = reason;
  lines.push_back(last);
  std::string text;
  for (const nlohmann::json& line : lines)
    text += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  if (path == "-") return write_stdout(text);
  OutputFile file(path, text.size());
  file.write(text);
  file.commit();
}

ExitCode run_program_under(const RunOptions& options) {
  const std::vector<std::string>& command = program_words();
  if (command.empty()) throw Failure(ExitCode::kUsage, "no program: kizami run [OPTION...] -- PROGRAM [ARGUMENT...]");
  const std::string path = find_program(command[0]);
  if (path.empty()) throw Failure(static_cast<ExitCode>(127), fmt::format("{}: no such program", command[0]));
  Variables variables = variables_of(options);
  const DropinLibraries libraries =
      find_dropin_libraries(before_of(options.before), needs_wide_integers(binary_of(path)));
  require_understood(libraries, variables);
  const std::string json = path_of_rank(options.json);
  require_writable(json);
  ReportFolder folder;
  for (const auto& variable : preloading_variables(libraries, folder.path())) variables.push_back(variable);
  const Started done = start_and_wait(command, path, variables);
  const std::vector<nlohmann::json> lines = folder.lines();
  const std::int64_t num_running = folder.num_running();
  const Seen seen = seen_in(lines);
  const std::string reason =
      seen.emulated + seen.native == 0 ? why_no_calls(path, lines, done.status, num_running) : "";
  if (!options.is_quiet) {
    std::string text = report_of(lines, done, reason, num_running);
    if (!libraries.note.empty()) text += "  " + libraries.note + "\n";
    if (json != options.json) text += fmt::format("  lines of this rank are in {}\n", json);
    std::fputs(text.c_str(), stderr);
  }
  if (!json.empty()) write_json(json, command, lines, done, reason);
  folder.remove();  // before a signal ends this process
  return static_cast<ExitCode>(end_like(done.status));
}

}  // namespace

Command add_run(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("run", "run an unchanged program with its products of BLAS and cuBLAS by Kizami");
  const auto options = std::make_shared<RunOptions>();
  app->footer(
      "\nkizami run [OPTION...] -- PROGRAM [ARGUMENT...]\n\nAn option that is not given is as the environment says "
      "(kizami help variables). The exit status is that of "
      "the\n"
      "program, 127 if there is none of that name, 126 if it cannot be started; a signal that ended it ends kizami, "
      "too.\n"
      "\nExamples:\n"
      "  kizami run -- python3 script.py                        the planner leaves to the native BLAS what that does "
      "faster\n"
      "  kizami run --scheme ozaki2 -- octave script.m          every product that is large enough by scheme ozaki2\n"
      "  kizami run --accuracy bits=40 --monitor 100 -- ./solver   2^-40, and every 100th call is compared with its "
      "bound\n"
      "  kizami run --dry-run --json calls.jsonl -- ./solver    nothing is changed; who would answer what, in lines of "
      "JSON\n");
  app->add_option("--before", options->before, "whose calls are taken: blas, cublas, or all [all]")
      ->type_name("blas|cublas|all");
  app->add_option(
         "--json", options->json,
         "write lines of JSON there; - is standard output, and of several ranks of MPI each has a file of its own")
      ->type_name("FILE");
  app->add_flag("-q,--quiet", options->is_quiet, "do not print the report on stderr");
  const auto setting = [&](const char* option, const char* variable, const char* type, const char* help) {
    app->add_option_function<std::string>(
           option, [options, variable](const std::string& value) { options->settings[variable] = value; }, help)
        ->type_name(type);
  };
  setting("--rules", "KIZAMI_RULES", "FILE", "rules for certain routines, sizes and places (docs/dropin.md)");
  setting("--min-size", "KIZAMI_MIN_SIZE", "auto|N",
          "calls with m n k below the cube of it are native; 0: all are emulated");
  setting("--monitor", "KIZAMI_MONITOR", "N", "compare a sample of every N-th emulated call with its bound");
  setting("--log", "KIZAMI_LOG", "FILE", "a line for each call");
  app->add_flag_callback(
      "--dry-run", [options] { options->settings["KIZAMI_DRY_RUN"] = "1"; },
      "plan and count, but leave every call to the native library");
  add_policy_options(*app, options->policy);
  return {app, [options] { return run_program_under(*options); }};
}

}  // namespace kizami::cli
