// SPDX-License-Identifier: MIT
// The reader of descriptions: strict, since a number that is misspelt would be a number that is missing.
#include "kizami/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fork_safe.hpp"
#include "model/embedded.hpp"

namespace kizami::model {
namespace {

using Json = nlohmann::ordered_json;

/// What a description cannot do without.
constexpr Fact kRequired[] = {Fact::kSms,        Fact::kClockGhz, Fact::kFp64Tflops,
                              Fact::kFp32Tflops, Fact::kInt8Tops, Fact::kBandwidthTbs,
                              Fact::kL2Mb,       Fact::kPowerW,   Fact::kInt32PerSmCycle};
constexpr double kLargest = 1e6;  // of any number here
constexpr std::int64_t kFormat = 1;

/// Leaves the reader; what it says becomes a Status.
struct Defect {
  std::string message;
};
[[noreturn]] void refuse(const std::string& message) { throw Defect{message}; }

[[nodiscard]] const Json& member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) refuse(fmt::format("{} is no object", where));
  const auto at = object.find(key);
  if (at == object.end()) refuse(fmt::format("{}.{} is missing", where, key));
  return *at;
}

[[nodiscard]] std::string text_of(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    refuse(fmt::format("{}.{} = {}, must be text", where, key, value.dump()));
  return value.get<std::string>();
}

[[nodiscard]] double positive(const Json& value, const std::string& where) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number > 0) || !(number <= kLargest))
    refuse(fmt::format("{} = {}, must be a number above 0, at most {}", where, value.dump(), kLargest));
  return number;
}

[[nodiscard]] std::pair<double, double> pair_of(const Json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 2) refuse(fmt::format("{} = {}, must be two numbers", where, value.dump()));
  return {positive(value[0], where), positive(value[1], where)};
}

void check_source(const std::string& source, const Device& device, const std::string& where) {
  std::size_t begin = 0;
  while (begin <= source.size()) {
    const std::size_t end = std::min(source.find('+', begin), source.size());
    const std::string key = source.substr(begin, end - begin);
    const bool is_known = std::any_of(device.sources.begin(), device.sources.end(),
                                      [&](const auto& entry) { return entry.first == key; });
    if (!is_known) refuse(fmt::format("{}.source = \"{}\": sources has no \"{}\"", where, source, key));
    begin = end + 1;
  }
}

[[nodiscard]] Quantity quantity_of(const Json& object, const Device& device, const std::string& where) {
  Quantity out;
  out.value = positive(member(object, "value", where), where + ".value");
  out.source = text_of(object, "source", where);
  check_source(out.source, device, where);
  for (const auto& [key, value] : object.items()) {
    if (key == "value" || key == "source") continue;
    if (key == "uncertain" && value.is_boolean()) {
      out.is_uncertain = value.get<bool>();
    } else if (key == "note" && value.is_string()) {
      out.note = value.get<std::string>();
    } else if (key == "range") {
      out.range = pair_of(value, where + ".range");
      if (!(out.range->first <= out.value && out.value <= out.range->second))
        refuse(fmt::format("{}.range = {}, must hold value = {}", where, value.dump(), out.value));
    } else if (key == "by_size" && value.is_array() && !value.empty()) {
      for (const Json& point : value) {
        out.by_size.push_back(pair_of(point, where + ".by_size"));
        if (out.by_size.size() > 1 && out.by_size[out.by_size.size() - 2].first >= out.by_size.back().first)
          refuse(fmt::format("{}.by_size = {}, sizes must ascend", where, value.dump()));
      }
    } else {
      refuse(
          fmt::format("{}.{} = {} is not understood; allowed: value, source, uncertain (true or false), range, note, "
                      "by_size",
                      where, key, value.dump()));
    }
  }
  return out;
}

