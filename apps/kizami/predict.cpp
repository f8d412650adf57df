// SPDX-License-Identifier: MIT
// kizami predict: what a product would take on a device, by a model, without running it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration_note.hpp"
#include "check/text.hpp"
#include "commands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "kizami/calibrate.hpp"
#include "kizami/predict.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "roofline_picture.hpp"

namespace kizami::cli {
namespace {

using model::Device;
using model::Part;
using model::PhaseTime;
using model::Prediction;
using model::Request;

struct PredictOptions {
  std::string m, n, k;
  std::vector<std::string> devices;
  std::vector<std::string> schemes;
  std::string type = "f64";
  std::string sweep;
  std::string program;
  std::vector<std::string> slices;
  std::vector<std::string> moduli;
  std::string picture;
  std::string format;
  std::string complex_form = "auto";
  std::string slice_split = "truncated";
  std::string basis = "calibrated";
  std::vector<std::string> shares;
  std::string node, link, network, host, latency, home, parts;
  bool is_accurate = false;
  bool is_update = false;
  bool is_syrk = false;
  bool is_csv = false;
  bool is_json = false;
};

template <class E>
std::string names_of() {
  std::string out;
  for (const std::string_view name : Names<E>::kAll) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

template <class E>
E choice(std::string_view option, const std::string& text) {
  const std::optional<E> value = named<E>(text);
  if (!value) refuse_name(option, text, names_of<E>());
  return *value;
}

std::string names_of_devices() {
  std::string out;
  for (const Device& device : model::known_devices()) out += (out.empty() ? "" : ", ") + device.name;
  return out;
}

[[noreturn]] void refuse_device(const std::string& text, const std::string& what) {
  throw Failure(
      ExitCode::kUsage,
      fmt::format(
          "--device = {} {}; allowed: the number of a device of this machine, cpu, {}, or a file (docs/predict.md)",
          in_quotes(text), what, names_of_devices()));
}

Device device_in_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Failure(ExitCode::kBadInput, fmt::format("--device: {}: cannot be opened", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Result<Device> device = model::parse_device(text, path);
  if (!device.ok()) throw Failure(ExitCode::kBadInput, "--device: " + device.status().reason());
  return std::move(device).value();
}

Device device_of_machine(const std::string& text) {
  const auto number = static_cast<int>(integer_option("--device", text, 0, 1023));
  std::string name;
  try {
    name = device_name(number);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), fmt::format("{}; without one: {}, or a file", failure.what(), names_of_devices()));
  }
  use_device(number);
  const Result<std::string> calibrated = cuda::calibration_path();
  if (calibrated.ok() && std::ifstream(calibrated.value())) return device_in_file(calibrated.value());
  if (const Device* const device = model::find_device(name)) return *device;
  refuse_device(text, fmt::format("is an {}, of which there is no description; kizami calibrate makes one", name));
}

/// Of which nothing is known but what the planner knows.
bool is_processor(const Device& device) { return device.find_sheet(model::Fact::kSms) == nullptr; }

Device device_of(const std::string& text) {
  if (text == kProcessor) {
    Device processor;
    processor.name = text;
    note_unused_calibration();
    return processor;
  }
  const bool is_number = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) return device_of_machine(text);
  if (const Device* const device = model::find_device(text)) return *device;
  if (text.ends_with(".json") || text.find('/') != std::string::npos) return device_in_file(text);
  refuse_device(text, "is unknown");
}

struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// "256:32768": 256, 512, ..., 32768
std::vector<Shape> shapes_of(const PredictOptions& options) {
  const bool has_extents = !options.m.empty();
  if (has_extents == !options.sweep.empty())
    throw Failure(ExitCode::kUsage, "either M N K, or --sweep FROM:TO for squares");
  if (has_extents) {
    if (options.k.empty()) throw Failure(ExitCode::kUsage, "M N K are three extents");
    return {{integer_option("M", options.m, 1, kDimLimit - 1), integer_option("N", options.n, 1, kDimLimit - 1),
             integer_option("K", options.k, 1, kDimLimit - 1)}};
  }
  const std::size_t colon = options.sweep.find(':');
  if (colon == std::string::npos)
    throw Failure(ExitCode::kUsage, fmt::format("--sweep = {}, must be FROM:TO", in_quotes(options.sweep)));
  const std::int64_t first = integer_option("--sweep", options.sweep.substr(0, colon), 1, kDimLimit - 1);
  const std::int64_t last = integer_option("--sweep", options.sweep.substr(colon + 1), first, kDimLimit - 1);
  std::vector<Shape> out;
  for (std::int64_t n = first; n <= last; n *= 2) out.push_back({n, n, n});
  return out;
}

struct Row {
  const Device* device;
  Request request;
  Prediction prediction;
};

std::vector<std::string> schemes_of(const PredictOptions& options) {
  if (!options.schemes.empty()) return options.schemes;
  return options.is_syrk ? std::vector<std::string>{"ozaki2"} : std::vector<std::string>{"native", "ozaki2"};
}

bool is_sliced(model::Way way) {
  return way == model::Way::kOzimmu || way == model::Way::kEf || way == model::Way::kEfS || way == model::Way::kEfL;
}

std::vector<int> integers_of(std::string_view option, const std::vector<std::string>& texts, int last) {
  std::vector<int> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(static_cast<int>(integer_option(option, text, 1, last)));
  return out;
}

/// One request for each number of slices, or of moduli, that was asked for.
std::vector<Request> counted(const PredictOptions& options, const Request& request) {
  const std::vector<int> slices = integers_of("--slices", options.slices, 20);
  const std::vector<int> moduli = integers_of("--moduli", options.moduli, 24);
  std::vector<Request> out;
  if (is_sliced(request.way)) {
    for (const int count : slices) out.emplace_back(request).slices = count;
  } else if (request.way == model::Way::kOzaki2) {
    for (const int count : moduli) out.emplace_back(request).moduli = count;
  }
  return out.empty() ? std::vector<Request>{request} : out;
}

bool has_byte_digits(const PredictOptions& options) {
  if (options.slice_split == "bytes") return true;
  if (options.slice_split == "truncated") return false;
  refuse_name("--slice-split", options.slice_split, "truncated, bytes");
}

Request request_of(const PredictOptions& options, const std::string& scheme, const Shape& shape) {
  Request request;
  request.scalar = choice<Scalar>("--type", options.type);
  request.m = shape.m;
  request.n = shape.n;
  request.k = shape.k;
  request.way = choice<model::Way>("--scheme", scheme);
  if (!options.program.empty()) request.program = choice<model::ProgramName>("--program", options.program);
  request.basis = choice<model::Basis>("--basis", options.basis);
  const std::string usual = request.way == model::Way::kEc ? "fp16" : "int8";
  request.format = choice<model::Format>("--format", options.format.empty() ? usual : options.format);
  request.is_accurate = options.is_accurate;
  request.is_update = options.is_update;
  request.is_triangle = options.is_syrk;
  request.complex_form = choice<model::ComplexForm>("--complex-form", options.complex_form);
  request.has_byte_digits = has_byte_digits(options);
  return request;
}

std::vector<Row> rows_of(const PredictOptions& options, const std::vector<Device>& devices) {
  std::vector<Row> out;
  for (const Shape& shape : shapes_of(options)) {
    for (const Device& device : devices) {
      for (const std::string& scheme : schemes_of(options)) {
        for (const Request& request : counted(options, request_of(options, scheme, shape))) {
          Result<Prediction> made =
              is_processor(device) ? predict_on_processor(request) : model::predict(device, request);
          throw_if_error(made.status());
          out.push_back({&device, request, std::move(made).value()});
        }
      }
    }
  }
  return out;
}

std::string in_time(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

/// The roof that holds the whole longest.
model::Roof roof_of(const Prediction& prediction) {
  PhaseTime all;
  for (const PhaseTime& phase : prediction.phases) all.add(phase);
  return all.roof();
}

std::string_view operation_of(const Request& request) { return request.is_triangle ? "syrk" : "gemm"; }

nlohmann::ordered_json json_of(const Row& row) {
  const Prediction& p = row.prediction;
  nlohmann::ordered_json out;
  out["device"] = row.device->name;
  out["operation"] = operation_of(row.request);
  out["type"] = to_string(row.request.scalar);
  out["m"] = row.request.m;
  out["n"] = row.request.n;
  out["k"] = row.request.k;
  out["scheme"] = to_string(row.request.way);
  out["program"] = p.program;
  out["basis"] = to_string(row.request.basis);
  out["complex_form"] = p.complex_form;
  out["quadrants"] = p.has_quadrants;
  out["products"] = p.products;
  out["accumulators"] = p.accumulators;
  out["seconds"] = p.seconds;
  out["tflops"] = p.tflops;
  out["bound_tflops"] = p.bound_tflops;
  out["computation_seconds"] = p.seconds_of(Part::kComputation);
  out["data_handling_seconds"] = p.seconds_of(Part::kDataHandling);
  out["roof"] = to_string(roof_of(p));
  out["sustained_seconds"] = p.sustained_seconds ? nlohmann::ordered_json(*p.sustained_seconds) : nullptr;
  out["joules"] = p.joules ? nlohmann::ordered_json(*p.joules) : nullptr;
  out["phases"] = nlohmann::ordered_json::array();
  for (const PhaseTime& phase : p.phases) {
    nlohmann::ordered_json roofs;
    for (std::size_t r = 0; r < model::kNumRoofs; ++r) {
      if (phase.of_roof[r] > 0) roofs[std::string(to_string(static_cast<model::Roof>(r)))] = phase.of_roof[r];
    }
    out["phases"].push_back({{"phase", phase.phase},
                             {"part", to_string(phase.part)},
                             {"seconds", phase.seconds},
                             {"roof", to_string(phase.roof())},
                             {"seconds_of_roof", roofs}});
  }
  out["doubts"] = p.doubts;
  return out;
}

std::string in_words(const Row& row) {
  const Prediction& p = row.prediction;
  std::string title = std::string(to_string(row.request.way));
  if (!p.program.empty()) title += ", program " + p.program;
  if (!p.complex_form.empty()) title += ", " + p.complex_form;
  if (p.has_quadrants) title += ", of quadrants (Strassen)";
  if (row.request.is_triangle) title += ", one triangle";
  std::string out =
      fmt::format("{}: {} ({} real product{})\n", row.device->name, title, p.products, p.products == 1 ? "" : "s");
  for (const Part part : {Part::kComputation, Part::kDataHandling}) {
    if (p.seconds_of(part) == 0) continue;
    out += fmt::format("  {:<18} {:>12}\n", to_string(part), in_time(p.seconds_of(part)));
    for (const PhaseTime& phase : p.phases) {
      if (phase.part != part) continue;
      out +=
          fmt::format("    {:<16} {:>12}  held by {}\n", phase.phase, in_time(phase.seconds), to_string(phase.roof()));
    }
  }
  const bool is_small = p.tflops < 1;
  const double unit = is_small ? 1e3 : 1;
  out += fmt::format("  {:<18} {:>12}  {:.1f} {}; products alone allow {:.1f}\n", "total", in_time(p.seconds),
                     p.tflops * unit, is_small ? "GFLOPS" : "TFLOPS", p.bound_tflops * unit);
  if (p.sustained_seconds) {
    out += fmt::format("  {:<18} {:>12}  {:.1f} TFLOPS", "minutes into a run", in_time(*p.sustained_seconds),
                       p.tflops * p.seconds / *p.sustained_seconds);
    out += p.joules ? fmt::format(", {:.3g} J\n", *p.joules) : "\n";
  }
  for (const std::string& doubt : p.doubts) out += fmt::format("  in doubt: {}\n", doubt);
  return out;
}

/// Rows of cells, each padded; or as CSV.
std::string padded(const std::vector<std::vector<std::string>>& cells, bool is_csv) {
  std::vector<std::size_t> widths(cells.front().size());
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const auto& line : cells) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (c > 0) text += is_csv ? "," : "  ";
      text += is_csv ? line[c] : fmt::format("{:<{}}", line[c], widths[c]);
    }
    while (text.ends_with(' ')) text.pop_back();
    out += text + "\n";
  }
  return out;
}

