// SPDX-License-Identifier: MIT
// kizami_study: repeats the experiments of a document and judges its claims. One file a table or figure, and a summary.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "check/text.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "model.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "ozaki.hpp"
#include "program.hpp"
#include "sgemm.hpp"
#include "sgemm_device.hpp"
#include "tile.hpp"
#include "tile_host.hpp"
#include "tile_slices.hpp"

namespace kizami::study {
namespace {

struct StudyOptions {
  std::string subject;
  std::string output = ".";
  std::string max_k = "65536";
  std::string seeds = "8";
  std::string max_n;
  std::string threads = "1";
  std::string gpu_results;
  std::string gpu_errors;
  std::string slices_results;
  std::string spread_results;
  std::string report_results;
  std::string published;
  std::vector<std::string> records;
};

constexpr std::size_t kColumns = 8;

void write_file(const std::filesystem::path& path, const std::string& text) {
  cli::OutputFile file(path.string(), text.size());
  file.write(text);
  file.commit();
}

/// What a part that was not measured would have been measured by.
std::string measured_by(const std::string& program, const std::string& device, const std::string& option) {
  return device.empty() ? fmt::format("missing: `{}` measures it, and `{}` takes what it prints", program, option)
                        : fmt::format("measured by `{}`: {}", program, device);
}

std::string summary_of(const SgemmStudy& study, const SgemmStudySize& size, const std::optional<SgemmSpeed>& speed,
                       const std::optional<SgemmErrors>& errors, const std::vector<StudyTable>& tables) {
  std::string out = fmt::format(
      "# Study of error-corrected SGEMM\n\n"
      "kizami {}, `kizami_study sgemm --max-k {} --seeds {}{}{}`. Products are those of the software tensor core, but "
      "for figures of a device.\n\n- figure 9 (speed): {}.\n- errors on a device: {}.\n\n"
      "Errors are ||C64 - C32|| / ||C64|| (Frobenius), means over the seeds; the CSV files also have the largest "
      "|error| / (|A||B|).\n\n## Claims\n\n",
      version(), size.max_k, size.num_seeds, speed ? " --gpu-results FILE" : "", errors ? " --gpu-errors FILE" : "",
      measured_by("bench_gpu_ec", speed ? speed->device : "", "--gpu-results"),
      measured_by("bench_gpu_ec_errors", errors ? errors->device : "", "--gpu-errors"));
  out += as_markdown(study.claims);
  for (const StudyTable& table : tables)
    out += fmt::format("\n## {}\n\n{}\n\n{}", table.name, table.caption, as_markdown(table));
  for (const StudyFigure& figure : study.figures)
    out += fmt::format("\n## {}\n\n{}\n\n{}", figure.name, figure.caption, as_markdown(figure, kColumns));
  return out;
}

std::string section_of(const StudyTable& table) {
  return fmt::format("\n## {}\n\n{}.\n\n{}", table.name, table.caption, as_markdown(table));
}

std::string summary_of(const TileHostStudy& host, const std::optional<TileStudy>& gemm,
                       const std::optional<TileSlicesStudy>& slices, const std::vector<Claim>& claims) {
  std::string out = fmt::format(
      "# Study of CUDA Tile kernels\n\nkizami {}, `kizami_study tile`.\n\n"
      "- host: GEMM by the host implementation on a processor, measured here: {}.\n"
      "- gemm: GEMM on a GPU, {}.\n"
      "- slices: FP64 products from BF16 slices on a GPU, {}.\n\n## Claims\n\n",
      version(), host.machine, measured_by("bench_gpu_tile", gemm ? gemm->device : "", "--gpu-results"),
      measured_by("bench_gpu_tile_slices", slices ? slices->device : "", "--slices-results"));
  out += as_markdown(claims);
  if (gemm) out += section_of(gemm->gemm);
  if (slices) out += section_of(slices->slices);
  return out + fmt::format("\n## {}\n\n{}. The fastest tiles.\n\n{}", host.host.name, host.host.caption,
                           as_markdown(host.speed, kColumns));
}

std::string summary_of(const OzakiStudy& study, const std::string& max_n) {
  std::string out = fmt::format(
      "# Study of the Ozaki scheme in slices\n\nkizami {}, `kizami_study ozaki --max-n {}`. Accuracy is measured on a "
      "processor, floating slices with the software tensor core, against exact products; seconds are of the call "
      "there. "
      "{}\n\n## Claims\n\n",
      version(), max_n,
      study.device.empty()
          ? "Figures of a device are missing: `bench_gpu_slices` measures them, and `--gpu-results` takes what it "
            "prints."
          : fmt::format(
                "Figures of a device were measured by `bench_gpu_slices`, native cuBLAS beside them: {}. What the "
                "report says of tile kernels is judged by `kizami_study tile`.",
                study.device));
  if (!study.report_device.empty())
    out.insert(out.find("\n\n## Claims"), fmt::format(" The report's code on a device was measured by "
                                                      "`bench_gpu_report_slices`: {}.",
                                                      study.report_device));
  out += as_markdown(study.claims);
  for (const StudyTable& table : study.tables)
    out += fmt::format("\n## {}\n\n{}.\n\n{}", table.name, table.caption, as_markdown(table));
  for (const StudyFigure& figure : study.figures)
    out += fmt::format("\n## {}\n\n{}.\n\n{}", figure.name, figure.caption, as_markdown(figure, kColumns));
  return out;
}

/// The folder of -o. @throws Failure kOutputFailed
std::filesystem::path output_folder(const StudyOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.output, error)) {
    throw cli::Failure(cli::ExitCode::kOutputFailed,
                       fmt::format("-o = {} is no folder, must be one that exists", in_quotes(options.output)));
  }
  return options.output;
}

