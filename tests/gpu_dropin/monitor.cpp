// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

const std::string kRatio = "sample error / bound ";

/// What the log says of the samples of one function.
struct Samples {
  int taken = 0;
  int captured = 0;
  double worst = 0;
};

/// By function, in the lines "kizami: FUNCTION ...".
std::map<std::string, Samples> read_log(std::istream& log) {
  std::map<std::string, Samples> functions;
  std::string line;
  while (std::getline(log, line)) {
    const std::string name = line.substr(0, line.find(' ', 8)).substr(8);
    Samples& samples = functions[name];
    const std::size_t ratio = line.find(kRatio);
    if (ratio != std::string::npos) {
      ++samples.taken;
      const double value = std::strtod(line.c_str() + ratio + kRatio.size(), nullptr);
      if (!(value <= samples.worst) && !std::isnan(samples.worst)) samples.worst = value;  // NaN stays
    } else if (line.find("no sample: the stream is captured") != std::string::npos) {
      ++samples.captured;
    } else if (line.find("no sample: ") != std::string::npos) {
      report("sample", line);
    }
  }
  return functions;
}

}  // namespace

void check_monitor(const char* path) {
  std::ifstream log(path);
  if (!log) return report("monitor", "there is no log: KIZAMI_LOG must name a file");
  Samples all;
  for (const auto& [name, samples] : read_log(log)) {
    all.taken += samples.taken;
    all.captured += samples.captured;
    report("samples of " + name, samples.worst <= 1 ? "" : "beyond the bound",
           std::to_string(samples.taken) + ", error / bound = " + std::to_string(samples.worst));
  }
  // What is captured is left alone, everything else is sampled.
  const std::string counts = std::to_string(all.taken) + ", in captures " + std::to_string(all.captured);
  report("samples", all.taken >= 100 && all.captured >= 12 ? "" : "too few: " + counts, counts);
}

}  // namespace preload_check