std::string as_table(const std::vector<Row>& rows, bool is_csv) {
  std::vector<std::vector<std::string>> cells = {{"device", "scheme", "products", "m", "n", "k", "ms", "tflops",
                                                  "computation_ms", "data_handling_ms", "roof", "bound_tflops"}};
  for (const Row& row : rows) {
    const Prediction& p = row.prediction;
    const auto ms = [](double seconds) { return fmt::format("{:.4g}", seconds * 1e3); };
    cells.push_back({row.device->name, std::string(to_string(row.request.way)), fmt::format("{}", p.products),
                     fmt::format("{}", row.request.m), fmt::format("{}", row.request.n),
                     fmt::format("{}", row.request.k), ms(p.seconds), fmt::format("{:.4g}", p.tflops),
                     ms(p.seconds_of(Part::kComputation)), ms(p.seconds_of(Part::kDataHandling)),
                     std::string(to_string(roof_of(p))), fmt::format("{:.4g}", p.bound_tflops)});
  }
  return padded(cells, is_csv);
}

/// Operations for each byte of A, B and C.
double intensity_of(const Row& row) {
  const Request& r = row.request;
  const auto m = static_cast<double>(r.m);
  const auto n = static_cast<double>(r.n);
  const auto k = static_cast<double>(r.k);
  const double elements = r.is_triangle ? n * k + 0.5 * n * n : m * k + k * n + m * n;
  const double bytes = static_cast<double>(size_bytes(r.scalar)) * elements;
  return row.prediction.tflops * 1e12 * row.prediction.seconds / bytes;
}

