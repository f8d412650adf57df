// SPDX-License-Identifier: MIT
// Times the product kernels of engines hopper and mma in each of their forms, in one run: all planes of square products,
// residues over their full range, the residue epilogue.
//
//   bench_gpu_product --n 4096 --n 8192 --planes 14 --form ping_pong_128x128 --rounds 15 --sustained 2
//   bench_gpu_product --n 8192 --chosen --order static --order counted --order paced --rounds 15 --sustained 2
//
// Columns, in TOPS = 2 n^3 planes / time: "call", the median of single launches between two events; "burst", launches
// back to back between two events, over their number; "sustained", batches of 0.1 s until the clock has settled, the
// median of the later half of them. Operands rotate among copies that together exceed three times the L2 cache. Orders
// of tiles (engines/hopper/drift_control.hpp) of one form take turns at every launch, burst and batch, so that the
// card's heat is the same for all. Every form must make the same C: their checksums are compared. One JSON line per
// case, form and order on stdout. --rounds 0: one launch of each, for a profiler (ncu_product.py).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/device_limits.hpp"
#include "engines/hopper/forms.hpp"
#include "engines/mma/forms.hpp"
#include "gpu_product/residues.hpp"
#include "harness/device.hpp"
#include "harness/facts.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "num/moduli.hpp"
#include "product_orders/product_orders.hpp"

