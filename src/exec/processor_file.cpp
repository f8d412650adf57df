// SPDX-License-Identifier: MIT
#include "exec/processor_file.hpp"

#include <sys/utsname.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/default_threads.hpp"
#include "base/fork_safe.hpp"
#include "exec/calibration_file.hpp"
#include "exec/environment.hpp"

namespace kizami::exec {
namespace {

using Json = nlohmann::ordered_json;
using product::NativeRates;
using product::ProcessorRates;

constexpr int kFormat = 1;
constexpr double kLargest = 1e6;  // of any number in a file
constexpr double kLeast = 1e-6;   // likewise

/// A number of a file, and what it is in one of ProcessorRates.
struct Number {
  const char* key;
  double ProcessorRates::*member;
  double unit;
};
constexpr Number kNumbers[] = {
    {"copy_gbs", &ProcessorRates::copy_bytes_per_second, 1e9},
    {"thread_start_us", &ProcessorRates::thread_start_seconds, 1e-6},
    {"look_gbs", &ProcessorRates::look_bytes_per_second, 1e9},
    {"split_ns", &ProcessorRates::split_seconds, 1e-9},
    {"narrow_crt_ns", &ProcessorRates::narrow_crt_seconds, 1e-9},
    {"wide_crt_ns", &ProcessorRates::wide_crt_seconds, 1e-9},
    {"cpu_simd_share", &ProcessorRates::cpu_simd, 1},
    {"tile_share", &ProcessorRates::tile, 1},
    {"cpu_ref_share", &ProcessorRates::cpu_ref, 1},
    {"tc_model_share", &ProcessorRates::tc_model, 1},
};
struct Rates {
  const char* key;
  NativeRates ProcessorRates::*member;
};
constexpr double kGiga = 1e9;
constexpr Rates kNativeRates[] = {{"native_f64_gmacs", &ProcessorRates::native_f64},
                                  {"native_f32_gmacs", &ProcessorRates::native_f32}};

/// Leaves the reader; what it says becomes a Status.
struct Defect {
  std::string message;
};

[[nodiscard]] double number_of(const Json& value, const std::string& where) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= kLeast) || !(number <= kLargest)) throw Defect{where + " = " + value.dump() + ", must be above 0"};
  return number;
}

[[nodiscard]] NativeRates native_rates_of(const Json& points, const std::string& where) {
  NativeRates rates;
  if (!points.is_array() || points.empty() || points.size() > NativeRates::kMostPoints)
    throw Defect{where + " = " + points.dump() + ", must be a list of [n, rate]"};
  for (const Json& point : points) {
    if (!point.is_array() || point.size() != 2) throw Defect{where + " holds " + point.dump() + ", must be [n, rate]"};
    const double n = number_of(point[0], where);
    if (rates.num_points > 0 && !(n > rates.points[static_cast<std::size_t>(rates.num_points - 1)].n))
      throw Defect{where + ": sizes must ascend"};
    rates.points[static_cast<std::size_t>(rates.num_points++)] = {n, kGiga * number_of(point[1], where)};
  }
  return rates;
}

/// @param is_other  why the file is of no use where its value is another
void require(const Json& file, const char* key, const Json& wanted, const char* is_other) {
  const auto found = file.find(key);
  if (found == file.end()) throw Defect{std::string(key) + " is missing"};
  if (*found != wanted)
    throw Defect{std::string(is_other) + " (" + key + " = " + found->dump() + ", here " + wanted.dump() + ")"};
}

[[nodiscard]] ProcessorRates rates_of(const Json& file, const ProcessorKey& key) {
  if (!file.is_object()) throw Defect{"no object"};
  require(file, "format", kFormat, "of another format");
  require(file, "kizami", key.version, "measured by another version");
  require(file, "processor", key.processor, "of another processor");
  require(file, "threads", key.threads, "of other threads");
  require(file, "blas", key.blas, "with another BLAS");
  const auto measured = file.find("measured");
  if (measured == file.end() || !measured->is_object()) throw Defect{"measured is missing"};
  ProcessorRates rates;
  for (const Number& number : kNumbers) {
    if (const auto value = measured->find(number.key); value != measured->end())
      rates.*number.member = number.unit * number_of(*value, number.key);
  }
  for (const Rates& native : kNativeRates) {
    if (const auto points = measured->find(native.key); points != measured->end())
      rates.*native.member = native_rates_of(*points, native.key);
  }
  return rates;
}

[[nodiscard]] std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The kernel's name of the first processor; of those without one (ARM) maker and part.
[[nodiscard]] std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string made_of;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = trimmed(line.substr(0, colon));
    const std::string value = trimmed(line.substr(colon + 1));
    if (key == "model name" && !value.empty()) return value;
    if (key == "CPU implementer" || key == "CPU part") made_of += (made_of.empty() ? "" : " ") + value;
  }
  utsname names{};
  const std::string machine = uname(&names) == 0 ? names.machine : "unknown";
  return made_of.empty() ? machine : machine + " " + made_of;
}

[[nodiscard]] ProcessorCalibration find_calibration() {
  ProcessorCalibration found;
  const ProcessorKey key = this_processor();
  found.path = processor_path_of(key);
  if (found.path.empty()) return found;
  std::ifstream file(found.path);
  if (!file) return found;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Result<ProcessorRates> rates = parse_processor(text, key);
  found.is_used = rates.ok();
  if (rates.ok()) {
    found.rates = rates.value();
  } else {
    found.why_unused = rates.status().reason();
  }
  return found;
}

}  // namespace

ProcessorKey this_processor() { return {processor_name(), base::default_threads(), native_library(), KIZAMI_VERSION}; }

std::string processor_path_of(const ProcessorKey& key) {
  std::string name = "processor-";
  for (const char c : key.processor) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain || name.back() != '-') name += is_plain ? c : '-';
  }
  if (name.back() != '-') name += '-';
  name += std::to_string(key.threads);
  return calibration_file(name + ".v" + std::to_string(kFormat) + ".json");
}

std::string print_processor(const ProcessorKey& key, const ProcessorRates& rates) {
  Json out;
  out["format"] = kFormat;
  out["kizami"] = key.version;
  out["processor"] = key.processor;
  out["threads"] = key.threads;
  out["blas"] = key.blas;
  Json& measured = out["measured"] = Json::object();
  const ProcessorRates unmeasured;
  for (const Number& number : kNumbers) {
    if (rates.*number.member != unmeasured.*number.member) measured[number.key] = rates.*number.member / number.unit;
  }
  for (const Rates& native : kNativeRates) {
    const NativeRates& by_size = rates.*native.member;
    if (by_size.at(1) == (unmeasured.*native.member).at(1)) continue;
    for (int i = 0; i < by_size.num_points; ++i) {
      const NativeRates::Point& point = by_size.points[static_cast<std::size_t>(i)];
      measured[native.key].push_back({point.n, point.rate / kGiga});
    }
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ProcessorRates> parse_processor(std::string_view text, const ProcessorKey& key) {
  const auto refused = [](std::string why) { return Status(StatusCode::kInvalidArgument, std::move(why)); };
  try {
    return rates_of(Json::parse(text), key);
  } catch (const Defect& defect) {
    return refused(defect.message);
  } catch (const Json::exception&) {
    return refused("no JSON");
  }
}

const ProcessorCalibration& processor_calibration() {
  static constinit base::MadeOnce<ProcessorCalibration> calibration;
  return calibration.get(find_calibration);
}

}  // namespace kizami::exec
