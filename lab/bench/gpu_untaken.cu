// SPDX-License-Identifier: MIT
// What a device call pays for the kernels that it does not need: block digits and rungs, second look, residues of
// another rung, FP64 rung, after a certificate that held. Microseconds a call that they add to a chain of launches, as
// a JSON line.
//   bench_gpu_untaken --n 1024 --n 8192
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/overlapped_launch.hpp"
#include "certify/device_second_look.hpp"
#include "exec/environment.hpp"
#include "fp64/device.hpp"
#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_split.hpp"

namespace {

using namespace kizami;
using bench::check;

/// The kernel around which the others stand: about as long as a short phase of a call, so that no launch waits for its
/// host.
__global__ void spin(long long cycles) {
  base::follow_previous_kernel();
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

void launch_spin(cudaStream_t stream) {
  check(base::launch_overlapped("spin", spin, 1, 1, 0, stream, 12000LL), "spin");
}

struct Untaken {
  certify::SecondLook<double> look;
  std::array<ozaki2::DeviceOperand<double>, 2> operands;
  fp64::DeviceCall<double> rung;
  num::Ladder ladder;
  int num_sms;

  void launch(cudaStream_t stream) const {
    check(certify::launch_block_rungs(look, num_sms, stream), "block rungs");
    check(certify::launch_second_look(look, num_sms, stream), "second look");
    check(ozaki2::device_residue_planes<double>(operands, 0, look.a.length, ladder, look.state, true, num_sms, stream),
          "residues");
    launch_spin(stream);
    check(fp64::answer_exceptions(rung, num_sms, stream), "FP64 rung");
  }
};

/// Seconds a round.
template <class Launch>
double time_rounds(cudaStream_t stream, const Launch& launch) {
  constexpr int kRounds = 200;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  check(cudaEventRecord(begin, stream), "event");
  for (int i = 0; i < kRounds; ++i) launch();
  check(cudaEventRecord(end, stream), "event");
  check(cudaEventSynchronize(end), "event");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "event");
  static_cast<void>(cudaEventDestroy(begin));
  static_cast<void>(cudaEventDestroy(end));
  return static_cast<double>(ms) * 1e-3 / kRounds;
}

void measure(std::int64_t n, const bench::Records& records) {
  const cudaDeviceProp properties = bench::device_properties();
  const plan::Plan plan = plan::make({Scalar::kF64, n, n, n}, {}, exec::environment()).value();
  device::DeviceState* state = nullptr;
  check(cudaMalloc(&state, sizeof *state), "cudaMalloc");
  const device::DeviceState at_rung_0;
  check(cudaMemcpy(state, &at_rung_0, sizeof *state, cudaMemcpyHostToDevice), "state");

  // Nothing is read or written but the state: the shapes make the grids.
  const problem::Lines<double> a{nullptr, n, n, 1, n, false};
  const problem::Lines<double> b{nullptr, n, n, n, 1, false};
  Untaken untaken{};
  untaken.ladder = ozaki2::ozaki2_of(plan).ladder;
  untaken.num_sms = properties.multiProcessorCount;
  untaken.look.ladder = untaken.ladder;
  untaken.look.a = a;
  untaken.look.b = b;
  untaken.look.chunk = {n, n};
  untaken.look.state = state;
  untaken.operands = {ozaki2::DeviceOperand<double>{a, {}, {nullptr, n, n * n}},
                      ozaki2::DeviceOperand<double>{b, {}, {nullptr, n, n * n}}};
  untaken.rung.a = a;
  untaken.rung.b = b;
  untaken.rung.c = MatrixView<double>{nullptr, n, n, 1, n};
  untaken.rung.state = state;

  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  std::vector<double> added;
  for (int i = 0; i < 9; ++i) {
    const double with = time_rounds(stream, [&] {
      launch_spin(stream);
      untaken.launch(stream);
    });
    const double without = time_rounds(stream, [&] {
      launch_spin(stream);
      launch_spin(stream);
    });
    if (i > 1) added.push_back((with - without) * 1e6);  // the first rounds warm up
  }
  const bench::Spread found = bench::spread(added);
  records.append(bench::Json{{"case", "untaken " + std::to_string(n)},
                             {"us_median", found.median},
                             {"us_min", found.min},
                             {"us_max", found.max}});
  check(cudaStreamDestroy(stream), "stream");
  check(cudaFree(state), "cudaFree");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> sizes = {1024, 8192};
  std::string json;
  bench::Program program("bench_gpu_untaken", "What a device call pays for the kernels that it does not need");
  program.add_option("--n", sizes, "square sizes")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  bench::add_json(program, json);
  return program.run(argc, argv, [&] {
    const bench::Records records(json);
    for (const std::int64_t n : sizes) measure(n, records);
    return 0;
  });
}
