// SPDX-License-Identifier: MIT
// Batches of tiny products on one thread: microseconds of processor time a product, beside the planner's. One JSON line for each
// type and n, appended to the file that is named.
//   bench_tiny_batches [FILE]
#include <time.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"
#include "recording.hpp"

namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string processor_name() {
  std::string name = "unknown";
  std::FILE* const file = std::fopen("/proc/cpuinfo", "r");
  if (file == nullptr) return name;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "model name", 10) != 0) continue;
    name = std::strchr(line, ':') + 2;
    name.pop_back();
    break;
  }
  std::fclose(file);
  return name;
}

/// @return false: the library refused
template <class T>
bool time_batches(T one, std::FILE* out, const std::string& processor) {
  constexpr int kRounds = 9;
  for (const std::int64_t n : {1, 2, 4, 8, 16, 32}) {
    const std::int64_t count = n == 1 ? 100000 : 40000 / n;
    kizami::Policy policy;
    policy.threads = 1;
    const kizami::Result<kizami::Plan> plan = kizami::make_plan(kizami::kScalarOf<T>, n, n, n, policy);
    const std::vector<T> a(static_cast<std::size_t>(n * n * count), one);
    std::vector<T> c(a.size());
    std::vector<double> seconds;
    for (int round = 0; round < kRounds; ++round) {
      const double begin = processor_seconds();
      const kizami::Status status = kizami::gemm_strided_batched<T>(
          kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, n, n, n, one, a.data(), n, n * n, a.data(),
          n, n * n, T{0}, c.data(), n, n * n, count, policy);
      seconds.push_back((processor_seconds() - begin) / static_cast<double>(count));
      if (!plan.ok() || !status.ok()) return false;
    }
    std::sort(seconds.begin(), seconds.end());
    std::fprintf(out,
                 "{\"date\": \"%s\", \"processor\": \"%s\", \"threads\": 1, \"type\": \"%s\", \"n\": %d, \"products\": "
                 "%d, \"rounds\": %d, "
                 "\"us_median\": %.3g, \"us_min\": %.3g, \"us_predicted\": %.3g}\n",
                 bench::today().c_str(), processor.c_str(), std::string(to_string(kizami::kScalarOf<T>)).c_str(),
                 static_cast<int>(n), static_cast<int>(count), kRounds, 1e6 * seconds[kRounds / 2], 1e6 * seconds[0],
                 1e6 * plan.value().predicted_seconds());
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const out = argc > 1 ? std::fopen(argv[1], "a") : stdout;
  if (out == nullptr) {
    std::perror(argv[1]);
    return 1;
  }
  const std::string processor = processor_name();
  const bool is_ok = time_batches(1.0F, out, processor) && time_batches(1.0, out, processor) &&
                     time_batches(std::complex<float>(1.0F, 0.5F), out, processor) &&
                     time_batches(std::complex<double>(1.0, 0.5), out, processor);
  return std::fclose(out) == 0 && is_ok ? 0 : 1;
}