/// Of each device, scheme and number of planes the rate, and its two roofs: what products alone allow, and data handling.
std::vector<PictureLine> lines_of(const std::vector<Row>& rows) {
  std::vector<PictureLine> out;
  const auto add = [&](const std::string& name, LineKind kind, double x, double y) {
    auto line = std::ranges::find_if(out, [&](const PictureLine& l) { return l.name == name && l.kind == kind; });
    if (line == out.end()) line = out.insert(out.end(), {name, kind, {}});
    line->points.emplace_back(x, y);
  };
  for (const Row& row : rows) {
    const Prediction& p = row.prediction;
    std::string name = fmt::format("{} {}", row.device->name, to_string(row.request.way));
    if (row.request.way != model::Way::kNative) name += fmt::format(", {} products", p.products);
    const double x = intensity_of(row);
    add(name, LineKind::kRate, x, p.tflops);
    add(name, LineKind::kProductRoof, x, p.bound_tflops);
    if (const double data = p.seconds_of(Part::kDataHandling); data > 0)
      add(name, LineKind::kDataRoof, x, p.tflops * p.seconds / data);
  }
  return out;
}

// ---- several devices -----------------------------------------------------------------------------------------------

struct SharedRow {
  const Device* device;
  Request request;
  model::Cluster cluster;
  model::SharedPrediction prediction;
};

