// SPDX-License-Identifier: MIT
// From argv to a command: the list of commands and the help.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "check/text.hpp"
#include "commands.hpp"
#include "device_option.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "kizami/nearest.hpp"
#include "kizami/variables.hpp"
#include "options.hpp"
#include "program.hpp"
#include "program_words.hpp"

namespace kizami::cli {
namespace {

constexpr std::size_t kHelpColumn = 34;

std::string footer() {
  std::string out =
      "\nExamples:\n"
      "  kizami gemm A.npy B.npy -o C.npy                        C = A B, never worse than a native product "
      "guarantees\n"
      "  kizami gemm A.npy B.npy -o C.npy --accuracy bits=40     |error| <= 2^-40 |A||B| in every element\n"
      "  kizami gemm A.npy B.npy -o C.npy --op nt --check        C = A B^T, compared with the exact product\n"
      "  kizami gemm A.mtx B.npy -o C.mtx --op cn --alpha 1-2i   C = (1 - 2i) A^H B, for complex types\n"
      "  kizami gemm A.npy B.npy -o C.npy --device               the same bits from a CUDA device\n"
      "  kizami plan 4096 4096 4096 --dtype f32                  what would be done, and what it guarantees\n"
      "  kizami run -- python3 script.py                         an unchanged program, its products by Kizami\n"
      "  kizami audit -- ./solver                                what an unchanged program multiplies, how well, and "
      "what\n"
      "                                                          Kizami would gain\n"
      "  kizami check 'd nn 33x65x129 a=1 b=0 A=exprand:phi=4 B=randn seed=7'\n"
      "\nExit codes:\n";
  for (const ExitCodeInfo& info : kExitCodes)
    out += fmt::format("  {}  {}\n", static_cast<int>(info.code), info.meaning);
  return out + "  128 + S after signal S, for instance 130 after Ctrl-C; an existing file is unchanged or complete\n";
}

std::string names_of(const std::vector<Command>& commands) {
  std::string out;
  for (const Command& command : commands) out += (out.empty() ? "" : ", ") + command.app->get_name();
  return out;
}

/// "; did you mean --version?", or nothing.
std::string hint(std::string_view nearest) { return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest); }

std::vector<std::string> list_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

/// CLI11 would report an unknown command as an unexpected argument.
void refuse_unknown_command(int argc, char** argv, const std::vector<Command>& commands) {
  if (argc < 2)
    throw Failure(ExitCode::kUsage, fmt::format("no command; allowed: {} (see kizami --help)", names_of(commands)));
  const std::string name = argv[1];
  const bool is_known =
      std::any_of(commands.begin(), commands.end(), [&](const Command& c) { return c.app->get_name() == name; });
  if (is_known || name == "-h" || name == "--help" || name == "-V" || name == "--version") return;
  if (name.starts_with('-')) {
    const std::vector<std::string_view> options{"--help", "--version"};
    throw Failure(ExitCode::kUsage, fmt::format("unknown option {}; allowed: --help, --version, or a command{}",
                                                in_quotes(name), hint(nearest_name(name, options))));
  }
  throw Failure(ExitCode::kUsage, fmt::format("unknown command {}; allowed: {}{}", in_quotes(name), names_of(commands),
                                              hint(nearest_name(name, list_of(commands)))));
}

/// "--accuracy" of "--acuracy", "-acuracy" and "--acc"; empty: none is near.
std::string_view option_meant(std::string_view name, const std::vector<std::string>& names) {
  const std::string whole = (name.starts_with("--") ? "" : "-") + std::string(name);
  if (whole.size() < 4) return {};  // one letter is near to all of one letter
  const std::string_view nearest = nearest_name(whole, names);
  if (!nearest.empty()) return nearest;
  const auto begun = std::ranges::find_if(names, [&](const std::string& one) { return one.starts_with(whole); });
  return begun == names.end() ? std::string_view() : *begun;
}

/// A word as a shell takes it.
std::string for_shell(const std::string& word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_=./:,+@%").find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Of a command that starts a program, without "--": the command line as it was meant. Empty if no word can be a program.
std::string with_dashes(int argc, char** argv, const CLI::App& command) {
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-') && word.size() > 1) {
      const bool is_long = word.starts_with("--");
      const CLI::Option* const option =
          command.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
      const bool has_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
      if (option == nullptr) return {};
      if (option->get_items_expected_max() > 0 && !has_value) ++i;
      continue;
    }
    std::string out = "kizami";
    for (int j = 1; j < argc; ++j) out += (j == i ? " -- " : " ") + for_shell(argv[j]);
    return out;
  }
  return {};
}

