// SPDX-License-Identifier: MIT
#include "kizami/variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/default_threads.hpp"
#include "kizami/nearest.hpp"
#include "kizami/text.hpp"
#include "kizami/wishes.hpp"

namespace kizami {
namespace {

constexpr std::string_view kPrefix = "KIZAMI_";

constexpr Variable kVariables[] = {
    {"KIZAMI_MIN_SIZE", "auto, 0..1048576", "auto",
     "calls with m n k below the cube of it are native; 0: every call is emulated, by ozaki2 if the scheme is auto",
     true},
    {"KIZAMI_OWN_LINES", "0, 1", "0",
     "1: the bits of an element depend on its own row of op(A) and column of op(B) only", true},
    {"KIZAMI_LEARNED", "0, 1", "1",
     "before cuBLAS: calls of a place are left to it where elements of earlier ones made it the quicker one", true},
    {"KIZAMI_LOG", "0, 1, a file", "0", "a line for each call, on stderr or appended to the file; in a rule 0 or 1",
     true},
    {"KIZAMI_RULES", "a file", "none", "settings for certain routines, types, sizes and places of calls", false},
    {"KIZAMI_SUMMARY", "0, 1, a file", "0",
     "the summary at the end of the process, on stderr or appended to the file; lines of JSON where the name of the "
     "file "
     "ends in .json or .jsonl",
     false},
    {"KIZAMI_REPORT", "a folder", "none",
     "each process keeps a file of its own there, lines of JSON, renewed while it runs: what is known of a process "
     "that "
     "is killed",
     false},
    {"KIZAMI_AUDIT", "0, 1", "0",
     "1: nothing is emulated; places, shapes, times, digits and errors of all calls go to KIZAMI_REPORT", false},
    {"KIZAMI_MONITOR", "0..2147483647", "0",
     "of each N-th emulated call eight elements are computed again in arithmetic of 113 bits and compared with the "
     "bound",
     false},
    {"KIZAMI_DRY_RUN", "0, 1", "0", "1: calls are planned and counted, and left to the native library", false},
    {"KIZAMI_WORKSPACE_TOTAL", "bytes, or with K, M or G", "0",
     "before cuBLAS: the most memory of each device that all products of the process hold together; 0: no limit",
     false},
    {"KIZAMI_KEPT", "bytes, or with K, M or G", "1G",
     "the most memory of operands that are kept under names (kizami_dropin_name_operand): of the host, and of each "
     "device",
     false},
    {"KIZAMI_NATIVE", "a library", "none", "what calls are left to, where the program itself brings no such library",
     false},
};

/// What the project's own tests and scripts set.
constexpr std::array<std::string_view, 7> kOfTests{"KIZAMI_TEST_",       "KIZAMI_REQUIRE_GPU", "KIZAMI_PROGRAM",
                                                   "KIZAMI_HPCC",        "KIZAMI_PACKAGE",     "KIZAMI_PYSCF_PYTHON",
                                                   "KIZAMI_GUIDE_FAULTS"};

}  // namespace

std::span<const Variable> variables() noexcept { return kVariables; }

std::string variable_of(std::string_view setting) {
  std::string name(kPrefix);
  for (const char c : setting) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (const Wish& wish : wishes()) {
    if (wish.key != "sync") names.push_back(variable_of(wish.key));
  }
  for (const Variable& variable : kVariables) names.emplace_back(variable.name);
  return names;
}

std::vector<std::string> unknown_variables(const char* const* environment) {
  std::vector<std::string> out;
  const std::vector<std::string> names = variable_names();
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::string_view name = entry.substr(0, entry.find('='));
    const auto is_of_tests = [&](std::string_view known) { return name.starts_with(known); };
    if (!name.starts_with(kPrefix) || std::ranges::find(names, name) != names.end()) continue;
    if (std::ranges::any_of(kOfTests, is_of_tests)) continue;
    const std::string_view nearest = nearest_name(name.substr(kPrefix.size()), [&] {
      std::vector<std::string_view> stems;
      stems.reserve(names.size());
      for (const std::string& known : names) stems.push_back(std::string_view(known).substr(kPrefix.size()));
      return stems;
    }());
    out.push_back("the variable " + std::string(name.substr(0, 60)) + " is unknown and has no effect" +
                  (nearest.empty() ? "" : "; did you mean " + std::string(kPrefix) + std::string(nearest) + "?"));
  }
  return out;
}

std::vector<std::string> variables_without_effect() {
  std::vector<std::string> out = unknown_variables(environ);
  for (std::string& sentence :
       base::threads_not_understood([](const char* name) -> const char* { return std::getenv(name); }))
    out.push_back(std::move(sentence));
  return out;
}

}  // namespace kizami
