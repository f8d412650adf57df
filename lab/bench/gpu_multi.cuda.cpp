// SPDX-License-Identifier: MIT
// Products shared by the devices of a host, beside the same product on one of them and native cuBLAS on each: TFLOPS by
// the host's clock, and whether all bits are those of the call on one device. A table on stderr, JSON lines on stdout.
//   bench_gpu_multi --type d --n 16384 --n 32768                     on all devices; the matrices on the first
//   bench_gpu_multi --devices 0 --devices 0,1 --from pieces          columns of A, B and C on their devices
//   bench_gpu_multi --type d --n 65536 --from host --no-one          from page-locked host memory
//   bench_gpu_multi --parts 1 --parts 2 --parts 4                    parts of a device's share
//   bench_gpu_multi --speeds 1,1.1                                   shares by speed
//   bench_gpu_multi --measure-speeds                                 ... of each device in a product of 4096 by itself
//   bench_gpu_multi --devices 0 --variants                           one device on a stream, with memory of the pool; and
//                                                                    several with workspaces that stay
//   bench_gpu_multi --timeline FILE                                  a call of each way more, with the begin and the end of
//                                                                    all kernels and copies, by CUPTI
//   bench_gpu_multi --syrk --n 16384 --from pieces                   one triangle of C <- A A^T, beside gemmt() and syrk of
//                                                                    cuBLAS on one device; n n k operations
// Native cuBLAS multiplies a block of columns on each device, each its own copies of A and of its columns of B, that is
// without any transfer: what a perfect split of it would take. Ways take turns; times are of calls that begin and end
// with all devices idle. 2 m n k operations (8 m n k of complex types). Inputs as those of bench_gpu_gemm.
#include <cuda_runtime_api.h>

#include <complex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_multi/options.hpp"
#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"

namespace {

using bench::check;
using bench::Shape;
using bench::shared::Options;

template <class N>
[[nodiscard]] std::vector<N> parse_list(const std::string& text) {
  std::vector<N> values;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    std::size_t used = 0;
    double value = -1;
    try {
      value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size() || !(value >= 0))
      throw std::invalid_argument(text + ": must be numbers, as 0,1");
    values.push_back(static_cast<N>(value));
  }
  if (values.empty()) throw std::invalid_argument("must be numbers, as 0,1");
  return values;
}

int run(Options options) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (options.devices.empty()) {
    for (int number = 1; number <= count; number *= 2) {
      options.devices.emplace_back();
      for (int device = 0; device < number; ++device) options.devices.back().push_back(device);
    }
  }
  const bench::Records records(options.json);
  for (const Shape& shape : options.shapes) {
    if (options.is_syrk && shape.m != shape.n)
      throw std::invalid_argument(bench::to_string(shape) + ": m must be n for --syrk");
    for (const double phi : options.phis) {
      for (const char type : options.types) {
        const auto measure_type = [&]<class T>() {
          if (options.is_syrk) return bench::shared::measure_syrk<T>(options, shape.n, shape.k, type, phi, records);
          bench::shared::measure_gemm<T>(options, shape, type, phi, records);
        };
        if (type == 's') measure_type.template operator()<float>();
        if (type == 'd') measure_type.template operator()<double>();
        if (type == 'c') measure_type.template operator()<std::complex<float>>();
        if (type == 'z') measure_type.template operator()<std::complex<double>>();
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_multi", "Products shared by the devices of a host, beside one device and cuBLAS.");
  bench::add_shapes(program, options.shapes);
  bench::add_types(program, options.types);
  bench::add_parsed(program, "--devices", options.devices, parse_list<int>,
                    "CUDA's numbers, as 0,1; several times. Without: 1, 2, 4, 8 of those that are there");
  program
      .add_option_function<std::string>(
          "--speeds", [&](const std::string& text) { options.speeds = parse_list<double>(text); },
          "of the devices, for lists of as many, as 1,1.1")
      ->check(bench::parses_as(parse_list<double>));
  program.add_option("--parts", options.parts, "of a device's share, several; 0: the planner's choice")
      ->check(bench::between(0, 64));
  program.add_option("--from", options.from, "device, pieces or host: where the matrices are")
      ->check(CLI::IsMember({"device", "pieces", "host"}));
  program.add_option("--phi", options.phis, "spread of exponents; several")->check(bench::between(0, 100));
  program.add_option("--rounds", options.rounds, "turns of all ways")->check(bench::between(1, 1000));
  program.add_flag("--variants", options.has_variants, "what one and several devices do with other memory and streams");
  program.add_flag("--syrk", options.is_syrk, "one triangle of C <- A A^T, n x n, in place of products");
  program.add_flag("--measure-speeds", options.measures_speeds, "of the devices, and shares by them");
  program.add_option("--timeline", options.timeline,
                     "a file: kernels and copies of a call more of each way, with their times, by CUPTI");
  program.add_flag("!--no-one", options.has_one, "without the call on one device: its bits are then not compared");
  program.add_flag("!--no-native", options.has_native, "without cuBLAS");
  bench::add_commit(program, options.commit);
  bench::add_json(program, options.json);
  return program.run(argc, argv, [&] { return run(options); });
}