std::ifstream open_records(const std::string& path) {
  std::ifstream records(path);
  if (!records) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be opened", path));
  return records;
}

cli::ExitCode run_sgemm(const StudyOptions& options) {
  SgemmStudySize size;
  size.max_k = cli::integer_option("--max-k", options.max_k, 256, 1 << 20);
  if (!std::has_single_bit(static_cast<std::uint64_t>(size.max_k)))
    throw cli::Failure(cli::ExitCode::kUsage, fmt::format("--max-k = {}, must be a power of two", size.max_k));
  size.num_seeds = static_cast<int>(cli::integer_option("--seeds", options.seeds, 1, 1000));
  const std::filesystem::path folder = output_folder(options);
  std::optional<SgemmSpeed> speed;
  std::optional<SgemmErrors> errors;
  if (!options.gpu_results.empty()) {
    std::ifstream records = open_records(options.gpu_results);
    speed = study_sgemm_speed(records, options.gpu_results);
  }
  if (!options.gpu_errors.empty()) {
    std::ifstream records = open_records(options.gpu_errors);
    errors = study_sgemm_errors(records, options.gpu_errors);
  }
  SgemmStudy study = study_sgemm(size);
  std::vector<StudyTable> tables = {study.table_1.table};
  if (speed && errors) tables.push_back(sgemm_table_2(*errors, *speed));
  const auto add = [&](const auto& part) {
    if (!part) return;
    study.figures.insert(study.figures.end(), part->figures.begin(), part->figures.end());
    study.claims.insert(study.claims.end(), part->claims.begin(), part->claims.end());
  };
  add(errors);
  add(speed);
  for (const StudyTable& table : tables) write_file(folder / (table.name + ".csv"), as_csv(table));
  for (const StudyFigure& figure : study.figures) write_file(folder / (figure.name + ".csv"), as_csv(as_table(figure)));
  write_file(folder / "study.md", summary_of(study, size, speed, errors, tables));
  cli::write_stdout(as_markdown(study.claims));
  return cli::ExitCode::kOk;
}

void append(std::vector<Claim>& claims, std::vector<Claim>&& more) {
  std::move(more.begin(), more.end(), std::back_inserter(claims));
}