bool is_shared(const PredictOptions& options) {
  if (!options.shares.empty()) return true;
  for (const auto& [option, text] : {std::pair("--node", &options.node),
                                     {"--link", &options.link},
                                     {"--network", &options.network},
                                     {"--host", &options.host},
                                     {"--latency", &options.latency},
                                     {"--from", &options.home},
                                     {"--parts", &options.parts}}) {
    if (!text->empty()) throw Failure(ExitCode::kUsage, fmt::format("{} goes with --share", option));
  }
  return false;
}

double number_option(std::string_view option, const std::string& text, double otherwise) {
  if (text.empty()) return otherwise;
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size())
    throw Failure(ExitCode::kUsage, fmt::format("{} = {}, must be a number", option, in_quotes(text)));
  return value;
}

std::vector<SharedRow> shared_rows_of(const PredictOptions& options, const std::vector<Row>& rows) {
  std::vector<SharedRow> out;
  for (const Row& row : rows) {
    if (is_processor(*row.device)) throw Failure(ExitCode::kUsage, "--share is of GPUs, not of --device cpu");
    for (const std::string& share : options.shares) {
      model::Cluster cluster;
      cluster.devices = static_cast<int>(integer_option("--share", share, 1, 1 << 20));
      if (!options.node.empty())
        cluster.devices_of_node = static_cast<int>(integer_option("--node", options.node, 1, 1 << 20));
      cluster.link_gbs = number_option("--link", options.link, cluster.link_gbs);
      cluster.network_gbs = number_option("--network", options.network, cluster.network_gbs);
      cluster.host_gbs = number_option("--host", options.host, cluster.host_gbs);
      cluster.latency_us = number_option("--latency", options.latency, cluster.latency_us);
      if (!options.home.empty()) cluster.home = choice<model::Home>("--from", options.home);
      if (!options.parts.empty()) cluster.parts = static_cast<int>(integer_option("--parts", options.parts, 1, 64));
      Result<model::SharedPrediction> made = model::predict_shared(*row.device, row.request, cluster);
      throw_if_error(made.status());
      out.push_back({row.device, row.request, cluster, std::move(made).value()});
    }
  }
  return out;
}

