// SPDX-License-Identifier: MIT
// Batches of tiny products on one thread: microseconds of processor time a product, beside the planner's. One JSON line
// for each type and n, appended to the file that is named.
//   bench_tiny_batches [FILE]
#include <time.h>

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/facts.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// @throws std::runtime_error the library refused
template <class T>
void time_batches(T one, const bench::Records& records, const std::string& processor) {
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
      if (!plan.ok()) throw std::runtime_error(plan.status().reason());
      if (!status.ok()) throw std::runtime_error(status.reason());
    }
    const bench::Spread found = bench::spread(seconds);
    records.append(bench::Json{{"date", bench::today()},
                               {"processor", processor},
                               {"threads", 1},
                               {"type", to_string(kizami::kScalarOf<T>)},
                               {"n", n},
                               {"products", count},
                               {"rounds", kRounds},
                               {"us_median", 1e6 * found.median},
                               {"us_min", 1e6 * found.min},
                               {"us_predicted", 1e6 * plan.value().predicted_seconds()}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  bench::Program program("bench_tiny_batches", "Batches of tiny products on one thread, beside their prediction");
  program.add_option("--json,FILE", json, "appends the records to this file instead of printing them");
  return program.run(argc, argv, [&] {
    const bench::Records records(json);
    const std::string processor = bench::processor_name();
    time_batches(1.0F, records, processor);
    time_batches(1.0, records, processor);
    time_batches(std::complex<float>(1.0F, 0.5F), records, processor);
    time_batches(std::complex<double>(1.0, 0.5), records, processor);
    return 0;
  });
}