/// The first option that the command does not have, and the nearest that it has; or a program without "--" before it.
/// Empty: neither. CLI11 would call values and program unexpected.
std::string unexpected_word(int argc, char** argv, const CLI::App& app) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  const auto found = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == wanted; });
  if (found.empty()) return {};
  const CLI::App* const command = found.front();
  if (program_words().empty() && (wanted == "run" || wanted == "audit")) {
    const std::string meant = with_dashes(argc, argv, *command);
    if (!meant.empty()) return "put -- before the program: " + meant;
  }
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    const std::string name(word.substr(0, word.find('=')));
    const bool is_short = name.size() > 1 && name[0] == '-' && std::isalpha(static_cast<unsigned char>(name[1])) != 0;
    const std::string known =
        is_short ? name.substr(0, 2) : name;  // "-qo" is -q and -o, "-oC.npy" is -o with its value
    if (!(is_short || name.starts_with("--")) || command->get_option_no_throw(known) != nullptr) continue;
    const std::string_view nearest = option_meant(name, names);
    return fmt::format("{} has no option {}{}", command->get_name(), in_quotes(name),
                       nearest.empty() ? fmt::format("; see kizami {} --help", command->get_name()) : hint(nearest));
  }
  return {};
}

/// What the environment has and the command does not go by. Of programs that it starts the libraries read the variables.
void note_variables(const CLI::App& command) {
  const std::string& name = command.get_name();
  const bool is_silent = name == "help" || (name == "gemm" && command.count("--quiet") > 0);
  if (is_silent) return;
  const bool is_of_program = name == "run" || name == "audit";
  for (const std::string& sentence : is_of_program ? unknown_variables(environ) : variables_without_effect())
    print_note(sentence);
}

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Kizami: matrix products in FP32 and FP64, real and complex, with proven error bounds, computed on integer "
      "arithmetic.",
      "kizami");
  app.get_formatter()->column_width(kHelpColumn);
  app.set_version_flag("-V,--version", fmt::format("kizami {}", version()), "print the version");
  app.set_help_flag("-h,--help", "print this text; after a command, the help of the command");
  app.footer(footer());
  app.require_subcommand(1);
  const std::vector<Command> commands{add_gemm(app),    add_plan(app),      add_check(app), add_bench(app),
                                      add_predict(app), add_calibrate(app), add_run(app),   add_audit(app),
                                      add_info(app),    add_help(app)};
  refuse_unknown_command(argc, argv, commands);
  argc = take_program_words(argc, argv);
  std::vector<std::string> words = with_device_numbers({argv, argv + argc});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  argc = static_cast<int>(pointers.size());
  argv = pointers.data();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    write_stdout(chosen.empty() ? app.help() : chosen.front()->help("kizami"));
    return ExitCode::kOk;
  } catch (const CLI::CallForVersion& request) {
    write_stdout(fmt::format("{}\n", request.what()));
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unexpected_word(argc, argv, app);
    throw Failure(ExitCode::kUsage, unknown.empty() ? error.what() : unknown);
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    note_variables(*command.app);
    return command.run();
  }
  return ExitCode::kInternal;
}

}  // namespace

Command add_help(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("help", "print the help of the program, of a command, or of the policy");
  const auto topic = std::make_shared<std::string>();
  app->add_option("COMMAND", *topic,
                  "command to explain; or policy: all wishes of one product; or variables: those of the environment")
      ->type_name("");
  app->footer("\nExamples:\n  kizami help gemm\n  kizami help policy\n  kizami help variables\n");
  return {app, [&program, topic] {
            if (topic->empty()) {  // program.help() would explain this command
              return write_stdout(
                         program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal)),
                     ExitCode::kOk;
            }
            if (*topic == "variables") return write_stdout(variables_help()), ExitCode::kOk;
            if (*topic == "policy") return write_stdout(policy_help()), ExitCode::kOk;
            try {
              return write_stdout(program.get_subcommand(*topic)->help("kizami")), ExitCode::kOk;
            } catch (const CLI::OptionNotFound&) {
              std::vector<std::string> topics{"policy", "variables"};
              for (const CLI::App* const command : program.get_subcommands([](const CLI::App*) { return true; }))
                topics.push_back(command->get_name());
              throw Failure(ExitCode::kUsage, "no command " + in_quotes(*topic) + " (see kizami --help)" +
                                                  hint(nearest_name(*topic, topics)));
            }
          }};
}

int run_kizami(int argc, char** argv) noexcept {
  return run_program("kizami", [&] { return parse_and_run(argc, argv); });
}

}  // namespace kizami::cli
