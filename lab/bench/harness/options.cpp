// SPDX-License-Identifier: MIT
#include "harness/options.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace bench {
namespace {

/// A whole number of 1 or more, and nothing else.
[[nodiscard]] bool parse_size(const std::string& text, std::int64_t& size) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, size);
  return error == std::errc() && stopped == end && size >= 1;
}

/// The words between the letters x.
[[nodiscard]] std::vector<std::string> split_at_x(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == 'x') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

Program::Program(const std::string& name, const std::string& description) : CLI::App(description, name) {
  option_defaults()->always_capture_default();
}

int Program::run(int argc, const char* const* argv, const std::function<int()>& measure) {
  try {
    parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exit(error);
  }
  try {
    return measure();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", get_name().c_str(), error.what());
    return 1;
  }
}

Shape parse_shape(const std::string& text) {
  Shape shape{};
  const std::vector<std::string> words = split_at_x(text);
  const bool is_square = words.size() == 1 && parse_size(words[0], shape.m);
  if (is_square) return {shape.m, shape.m, shape.m};
  if (words.size() != 3 || !parse_size(words[0], shape.m) || !parse_size(words[1], shape.n) ||
      !parse_size(words[2], shape.k)) {
    throw std::invalid_argument(text + ", must be N or MxNxK of numbers of 1 and more");
  }
  return shape;
}

std::string to_string(const Shape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

std::string to_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

std::function<std::string(const std::string&)> between(double least, double most) {
  return [least, most](const std::string& text) -> std::string {
    char* stopped = nullptr;
    const double number = std::strtod(text.c_str(), &stopped);
    if (!text.empty() && *stopped == '\0' && number >= least && number <= most) return {};
    return text + ", must be a number from " + to_text(least) + " to " + to_text(most);
  };
}

std::function<std::string(const std::string&)> multiple_of(std::int64_t factor) {
  return [factor](const std::string& text) -> std::string {
    std::int64_t number = 0;
    if (parse_size(text, number) && number % factor == 0) return {};
    return text + ", must be a multiple of " + std::to_string(factor);
  };
}

CLI::Option* add_shapes(CLI::App& app, std::vector<Shape>& shapes) {
  std::string standard;
  for (const Shape& shape : shapes) standard += (standard.empty() ? "" : ",") + to_string(shape);
  return add_parsed(app, "--n,--shape", shapes, parse_shape, "square sizes N, or MxNxK")
      ->type_name("SHAPE")
      ->default_str("[" + standard + "]");
}

CLI::Option* add_types(CLI::App& app, std::vector<char>& types, const std::string& known) {
  const auto assign = [&types](const std::vector<std::string>& words) {
    types.clear();
    for (const std::string& word : words) types.insert(types.end(), word.begin(), word.end());
  };
  const auto check = [known](const std::string& word) -> std::string {
    const bool is_good = !word.empty() && word.find_first_not_of(known) == std::string::npos;
    return is_good ? "" : word + ", must be letters of " + known;
  };
  return app.add_option_function<std::vector<std::string>>("--type", assign, "letters of " + known)
      ->check(check)
      ->type_name("LETTERS")
      ->default_str(std::string(types.begin(), types.end()));
}

CLI::Option* add_commit(CLI::App& app, std::string& commit) {
  return app.add_option("--commit", commit, "what the records say was measured")->take_last();
}

CLI::Option* add_json(CLI::App& app, std::string& path) {
  return app.add_option("--json", path, "appends the records to this file instead of printing them")
      ->type_name("FILE")
      ->take_last();
}

}  // namespace bench