cli::ExitCode run_tile(const StudyOptions& options) {
  const std::int64_t max_n = cli::integer_option("--max-n", options.max_n.empty() ? "512" : options.max_n, 64, 2048);
  const auto threads = static_cast<int>(cli::integer_option("--threads", options.threads, 1, 1024));
  const std::filesystem::path folder = output_folder(options);
  std::vector<StudyTable> tables;
  std::vector<Claim> claims;
  std::optional<TileStudy> gemm;
  std::optional<TileSlicesStudy> slices;
  if (!options.gpu_results.empty()) {
    std::ifstream records = open_records(options.gpu_results);
    gemm = study_tile(records, options.gpu_results);
    tables.insert(tables.end(), {gemm->gemm, gemm->variants, as_table(gemm->speed)});
    append(claims, std::move(gemm->claims));
  }
  if (!options.slices_results.empty()) {
    std::ifstream records = open_records(options.slices_results);
    slices = study_tile_slices(records, options.slices_results, gemm ? &*gemm : nullptr);
    tables.insert(tables.end(), {slices->slices, slices->variants, as_table(slices->speed)});
    append(claims, std::move(slices->claims));
  }
  if (!options.spread_results.empty()) {
    std::ifstream records = open_records(options.spread_results);
    TileSpreadStudy spread = study_tile_spread(records, options.spread_results);
    tables.push_back(spread.spread);
    append(claims, std::move(spread.claims));
  }
  TileHostStudy host = study_tile_host(max_n, threads);
  tables.insert(tables.end(), {host.host, as_table(host.speed)});
  append(claims, std::move(host.claims));
  for (const StudyTable& table : tables) write_file(folder / (table.name + ".csv"), as_csv(table));
  write_file(folder / "study.md", summary_of(host, gemm, slices, claims));
  cli::write_stdout(as_markdown(claims));
  return cli::ExitCode::kOk;
}

cli::ExitCode run_ozaki(const StudyOptions& options) {
  const std::string max_n_text = options.max_n.empty() ? "64" : options.max_n;
  const std::int64_t max_n = cli::integer_option("--max-n", max_n_text, 16, 4096);
  const std::filesystem::path folder = output_folder(options);
  std::optional<std::ifstream> records;
  if (!options.gpu_results.empty()) records = open_records(options.gpu_results);
  std::optional<std::ifstream> report_records;
  if (!options.report_results.empty()) report_records = open_records(options.report_results);
  OzakiStudy study = study_ozaki(measure_ozaki(max_n, (folder / "measured.jsonl").string()));
  std::vector<ReportProduct> report = measure_report(max_n);
  if (report_records) study.report_device = read_report(*report_records, options.report_results, report);
  add_report(report, study);
  if (records) add_ozaki_device(*records, options.gpu_results, study);
  for (const StudyTable& table : study.tables) write_file(folder / (table.name + ".csv"), as_csv(table));
  for (const StudyFigure& figure : study.figures) write_file(folder / (figure.name + ".csv"), as_csv(as_table(figure)));
  write_file(folder / "study.md", summary_of(study, max_n_text));
  cli::write_stdout(as_markdown(study.claims));
  return cli::ExitCode::kOk;
}

std::string summary_of(const ModelStudy& study) {
  std::string out = fmt::format(
      "# Study of the performance model\n\nkizami {}, `kizami_study model`. Kinds of rows: P, the sheet of a card and "
      "constants of another; C, also what "
      "was measured of the card by other programs; F, constants fitted to the call; J, constants of the same card, "
      "fitted to "
      "other calls.\n\n## Claims\n\n",
      version());
  out += as_markdown(study.claims);
  for (const StudyTable& table : study.summaries) out += section_of(table);
  for (const StudyFigure& figure : study.figures)
    out += fmt::format("\n## {}\n\n{}.\n\n{}", figure.name, figure.caption, as_markdown(figure, kColumns));
  return out;
}

