// SPDX-License-Identifier: MIT
// What bench_gpu_multi is asked for, and what it measures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "harness/records.hpp"

namespace bench::shared {

struct Options {
  std::vector<Shape> shapes = {{8192, 8192, 8192}};
  std::vector<char> types = {'d'};
  std::vector<std::vector<int>> devices;
  std::vector<double> speeds;
  std::vector<int> parts = {0};
  std::string from = "device";
  std::vector<double> phis = {0.5};
  int rounds = 5;
  bool has_one = true;
  bool has_native = true;
  bool has_variants = false;
  bool measures_speeds = false;
  bool is_syrk = false;
  std::string timeline;
  std::string commit = "unknown";
  std::string json;
};

/// Of products of T. @param type  in the names of records
template <class T>
void measure_gemm(const Options& options, const Shape& shape, char type, double phi, const Records& records);

/// The lower triangle of C <- A A^T. Ways of several devices leave the other one as it was, which is compared, too.
template <class T>
void measure_syrk(const Options& options, std::int64_t n, std::int64_t k, char type, double phi,
                  const Records& records);

}  // namespace bench::shared