nlohmann::ordered_json json_of(const SharedRow& row) {
  const model::SharedPrediction& p = row.prediction;
  nlohmann::ordered_json alone;
  nlohmann::ordered_json exposed;
  for (std::size_t i = 0; i < model::kNumLimits; ++i) {
    const std::string name(to_string(static_cast<model::Limit>(i)));
    alone[name] = p.of_limit[i];
    exposed[name] = p.seconds_of[i];
  }
  nlohmann::ordered_json grid;
  if (!row.request.is_triangle) grid = {p.grid_rows, p.grid_cols};
  return {{"device", row.device->name},
          {"devices", row.cluster.devices},
          {"devices_of_node", row.cluster.devices_of_node},
          {"from", to_string(row.cluster.home)},
          {"operation", operation_of(row.request)},
          {"type", to_string(row.request.scalar)},
          {"scheme", to_string(row.request.way)},
          {"m", row.request.m},
          {"n", row.request.n},
          {"k", row.request.k},
          {"grid", grid},
          {"block", {p.block_rows, p.block_cols}},
          {"parts", p.parts},
          {"seconds", p.seconds},
          {"tflops", p.tflops},
          {"efficiency", p.efficiency},
          {"limit", to_string(p.limit())},
          {"gb_in", p.bytes_in * 1e-9},
          {"seconds_alone", alone},
          {"seconds_exposed", exposed}};
}

std::string as_table(const std::vector<SharedRow>& rows, bool is_csv) {
  std::vector<std::vector<std::string>> cells = {{"device", "scheme", "m", "n", "k", "devices", "grid", "parts", "ms",
                                                  "tflops", "efficiency", "gb_in", "products_ms", "travel_ms",
                                                  "agreement_ms", "limit"}};
  for (const SharedRow& row : rows) {
    const model::SharedPrediction& p = row.prediction;
    const std::string grid = row.request.is_triangle ? "triangle" : fmt::format("{}x{}", p.grid_rows, p.grid_cols);
    const auto ms = [](double seconds) { return fmt::format("{:.4g}", seconds * 1e3); };
    const auto of = [&](model::Limit limit) { return p.seconds_of[static_cast<std::size_t>(limit)]; };
    cells.push_back({row.device->name, std::string(to_string(row.request.way)), fmt::format("{}", row.request.m),
                     fmt::format("{}", row.request.n), fmt::format("{}", row.request.k),
                     fmt::format("{}", row.cluster.devices), grid, fmt::format("{}", p.parts), ms(p.seconds),
                     fmt::format("{:.4g}", p.tflops), fmt::format("{:.2f}", p.efficiency),
                     fmt::format("{:.3g}", p.bytes_in * 1e-9), ms(of(model::Limit::kProducts)),
                     ms(p.seconds - of(model::Limit::kProducts) - of(model::Limit::kAgreement)),
                     ms(of(model::Limit::kAgreement)), std::string(to_string(p.limit()))});
  }
  return padded(cells, is_csv);
}

void draw(const PredictOptions& options, const std::vector<Row>& rows) {
  const std::string text =
      roofline_picture(lines_of(rows), fmt::format("kizami predict, {}: a model, nothing is measured", options.type));
  OutputFile file(options.picture, text.size());
  file.write(text);
  file.commit();
}

ExitCode run_predict(const PredictOptions& options) {
  if (!options.picture.empty() && !options.shares.empty())
    throw Failure(ExitCode::kUsage, "--picture and --share exclude each other");
  if (!options.picture.empty() && options.sweep.empty()) throw Failure(ExitCode::kUsage, "--picture goes with --sweep");
  if (options.is_csv && options.is_json) throw Failure(ExitCode::kUsage, "--csv and --json exclude each other");
  std::vector<Device> devices;
  for (const std::string& text : options.devices) devices.push_back(device_of(text));
  const std::vector<Row> rows = rows_of(options, devices);
  if (!options.picture.empty()) draw(options, rows);
  std::string out;
  if (is_shared(options)) {
    const std::vector<SharedRow> shared = shared_rows_of(options, rows);
    if (!options.is_json) out = as_table(shared, options.is_csv);
    for (const SharedRow& row : shared) out += options.is_json ? json_of(row).dump() + "\n" : "";
  } else if (options.is_json) {
    for (const Row& row : rows) out += json_of(row).dump() + "\n";
  } else if (options.is_csv || !options.sweep.empty()) {
    out = as_table(rows, options.is_csv);
  } else {
    out = fmt::format("{} {}{} x {} x {}, predicted by a model and not measured\n", options.type,
                      options.is_syrk ? "syrk " : "", options.m, options.n, options.k);
    for (const Row& row : rows) out += in_words(row);
  }
  write_stdout(out);
  return ExitCode::kOk;
}

}  // namespace