cli::ExitCode run_model(const StudyOptions& options) {
  if (options.published.empty())
    throw cli::Failure(cli::ExitCode::kUsage, "model needs --published FILE: lab/results/published/gemmul8.jsonl");
  const std::filesystem::path folder = output_folder(options);
  std::ifstream lines = open_records(options.published);
  const std::vector<ModelRow> published = published_rows(lines, options.published);
  OwnRows own;
  for (const std::string& path : options.records) {
    std::ifstream records = open_records(path);
    own.read(records, path);
  }
  const ModelStudy study = study_model(published, own.rows());
  for (const auto* tables : {&study.summaries, &study.rows}) {
    for (const StudyTable& table : *tables) write_file(folder / (table.name + ".csv"), as_csv(table));
  }
  for (const StudyFigure& figure : study.figures) write_file(folder / (figure.name + ".csv"), as_csv(as_table(figure)));
  write_file(folder / "study.md", summary_of(study));
  cli::write_stdout(as_markdown(study.claims));
  return cli::ExitCode::kOk;
}

cli::ExitCode run_study(const StudyOptions& options) {
  if (options.subject == "sgemm") return run_sgemm(options);
  if (options.subject == "tile") return run_tile(options);
  if (options.subject == "ozaki") return run_ozaki(options);
  if (options.subject == "model") return run_model(options);
  cli::refuse_name("SUBJECT", options.subject, "sgemm, tile, ozaki, model");
}

void add_options(CLI::App& app, StudyOptions& options) {
  app.add_option(
         "SUBJECT", options.subject,
         "sgemm: error-corrected FP32 products on tensor cores; tile: CUDA Tile kernels, GEMM and slices; ozaki: the "
         "Ozaki scheme in slices, which goes on where an interruption has left it; model: the performance model")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", options.output, "folder for the files [.]")->type_name("DIR");
  app.add_option("--max-k", options.max_k, "largest inner dimension, a power of two [65536]")->type_name("K");
  app.add_option("--seeds", options.seeds, "seeds that errors are averaged over [8]")->type_name("N");
  app.add_option("--max-n", options.max_n, "largest n on the processor: ozaki [64], tile [512]")->type_name("N");
  app.add_option("--threads", options.threads, "tile: threads of the processor [1]")->type_name("N");
  app.add_option("--gpu-results", options.gpu_results,
                 "JSON lines of bench_gpu_ec (sgemm: for figure 9), bench_gpu_tile (tile) or "
                 "bench_gpu_slices (ozaki: for figures of a device)")
      ->type_name("FILE");
  app.add_option("--gpu-errors", options.gpu_errors,
                 "JSON lines of bench_gpu_ec_errors (sgemm: for figures 1, 2, 3 and 8 on a device and table 2)")
      ->type_name("FILE");
  app.add_option("--slices-results", options.slices_results,
                 "JSON lines of bench_gpu_tile_slices (tile: for FP64 products from BF16 slices)")
      ->type_name("FILE");
  app.add_option("--spread-results", options.spread_results,
                 "JSON lines of bench_gpu_tile_slices with plans of spread (tile: for pairs of slices over CTAs)")
      ->type_name("FILE");
  app.add_option("--report-results", options.report_results,
                 "JSON lines of bench_gpu_report_slices (ozaki: for the report's code on a device)")
      ->type_name("FILE");
  app.add_option("--published", options.published, "model: JSON lines of what others measured")->type_name("FILE");
  app.add_option("--records", options.records,
                 "model: JSON lines of bench_gpu_gemm, bench_gpu_slices, bench_gpu_ec_call or bench_gpu_certificate on "
                 "an H200; "
                 "may be given again")
      ->type_name("FILE");
}

cli::ExitCode parse_and_run(int argc, char** argv) {
  CLI::App app(
      "Repeats the experiments of a document and judges its claims: CSV and Markdown. Exit codes are those of kizami.",
      "kizami_study");
  StudyOptions options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    cli::write_stdout(app.help());
    return cli::ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    throw cli::Failure(cli::ExitCode::kUsage, error.what());
  }
  return run_study(options);
}

}  // namespace
}  // namespace kizami::study

int main(int argc, char** argv) {
  return kizami::cli::run_program("kizami_study", [&] { return kizami::study::parse_and_run(argc, argv); });
}
