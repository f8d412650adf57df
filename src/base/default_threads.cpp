// SPDX-License-Identifier: MIT
#include "base/default_threads.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/fork_safe.hpp"
#include "base/thread_pool.hpp"
#include "kizami/text.hpp"

namespace kizami::base {
namespace {

constexpr int kMostThreads = 0x7FFF;
constexpr const char* kOwn = "KIZAMI_THREADS";
constexpr const char* kCommon = "OMP_NUM_THREADS";

/// The number that the text begins with, blanks before it; -1: none that `is_end` takes the rest of.
template <class IsEnd>
std::int64_t leading_number(std::string_view text, const IsEnd& is_end) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return -1;
  const std::string_view rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  return is_end(rest) ? value : -1;
}

bool is_blank(std::string_view rest) { return rest.find_first_not_of(" \t\n") == std::string_view::npos; }

/// The first number of a list.
bool is_end_of_first(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.empty() || rest.front() == ',';
}

/// Of a variable, -1 where it is unset, too.
template <class IsEnd>
std::int64_t number_in(const char* value, const IsEnd& is_end) {
  return value == nullptr ? -1 : leading_number(value, is_end);
}

/// @return 0: no limit
int processors_of(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((quota - 1) / period + 1, kMostThreads));
}

/// Whether "cpu" is among the names with commas between.
bool holds_cpu(std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (names.substr(0, end) == "cpu") return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

int less_of(int x, int y) { return x == 0 || (y != 0 && y < x) ? y : x; }

/// Of one folder of a hierarchy of version 2 or 1.
int quota_in(const std::string& folder, bool is_v2, const std::function<std::string(const std::string&)>& read) {
  if (is_v2) {
    const std::string text = read(folder + "/cpu.max");
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos) return 0;
    return processors_of(leading_number(text.substr(0, blank), is_blank), leading_number(text.substr(blank), is_blank));
  }
  return processors_of(leading_number(read(folder + "/cpu.cfs_quota_us"), is_blank),
                       leading_number(read(folder + "/cpu.cfs_period_us"), is_blank));
}

std::string text_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return {};
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

int read_limit() {
  const int wished = threads_wished([](const char* name) -> const char* { return std::getenv(name); });
  const int paid = processors_of_quota(text_of("/proc/self/cgroup"),
                                       [](const std::string& path) { return text_of("/sys/fs/cgroup" + path); });
  return less_of(wished, paid);
}

}  // namespace

int threads_wished(const std::function<const char*(const char*)>& read_variable) {
  const std::int64_t own = number_in(read_variable(kOwn), is_blank);
  if (own >= 0 && own <= kMostThreads) return static_cast<int>(own);
  return static_cast<int>(
      std::clamp<std::int64_t>(number_in(read_variable(kCommon), is_end_of_first), 0, kMostThreads));
}

std::vector<std::string> threads_not_understood(const std::function<const char*(const char*)>& read_variable) {
  std::vector<std::string> out;
  const auto say = [&](const char* name, const char* value) {
    out.push_back(std::string(name) + " = " + in_quotes(value) + " has no effect, must be in 0.." +
                  std::to_string(kMostThreads));
  };
  const char* const own = read_variable(kOwn);
  const std::int64_t threads = number_in(own, is_blank);
  if (threads >= 0 && threads <= kMostThreads) return out;
  if (own != nullptr && !is_blank(own)) say(kOwn, own);
  const char* const common = read_variable(kCommon);
  if (common != nullptr && !is_blank(common) && number_in(common, is_end_of_first) < 0) say(kCommon, common);
  return out;
}

int processors_of_quota(std::string_view groups, const std::function<std::string(const std::string&)>& read) {
  int least = 0;
  while (!groups.empty()) {  // ID:CONTROLLERS:PATH
    const std::size_t end = std::min(groups.find('\n'), groups.size());
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !holds_cpu(controllers)) continue;
    std::string path(line.substr(second + 1));
    const std::string root = is_v2 ? "" : "/cpu";
    for (;;) {  // from the group to the root, which is all that a container sees
      least = less_of(least, quota_in(root + (path == "/" ? "" : path), is_v2, read));
      if (path.empty() || path == "/") break;
      path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    }
  }
  return least;
}

int default_threads() {
  static constinit MadeOnce<int> limit;
  const int most = limit.get(read_limit);
  const int processors = ThreadPool::hardware_threads();
  return most > 0 ? std::min(processors, most) : processors;
}

}  // namespace kizami::base
