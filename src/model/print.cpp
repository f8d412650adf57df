// SPDX-License-Identifier: MIT
#include "model/print.hpp"

#include <nlohmann/json.hpp>

namespace kizami::model {
namespace {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json json_of(const Quantity& quantity) {
  Json out;
  out["value"] = quantity.value;
  out["source"] = quantity.source;
  if (quantity.is_uncertain) out["uncertain"] = true;
  if (quantity.range) out["range"] = {quantity.range->first, quantity.range->second};
  if (!quantity.note.empty()) out["note"] = quantity.note;
  for (const auto& [n, rate] : quantity.by_size) out["by_size"].push_back({n, rate});
  return out;
}

[[nodiscard]] Json json_of(const std::array<std::optional<Quantity>, kNumFacts>& facts) {
  Json out = Json::object();
  for (std::size_t f = 0; f < kNumFacts; ++f) {
    if (facts[f]) out[std::string(Names<Fact>::kAll[f])] = json_of(*facts[f]);
  }
  return out;
}

}  // namespace

std::string print_device(const Device& device) {
  Json out;
  out["format"] = 1;
  out["name"] = device.name;
  out["title"] = device.title;
  out["compute_capability"] =
      std::to_string(device.compute_capability / 10) + "." + std::to_string(device.compute_capability % 10);
  out["driver_names"] = device.driver_names;
  out["sheet"] = json_of(device.sheet);
  out["measured"] = json_of(device.measured);
  out["sources"] = Json::object();
  for (const auto& [key, text] : device.sources) out["sources"][key] = text;
  return out.dump(2) + "\n";
}

}  // namespace kizami::model
