// SPDX-License-Identifier: MIT
// What the command lines of all programs here have in common: how they are parsed, what is said to bad ones, and the
// options that several programs have, so that an option means the same wherever it stands.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A program of options. Its --help names every option and what it is without one.
class Program : public CLI::App {
 public:
  Program(const std::string& name, const std::string& description);

  /// Parses, then measures. No device is touched before the options are understood.
  /// @return what measure() returns; 1 if it throws, after the reason; of options that are refused what CLI11 returns
  [[nodiscard]] int run(int argc, const char* const* argv, const std::function<int()>& measure);
};

/// m, n and k of a product.
struct Shape {
  std::int64_t m, n, k;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// N, or MxNxK. @throws std::invalid_argument
[[nodiscard]] Shape parse_shape(const std::string& text);
/// As 1024x512x64.
[[nodiscard]] std::string to_string(const Shape& shape);
/// As printf's %g: phi=0.5.
[[nodiscard]] std::string to_text(double x);

/// Accepts what parse() does not throw std::invalid_argument for.
template <class Parse>
[[nodiscard]] std::function<std::string(const std::string&)> parses_as(Parse parse) {
  return [parse](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse(text));
      return {};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
}

/// Accepts numbers of `least` to `most`. (CLI::Range lets NaN pass.)
[[nodiscard]] std::function<std::string(const std::string&)> between(double least, double most);
/// Accepts whole numbers that `factor` divides.
[[nodiscard]] std::function<std::string(const std::string&)> multiple_of(std::int64_t factor);

/// An option of one value or more, each as parse() makes it.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, std::vector<T>& values, Parse parse,
                        const std::string& description) {
  const auto assign = [&values, parse](const std::vector<std::string>& words) {
    values.clear();
    for (const std::string& word : words) values.push_back(parse(word));
  };
  return app.add_option_function<std::vector<std::string>>(name, assign, description)->check(parses_as(parse));
}

/// --n N and --shape MxNxK, in the order in which they come.
CLI::Option* add_shapes(CLI::App& app, std::vector<Shape>& shapes);
/// --type: letters of `known`, one or more in a word.
CLI::Option* add_types(CLI::App& app, std::vector<char>& types, const std::string& known = "sdcz");
/// --commit: what records say was measured. The last one counts: ./kz gpu-bench passes one before those of its user.
CLI::Option* add_commit(CLI::App& app, std::string& commit);
/// --json: the file of Records.
CLI::Option* add_json(CLI::App& app, std::string& path);

}  // namespace bench