[[nodiscard]] std::string names_of_facts() {
  std::string out;
  for (const std::string_view name : Names<Fact>::kAll) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

void read_facts(const Json& object, const std::string& where, Device& device,
                std::array<std::optional<Quantity>, kNumFacts>& facts) {
  if (!object.is_object()) refuse(fmt::format("{} is no object", where));
  for (const auto& [key, value] : object.items()) {
    const std::optional<Fact> fact = named<Fact>(key);
    if (!fact) {
      refuse(fmt::format("{}.{} is unknown; allowed: {}", where, key, names_of_facts()));
    }
    facts[static_cast<std::size_t>(*fact)] = quantity_of(value, device, where + "." + key);
  }
}

/// 90 of "9.0", 103 of "10.3"
[[nodiscard]] int capability_of(const std::string& text, const std::string& where) {
  const std::size_t dot = text.find('.');
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 2 &&
           std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  if (dot == std::string::npos || !is_digits(text.substr(0, dot)) || !is_digits(text.substr(dot + 1)) ||
      text.size() != dot + 2)
    refuse(fmt::format("{} = \"{}\", must be as \"9.0\"", where, text));
  return std::stoi(text.substr(0, dot)) * 10 + std::stoi(text.substr(dot + 1));
}

[[nodiscard]] bool is_word(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (std::isalnum(c) != 0 && std::isupper(c) == 0) || c == '_' || c == '-';
  });
}

[[nodiscard]] Device device_of(const Json& json) {
  const std::string root = "description";
  const Json& format = member(json, "format", root);
  if (!format.is_number_integer() || format.get<std::int64_t>() != kFormat)
    refuse(fmt::format("format = {}, must be {}", format.dump(), kFormat));
  for (const auto& [key, value] : json.items()) {
    constexpr std::string_view kKeys[] = {"format",       "name",  "title",    "compute_capability",
                                          "driver_names", "sheet", "measured", "sources"};
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      refuse(
          fmt::format("{} is unknown; allowed: format, name, title, compute_capability, driver_names, sheet, measured, "
                      "sources",
                      key));
  }
  Device device;
  device.name = text_of(json, "name", root);
  if (!is_word(device.name))
    refuse(fmt::format("name = \"{}\", must be a word of small letters, digits, - and _", device.name));
  device.title = text_of(json, "title", root);
  device.compute_capability = capability_of(text_of(json, "compute_capability", root), "compute_capability");
  if (const auto names = json.find("driver_names"); names != json.end()) {
    for (const Json& name : *names) {
      if (!name.is_string()) refuse(fmt::format("driver_names = {}, must be texts", names->dump()));
      device.driver_names.push_back(name.get<std::string>());
    }
  }
  const Json& sources = member(json, "sources", root);
  if (!sources.is_object()) refuse("sources is no object");
  for (const auto& [key, value] : sources.items()) {
    if (!value.is_string()) refuse(fmt::format("sources.{} = {}, must be text", key, value.dump()));
    device.sources.emplace_back(key, value.get<std::string>());
  }
  read_facts(member(json, "sheet", root), "sheet", device, device.sheet);
  if (const auto measured = json.find("measured"); measured != json.end())
    read_facts(*measured, "measured", device, device.measured);
  for (const Fact fact : kRequired) {
    if (device.find_sheet(fact) == nullptr) refuse(fmt::format("sheet.{} is missing", to_string(fact)));
  }
  return device;
}

}  // namespace

const Quantity* Device::find_sheet(Fact fact) const {
  const auto& found = sheet[static_cast<std::size_t>(fact)];
  return found ? &*found : nullptr;
}

const Quantity* Device::find_measured(Fact fact) const {
  const auto& found = measured[static_cast<std::size_t>(fact)];
  return found ? &*found : nullptr;
}

Result<Device> parse_device(std::string_view text, std::string_view origin) {
  const auto invalid = [&](const std::string& message) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{}: {}", origin, message));
  };
  try {
    return device_of(Json::parse(text));
  } catch (const Defect& defect) {
    return invalid(defect.message);
  } catch (const Json::exception& error) {
    return invalid(fmt::format("no JSON: {}", error.what()));
  }
}

const std::vector<Device>& known_devices() {
  static constinit base::MadeOnce<std::vector<Device>> devices;
  return devices.get([] {
    std::vector<Device> out;
    for (const EmbeddedFile& file : embedded_devices()) {
      Result<Device> device = parse_device(file.text, file.name);
      if (device.ok()) out.push_back(std::move(device).value());  // a test finds those that are not
    }
    return out;
  });
}

const Device* find_device(std::string_view name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (name.starts_with(kMaker)) name.remove_prefix(kMaker.size());
  for (const Device& device : known_devices()) {
    if (device.name == name) return &device;
    if (std::find(device.driver_names.begin(), device.driver_names.end(), name) != device.driver_names.end())
      return &device;
  }
  return nullptr;
}

}  // namespace kizami::model