namespace {

using bench::check;
using bench::DriftWords;
using bench::WalkOrder;
using kizami::product::Pointers;
using kizami::product::ProductDesc;

/// A form of either engine.
struct Form {
  std::string name;
  bool is_hopper;
  std::function<kizami::Status(const ProductDesc&, const Pointers&, int raster, WalkOrder, DriftWords*)> run;
  std::function<bool(const ProductDesc&, WalkOrder)> accepts;
  std::function<bool(const ProductDesc&)> is_chosen;  ///< by its engine
  std::function<double(const ProductDesc&)> predicted_seconds;
};

[[nodiscard]] std::vector<Form> all_forms(const kizami::base::DeviceLimits& device) {
  namespace engines = kizami::engines;
  std::vector<Form> forms;
  for (const engines::HopperFormTraits& f : engines::hopper_forms()) {
    forms.push_back(
        {std::string(f.name), true,
         [&f](const ProductDesc& d, const Pointers& pointers, int raster, WalkOrder order, DriftWords* words) {
           return bench::run_ordered_product(d, pointers, f.form, order, words, nullptr, raster);
         },
         [&f, device](const ProductDesc& d, WalkOrder order) {
           return device.has_wgmma() && bench::order_accepts(f, order, d);
         },
         [&f](const ProductDesc& d) { return engines::tile_for(d) == f.form; },
         [&f, device](const ProductDesc& d) { return engines::predicted_seconds(d, f, device.num_sms); }});
  }
  for (const engines::MmaFormTraits& f : engines::kMmaForms) {
    forms.push_back({"mma_" + std::string(f.name), false,
                     [&f](const ProductDesc& d, const Pointers& pointers, int raster, WalkOrder, DriftWords*) {
                       return engines::run_mma_product(d, pointers, f.form, nullptr, raster);
                     },
                     [&f, device](const ProductDesc& d, WalkOrder order) {
                       return order == WalkOrder::kStatic && d.planes_of_modulus == 1 &&
                              f.shared_bytes() <= device.shared_bytes;
                     },
                     [&f, device](const ProductDesc& d) { return engines::mma_form_for(d, device) == f.form; },
                     [&f, device](const ProductDesc& d) { return engines::predicted_seconds(d, f, device); }});
  }
  return forms;
}

struct Options {
  std::vector<std::int64_t> ns{1024, 2048, 4096, 8192};
  std::vector<std::string> forms;
  bool only_chosen = false;
  std::vector<int> rasters{0};
  std::vector<WalkOrder> orders{WalkOrder::kStatic};
  int planes = 14;
  int planes_of_modulus = 1;
  int rounds = 15;
  double sustained_seconds = 0;
  std::string json;
};

/// Square planes, and as many copies as keep the L2 cache cold.
class Buffers {
 public:
  Buffers(const ProductDesc& desc, std::size_t l2_bytes)
      : bytes_(static_cast<std::size_t>(desc.num_products * desc.a_plane_stride)) {
    copies_ = static_cast<int>(std::clamp<std::size_t>(3 * l2_bytes / (3 * bytes_) + 1, 1, 16));
    check(cudaMalloc(&memory_, 3 * bytes_ * static_cast<std::size_t>(copies_)), "cudaMalloc");
    for (int copy = 0; copy < copies_; ++copy) {
      for (int operand = 0; operand < 2; ++operand) {
        for (int l = 0; l < desc.num_products; ++l) {
          const std::int64_t stride = desc.a_plane_stride;
          const std::uint64_t seed = (static_cast<std::uint64_t>(operand) * 512 + static_cast<std::uint64_t>(l)) << 40;
          bench::fill_residues(part(copy, operand) + l * stride, stride,
                               desc.moduli[static_cast<std::size_t>(l / desc.planes_of_modulus)], seed);
        }
      }
    }
    check(cudaDeviceSynchronize(), "fill");
  }
  ~Buffers() { static_cast<void>(cudaFree(memory_)); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] int copies() const { return copies_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Pointers pointers(int copy) const { return {part(copy, 0), part(copy, 1), part(copy, 2)}; }
  [[nodiscard]] std::int8_t* part(int copy, int operand) const {
    return static_cast<std::int8_t*>(memory_) +
           (static_cast<std::size_t>(copy) * 3 + static_cast<std::size_t>(operand)) * bytes_;
  }

 private:
  std::size_t bytes_;
  int copies_ = 1;
  void* memory_ = nullptr;
};

double elapsed_ms(cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "elapsed time");
  return ms;
}

/// An order of a form, and what was found of it.
struct Result {
  WalkOrder order = WalkOrder::kStatic;
  std::vector<double> calls_ms;
  std::vector<double> bursts_ms;
  std::vector<double> sustained_ms;
  std::vector<unsigned> sustained_mhz;
  std::vector<unsigned> sustained_watts;
  unsigned long long checksum = 0;
  int num_wrong = 0;
};

/// The median, of the later half where the first is not settled; 0 of nothing.
template <class T>
[[nodiscard]] double settled(const std::vector<T>& values, bool is_later_half) {
  if (values.empty()) return 0;
  return bench::median(std::vector<T>(values.begin() + (is_later_half ? values.size() / 2 : 0), values.end()));
}

/// One form and raster in some orders.
class Measurement {
 public:
  Measurement(const ProductDesc& desc, const Buffers& buffers, const Form& form, int raster)
      : desc_(desc), buffers_(buffers), form_(form), raster_(raster) {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
    check(cudaMalloc(&words_, sizeof(DriftWords)), "cudaMalloc");
    check(cudaMemset(words_, 0, sizeof(DriftWords)), "memset");
  }
  ~Measurement() {
    static_cast<void>(cudaFree(words_));
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  void check_result(Result& result) const {
    void* memory = nullptr;
    check(cudaMalloc(&memory, 16), "cudaMalloc");
    auto* const sum = static_cast<unsigned long long*>(memory);
    check(cudaMemset(sum, 0, 16), "memset");
    check(cudaMemset(buffers_.part(0, 2), 0x5A, buffers_.bytes()), "memset");
    launch(result.order, 0);
    check(cudaDeviceSynchronize(), form_.name.c_str());
    bench::add_checksum(reinterpret_cast<const std::uint32_t*>(buffers_.part(0, 2)),
                        static_cast<std::int64_t>(buffers_.bytes() / 4), sum);
    auto* const wrong = reinterpret_cast<int*>(sum + 1);
    for (int l = 0; l < desc_.num_products; ++l) {
      bench::check_elements(buffers_.part(0, 0), buffers_.part(0, 1), buffers_.part(0, 2), desc_.n, l,
                            desc_.moduli[static_cast<std::size_t>(l / desc_.planes_of_modulus)],
                            77ULL * static_cast<unsigned>(l), wrong);
    }
    check(cudaMemcpy(&result.checksum, sum, 8, cudaMemcpyDeviceToHost), "checksum");
    check(cudaMemcpy(&result.num_wrong, wrong, 4, cudaMemcpyDeviceToHost), "checksum");
    check(cudaFree(sum), "cudaFree");
  }

  /// Launches back to back. @return milliseconds of one
  [[nodiscard]] double time(WalkOrder order, int count, int first_copy = 0) const {
    check(cudaEventRecord(begin_), "event");
    for (int x = 0; x < count; ++x) launch(order, first_copy + x);
    check(cudaEventRecord(end_), "event");
    check(cudaEventSynchronize(end_), form_.name.c_str());
    return elapsed_ms(begin_, end_) / count;
  }
  /// The same, with a look at the clock and the power half-way.
  void time_batch(Result& result, int count, const bench::Gauges& gauges) const {
    check(cudaEventRecord(begin_), "event");
    for (int x = 0; x < count; ++x) launch(result.order, x);
    check(cudaEventRecord(end_), "event");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    result.sustained_mhz.push_back(gauges.sm_mhz());
    result.sustained_watts.push_back(gauges.watts());
    check(cudaEventSynchronize(end_), form_.name.c_str());
    result.sustained_ms.push_back(elapsed_ms(begin_, end_) / count);
  }

 private:
  void launch(WalkOrder order, int copy) const {
    check(
        form_.run(desc_, buffers_.pointers(copy % buffers_.copies()), raster_, order, static_cast<DriftWords*>(words_)),
        form_.name.c_str());
  }

  const ProductDesc& desc_;
  const Buffers& buffers_;
  const Form& form_;
  int raster_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  void* words_ = nullptr;  ///< DriftWords
};

void measure(const Measurement& measurement, std::vector<Result>& results, const Options& options) {
  for (Result& result : results) measurement.check_result(result);
  if (options.rounds == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // a burst begins cool
  for (const Result& result : results) static_cast<void>(measurement.time(result.order, 2));
  for (int round = 0; round < options.rounds; ++round) {
    for (Result& result : results) result.calls_ms.push_back(measurement.time(result.order, 1, round));
  }
  const int num_bursts = results.size() > 1 ? 3 : 1;
  for (int burst = 0; burst < num_bursts; ++burst) {
    for (Result& result : results) result.bursts_ms.push_back(measurement.time(result.order, options.rounds));
  }
  const bench::Gauges gauges;
  const int batch = std::max(1, static_cast<int>(0.1e3 / results.front().bursts_ms.front()));
  for (double total_ms = 0; total_ms < 1e3 * options.sustained_seconds;) {
    for (Result& result : results) measurement.time_batch(result, batch, gauges);
    total_ms += results.front().sustained_ms.back() * batch;
  }
}

/// What is printed of a form, and the record.
void print(const ProductDesc& desc, const Form& form, int raster, const Result& r, bool is_right,
           const cudaDeviceProp& device, const bench::Records& records) {
  const double call_ms = settled(r.calls_ms, false);
  const double burst_ms = settled(r.bursts_ms, false);
  const double sustained_ms = settled(r.sustained_ms, true);
  const auto n = static_cast<double>(desc.n);
  const double tera_ops = 2e-12 * n * n * n * desc.num_products;
  const auto tops = [&](double ms) { return ms > 0 ? tera_ops / (1e-3 * ms) : 0.0; };
  const double predicted = tera_ops / form.predicted_seconds(desc);
  const std::string order(bench::to_string(r.order));
  std::fprintf(stderr, "%6lld %-30s %-8s %6d %9.4f %9.0f %9.0f %9.0f %9.0f  %s%s\n", static_cast<long long>(desc.n),
               form.name.c_str(), order.c_str(), raster, call_ms, tops(call_ms), tops(burst_ms), tops(sustained_ms),
               predicted, is_right ? "" : "WRONG", form.is_chosen(desc) ? "chosen" : "");
  records.append(bench::Json{{"case", "product " + to_string(bench::Shape{desc.n, desc.n, desc.n}) +
                                          " planes=" + std::to_string(desc.num_products) + " reduce"},
                             {"form", form.name},
                             {"order", order},
                             {"raster", raster},
                             {"tops", tops(call_ms)},
                             {"ms", call_ms},
                             {"burst_tops", tops(burst_ms)},
                             {"burst_ms", burst_ms},
                             {"sustained_tops", tops(sustained_ms)},
                             {"sustained_ms", sustained_ms},
                             {"sustained_sm_mhz", settled(r.sustained_mhz, true)},
                             {"sustained_watts", settled(r.sustained_watts, true)},
                             {"correct", is_right},
                             {"device", device.name}});
}

[[nodiscard]] ProductDesc square_planes(std::int64_t n, int planes, int planes_of_modulus) {
  ProductDesc desc;
  desc.m = desc.n = desc.k = n;
  desc.num_products = planes;
  desc.planes_of_modulus = planes_of_modulus;
  for (int l = 0; l * planes_of_modulus < planes; ++l) {
    desc.moduli[static_cast<std::size_t>(l)] = kizami::num::kRealModuli[static_cast<std::size_t>(l)];
  }
  desc.a_row_stride = desc.b_row_stride = desc.c_col_stride = n;
  desc.a_plane_stride = desc.b_plane_stride = desc.c_plane_stride = n * n;
  return desc;
}

/// @return whether every form made the same, right C
bool run_size(std::int64_t n, const Options& options, const cudaDeviceProp& device, const bench::Records& records) {
  const ProductDesc desc = square_planes(n, options.planes * options.planes_of_modulus, options.planes_of_modulus);
  const Buffers buffers(desc, static_cast<std::size_t>(device.l2CacheSize));
  bool is_ok = true;
  bool is_first = true;
  unsigned long long checksum = 0;
  kizami::base::DeviceLimits limits;
  check(kizami::base::find_device_limits(limits), "the device");
  for (const Form& form : all_forms(limits)) {
    if (options.only_chosen && !(form.is_hopper && form.is_chosen(desc))) continue;
    if (!options.forms.empty() &&
        std::find(options.forms.begin(), options.forms.end(), form.name) == options.forms.end()) {
      continue;
    }
    for (const int raster : options.rasters) {
      std::vector<Result> results;
      for (const WalkOrder order : options.orders) {
        if (form.accepts(desc, order)) results.emplace_back().order = order;
      }
      if (results.empty()) continue;
      measure(Measurement(desc, buffers, form, raster), results, options);
      for (const Result& r : results) {
        if (is_first) checksum = r.checksum;
        is_first = false;
        const bool is_right = r.checksum == checksum && r.num_wrong == 0;
        is_ok = is_ok && is_right;
        print(desc, form, raster, r, is_right, device, records);
      }
    }
  }
  return is_ok;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const cudaDeviceProp device = bench::device_properties();
  std::fprintf(stderr, "%s, %d multiprocessors, L2 %.0f MB\n", device.name, device.multiProcessorCount,
               static_cast<double>(device.l2CacheSize) / 1e6);
  std::fprintf(stderr, "%6s %-30s %-8s %6s %9s %9s %9s %9s %9s  %s\n", "n", "form", "order", "raster", "call ms",
               "call", "burst", "sustained", "predicted", "TOPS");
  bool is_ok = true;
  for (const std::int64_t n : options.ns) {
    is_ok = run_size(std::max<std::int64_t>(64, n / 64 * 64), options, device, records) && is_ok;
  }
  return is_ok ? 0 : 1;
}

[[nodiscard]] WalkOrder order_of(const std::string& name) {
  for (const WalkOrder order : bench::kWalkOrders) {
    if (bench::to_string(order) == name) return order;
  }
  throw std::invalid_argument(name + " is no order of tiles: static, counted, paced");
}

void add_options(bench::Program& program, Options& options) {
  std::vector<std::string> names;
  for (const Form& form : all_forms({})) names.push_back(form.name);
  program.add_option("--n", options.ns, "square sizes, rounded down to multiples of 64, of which 64 is the least")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  program.add_option("--planes", options.planes, "residues that are multiplied")
      ->check(CLI::Range(1, static_cast<int>(kizami::num::kRealModuli.size())));
  program.add_option("--planes-of-modulus", options.planes_of_modulus, "planes for each residue: 7 are Strassen's")
      ->check(CLI::Range(1, kizami::product::kMaxPlanesOfModulus));
  program.add_option("--form", options.forms, "names of forms; without it all")->check(CLI::IsMember(names));
  program.add_flag("--chosen", options.only_chosen, "only the form that engine hopper takes");
  bench::add_parsed(program, "--order", options.orders, order_of, "orders of tiles: static, counted, paced");
  program.add_option("--raster", options.rasters, "tiles along i before the next j; 0: the engine's choice");
  program.add_option("--rounds", options.rounds, "timed launches; 0: one that is not timed")
      ->check(CLI::Range(0, 100000));
  program.add_option("--sustained", options.sustained_seconds, "seconds of launches back to back")
      ->check(bench::between(0, 3600));
  bench::add_json(program, options.json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_product", "The product kernels of engines hopper and mma in each of their forms");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