Command add_predict(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("predict",
                                               "print what a product of M x K by K x N would take on a device, by a "
                                               "performance model: seconds by phase, and the roof that "
                                               "holds each. A reconstruction (docs/predict.md)");
  const auto options = std::make_shared<PredictOptions>();
  app->add_option("M", options->m, "rows of C")->type_name("");
  app->add_option("N", options->n, "columns of C")->type_name("");
  app->add_option("K", options->k, "inner dimension")->type_name("");
  app->add_option("--device", options->devices,
                  "device, or several behind commas: the number of one of this machine, cpu (its processor, as the "
                  "planner has it), a file, or one of " +
                      names_of_devices() + " [0]")
      ->delimiter(',')
      ->type_name("N|cpu|NAME|FILE");
  app->add_option("--scheme", options->schemes,
                  "one or several of " + names_of<model::Way>() + "; ozimmu to ef_l are slices of INT8 [native,ozaki2]")
      ->delimiter(',')
      ->type_name("S");
  app->add_option("--type", options->type, "type of the elements [f64]")->type_name("f32|f64|c64|c128");
  app->add_option("--sweep", options->sweep, "instead of M N K: squares from one n to another, doubled")
      ->type_name("FROM:TO");
  app->add_option("--program", options->program,
                  "whose kernels: kizami (compute capability 9.0), portable (Kizami by cuBLASLt), gemmul8, documents "
                  "(ozIMMU and "
                  "its kin over cuBLAS) [kizami where it runs, else portable]")
      ->type_name("P");
  app->add_option("--slices", options->slices, "slices of an operand, or several numbers behind commas [7]")
      ->delimiter(',')
      ->type_name("N");
  app->add_option("--moduli", options->moduli, "moduli of ozaki2, or several [14; 15 complex; 7 of FP32]")
      ->delimiter(',')
      ->type_name("N");
  app->add_option("--format", options->format, "what is multiplied: int8 or fp8 by ozaki2, fp16 or tf32 by ec")
      ->type_name("F");
  app->add_option("--complex-form", options->complex_form, "of slices [auto: the fastest]")
      ->type_name("auto|karatsuba|enlarged|four");
  app->add_option("--slice-split", options->slice_split,
                  "of slices: digits as the documents have them, or as Kizami makes them unasked [truncated]")
      ->type_name("truncated|bytes");
  app->add_option("--basis", options->basis,
                  "what of a description counts: calibrated takes measured rates before the sheet's [calibrated]")
      ->type_name("sheet|calibrated");
  app->add_option("--share", options->shares, "the product is shared by so many devices, or several numbers of them")
      ->delimiter(',')
      ->type_name("P");
  app->add_option("--node", options->node, "devices of a node [8]")->type_name("N");
  app->add_option("--link", options->link, "GB/s between devices of a node, each way [392]")->type_name("GB/S");
  app->add_option("--network", options->network, "GB/s of a device to other nodes, each way [50]")->type_name("GB/S");
  app->add_option("--host", options->host, "GB/s of a device from page-locked memory, each way [50]")
      ->type_name("GB/S");
  app->add_option("--latency", options->latency, "microseconds of a message between nodes [5]")->type_name("US");
  app->add_option("--from", options->home, "where the matrices of a shared product are [pieces]")
      ->type_name("pieces|device|host");
  app->add_option("--parts", options->parts, "of a device's block [4; 1 across nodes]")->type_name("Q");
  app->add_option("--picture", options->picture, "draw the roofline of a sweep: an SVG file")->type_name("FILE");
  app->add_flag("--syrk", options->is_syrk, "one triangle of C <- A A^T, M = N, by ozaki2; N N K operations");
  app->add_flag("--update", options->is_update, "beta is not 0: C is read, too");
  app->add_flag("--accurate", options->is_accurate, "gemmul8: scaling by a product of its own");
  app->add_flag("--csv", options->is_csv, "print a line of CSV for each prediction");
  app->add_flag("--json", options->is_json, "print a JSON object for each prediction");
  app->footer(
      "\nExamples:\n  kizami predict 8192 8192 8192 --device h200,gb200 --scheme native,ozaki2,ef_s\n"
      "  kizami predict 2000 2000 2000 --device cpu --type c128\n"
      "  kizami predict --sweep 256:32768 --device h200 --scheme native,ef_s --slices 3,5,7 --csv --picture "
      "roofline.svg\n"
      "  kizami predict 32768 32768 32768 --device h200 --scheme ozaki2 --share 1,2,4,8\n");
  return {app, [options] {
            if (options->devices.empty()) options->devices = {"0"};
            return run_predict(*options);
          }};
}

}  // namespace kizami::cli
