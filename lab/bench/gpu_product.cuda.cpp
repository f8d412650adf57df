// SPDX-License-Identifier: MIT
// Times the product kernels of engines hopper and mma in each of their forms, in one run: all planes of a product, residues
// over their full range, the residue epilogue.
//
//   bench_gpu_product --n 8192 --bytes signed --bytes unsigned --chosen
//   bench_gpu_product --n 4096 --shape 8192x8192x256 --planes 14 --form ping_pong_128x128 --rounds 15 --sustained 2
//
// Columns, in TOPS = 2 m n k planes / time: "call", the median of single launches between two events; "burst", launches
// back to back between two events, over their number; "sustained", batches of 0.1 s until the clock has settled, the
// median of the later half of them. Operands rotate among copies that together exceed three times the L2 cache. Every
// form must make the same C: their checksums are compared. One JSON line per case and form on stdout. --rounds 0: one
// launch of each, for a profiler (ncu_product.py).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
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

namespace {

using bench::check;
using kizami::product::Pointers;
using kizami::product::ProductDesc;

/// A form of either engine.
struct Form {
  std::string name;
  std::function<kizami::Status(const ProductDesc&, const Pointers&, int raster)> run;
  std::function<bool(const ProductDesc&)> accepts;
  std::function<bool(const ProductDesc&)> is_chosen;  ///< by its engine
  std::function<double(const ProductDesc&)> predicted_seconds;
};

[[nodiscard]] std::vector<Form> all_forms(const kizami::base::DeviceLimits& device) {
  namespace engines = kizami::engines;
  std::vector<Form> forms;
  for (const engines::HopperFormTraits& f : engines::hopper_forms()) {
    forms.push_back({std::string(f.name),
                     [&f](const ProductDesc& d, const Pointers& pointers, int raster) {
                       return engines::run_hopper_product(d, pointers, f.form, nullptr, raster);
                     },
                     [&f, device](const ProductDesc& d) { return device.has_wgmma() && engines::form_accepts(f, d); },
                     [&f, device](const ProductDesc& d) { return engines::tile_for(d, device.num_sms) == f.form; },
                     [&f, device](const ProductDesc& d) { return engines::predicted_seconds(d, f, device.num_sms); }});
  }
  for (const engines::MmaFormTraits& f : engines::kMmaForms) {
    forms.push_back({"mma_" + std::string(f.name),
                     [&f](const ProductDesc& d, const Pointers& pointers, int raster) {
                       return engines::run_mma_product(d, pointers, f.form, nullptr, raster);
                     },
                     [&f, device](const ProductDesc& d) {
                       return d.planes_of_modulus == 1 && !d.has_unsigned_bytes &&
                              f.shared_bytes() <= device.shared_bytes;
                     },
                     [&f, device](const ProductDesc& d) { return engines::mma_form_for(d, device) == f.form; },
                     [&f, device](const ProductDesc& d) { return engines::predicted_seconds(d, f, device); }});
  }
  return forms;
}

constexpr const char* kSigned = "signed";
constexpr const char* kUnsigned = "unsigned";

struct Options {
  std::vector<bench::Shape> shapes{{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  std::vector<std::string> forms;
  bool only_chosen = false;
  std::vector<int> rasters{0};
  std::vector<std::string> bytes{kSigned};
  int planes = 14;
  int planes_of_modulus = 1;
  int rounds = 15;
  double sustained_seconds = 0;
  std::string json;
  std::string commit = "unknown";
};

/// Planes, and as many copies as keep the L2 cache cold.
class Buffers {
 public:
  Buffers(const ProductDesc& desc, std::size_t l2_bytes)
      : bytes_{bytes_of(desc, desc.a_plane_stride), bytes_of(desc, desc.b_plane_stride),
               bytes_of(desc, desc.c_plane_stride)} {
    copies_ = static_cast<int>(std::clamp<std::size_t>(3 * l2_bytes / bytes_of_copy() + 1, 1, 16));
    check(cudaMalloc(&memory_, bytes_of_copy() * static_cast<std::size_t>(copies_)), "cudaMalloc");
    for (int copy = 0; copy < copies_; ++copy) {
      for (int operand = 0; operand < 2; ++operand) {
        for (int l = 0; l < desc.num_products; ++l) {
          const std::int64_t stride = operand == 0 ? desc.a_plane_stride : desc.b_plane_stride;
          const std::uint64_t seed = (static_cast<std::uint64_t>(operand) * 512 + static_cast<std::uint64_t>(l)) << 40;
          bench::fill_residues(part(copy, operand) + l * stride, stride,
                               desc.moduli[static_cast<std::size_t>(l / desc.planes_of_modulus)],
                               desc.has_unsigned_bytes, seed);
        }
      }
    }
    check(cudaDeviceSynchronize(), "fill");
  }
  ~Buffers() { static_cast<void>(cudaFree(memory_)); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] int copies() const { return copies_; }
  /// Of C.
  [[nodiscard]] std::size_t bytes() const { return bytes_[2]; }
  [[nodiscard]] Pointers pointers(int copy) const { return {part(copy, 0), part(copy, 1), part(copy, 2)}; }
  [[nodiscard]] std::int8_t* part(int copy, int operand) const {
    std::size_t offset = static_cast<std::size_t>(copy) * bytes_of_copy();
    for (int before = 0; before < operand; ++before) offset += bytes_[static_cast<std::size_t>(before)];
    return static_cast<std::int8_t*>(memory_) + offset;
  }

 private:
  [[nodiscard]] static std::size_t bytes_of(const ProductDesc& desc, std::int64_t plane_stride) {
    return static_cast<std::size_t>(desc.num_products * plane_stride);
  }
  [[nodiscard]] std::size_t bytes_of_copy() const { return bytes_[0] + bytes_[1] + bytes_[2]; }

  std::array<std::size_t, 3> bytes_;  ///< of A, B and C
  int copies_ = 1;
  void* memory_ = nullptr;
};

double elapsed_ms(cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "elapsed time");
  return ms;
}

/// What was found of a form.
struct Result {
  std::vector<double> calls_ms;
  double burst_ms = 0;
  std::vector<double> sustained_ms;
  std::vector<unsigned> sustained_mhz;
  std::vector<unsigned> sustained_watts;
  unsigned long long checksum = 0;
  int num_wrong = 0;
};

/// The median of the later half, where the first is not settled; 0 of nothing.
template <class T>
[[nodiscard]] double settled(const std::vector<T>& values) {
  if (values.empty()) return 0;
  return bench::median(std::vector<T>(values.begin() + values.size() / 2, values.end()));
}

/// One form and raster.
class Measurement {
 public:
  Measurement(const ProductDesc& desc, const Buffers& buffers, const Form& form, int raster)
      : desc_(desc), buffers_(buffers), form_(form), raster_(raster) {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  ~Measurement() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  [[nodiscard]] Result measure(const Options& options) const {
    Result result;
    check_result(result);
    if (options.rounds == 0) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // a burst begins cool
    static_cast<void>(time(2));
    for (int round = 0; round < options.rounds; ++round) result.calls_ms.push_back(time(1, round));
    result.burst_ms = time(options.rounds);
    const bench::Gauges gauges;
    const int batch = std::max(1, static_cast<int>(0.1e3 / result.burst_ms));
    for (double total_ms = 0; total_ms < 1e3 * options.sustained_seconds;) {
      time_batch(result, batch, gauges);
      total_ms += result.sustained_ms.back() * batch;
    }
    return result;
  }

 private:
  void check_result(Result& result) const {
    void* memory = nullptr;
    check(cudaMalloc(&memory, 16), "cudaMalloc");
    auto* const sum = static_cast<unsigned long long*>(memory);
    check(cudaMemset(sum, 0, 16), "memset");
    check(cudaMemset(buffers_.part(0, 2), 0x5A, buffers_.bytes()), "memset");
    launch(0);
    check(cudaDeviceSynchronize(), form_.name.c_str());
    bench::add_checksum(reinterpret_cast<const std::uint32_t*>(buffers_.part(0, 2)),
                        static_cast<std::int64_t>(buffers_.bytes() / 4), sum);
    auto* const wrong = reinterpret_cast<int*>(sum + 1);
    for (int l = 0; l < desc_.num_products; ++l) {
      bench::check_elements(buffers_.part(0, 0), buffers_.part(0, 1), buffers_.part(0, 2), desc_.m, desc_.n, desc_.k, l,
                            desc_.moduli[static_cast<std::size_t>(l / desc_.planes_of_modulus)],
                            desc_.has_unsigned_bytes, 77ULL * static_cast<unsigned>(l), wrong);
    }
    check(cudaMemcpy(&result.checksum, sum, 8, cudaMemcpyDeviceToHost), "checksum");
    check(cudaMemcpy(&result.num_wrong, wrong, 4, cudaMemcpyDeviceToHost), "checksum");
    check(cudaFree(sum), "cudaFree");
  }
  /// Launches back to back. @return milliseconds of one
  [[nodiscard]] double time(int count, int first_copy = 0) const {
    enqueue(count, first_copy);
    check(cudaEventSynchronize(end_), form_.name.c_str());
    return elapsed_ms(begin_, end_) / count;
  }
  /// The same, with a look at the clock and the power half-way.
  void time_batch(Result& result, int count, const bench::Gauges& gauges) const {
    enqueue(count, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    result.sustained_mhz.push_back(gauges.sm_mhz());
    result.sustained_watts.push_back(gauges.watts());
    check(cudaEventSynchronize(end_), form_.name.c_str());
    result.sustained_ms.push_back(elapsed_ms(begin_, end_) / count);
  }
  void enqueue(int count, int first_copy) const {
    check(cudaEventRecord(begin_), "event");
    for (int x = 0; x < count; ++x) launch(first_copy + x);
    check(cudaEventRecord(end_), "event");
  }
  void launch(int copy) const {
    check(form_.run(desc_, buffers_.pointers(copy % buffers_.copies()), raster_), form_.name.c_str());
  }

  const ProductDesc& desc_;
  const Buffers& buffers_;
  const Form& form_;
  int raster_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// What is printed of a form, and the record.
void print(const ProductDesc& desc, const Form& form, int raster, const Result& r, bool is_right,
           const cudaDeviceProp& device, const std::string& commit, const bench::Records& records) {
  const double call_ms = r.calls_ms.empty() ? 0 : bench::median(r.calls_ms);
  const double sustained_ms = settled(r.sustained_ms);
  const bench::Shape shape{desc.m, desc.n, desc.k};
  const double tera_ops = 2e-12 * static_cast<double>(desc.m) * static_cast<double>(desc.n) *
                          static_cast<double>(desc.k) * desc.num_products;
  const auto tops = [&](double ms) { return ms > 0 ? tera_ops / (1e-3 * ms) : 0.0; };
  const double predicted = tera_ops / form.predicted_seconds(desc);
  std::fprintf(stderr, "%17s %-30s %6d %9.4f %9.0f %9.0f %9.0f %9.0f  %s%s\n", to_string(shape).c_str(),
               form.name.c_str(), raster, call_ms, tops(call_ms), tops(r.burst_ms), tops(sustained_ms), predicted,
               is_right ? "" : "WRONG", form.is_chosen(desc) ? "chosen" : "");
  records.append(
      bench::Json{{"date", bench::today()},
                  {"commit", commit},
                  {"driver", bench::Gauges().driver},
                  {"case", "product " + to_string(shape) + " planes=" + std::to_string(desc.num_products) + " reduce"},
                  {"bytes", desc.has_unsigned_bytes ? kUnsigned : kSigned},
                  {"residues", "folded"},  // by what: the forms of other records are of other kernels
                  {"form", form.name},
                  {"raster", raster},
                  {"tops", tops(call_ms)},
                  {"ms", call_ms},
                  {"burst_tops", tops(r.burst_ms)},
                  {"burst_ms", r.burst_ms},
                  {"sustained_tops", tops(sustained_ms)},
                  {"sustained_ms", sustained_ms},
                  {"sustained_sm_mhz", settled(r.sustained_mhz)},
                  {"sustained_watts", settled(r.sustained_watts)},
                  {"correct", is_right},
                  {"device", device.name}});
}

[[nodiscard]] ProductDesc planes_of(const bench::Shape& shape, int planes, int planes_of_modulus) {
  const auto rounded = [](std::int64_t extent) { return std::max<std::int64_t>(64, extent / 64 * 64); };
  ProductDesc desc;
  desc.m = rounded(shape.m);
  desc.n = rounded(shape.n);
  desc.k = rounded(shape.k);
  desc.num_products = planes;
  desc.planes_of_modulus = planes_of_modulus;
  for (int l = 0; l * planes_of_modulus < planes; ++l) {
    desc.moduli[static_cast<std::size_t>(l)] = kizami::num::kRealModuli[static_cast<std::size_t>(l)];
  }
  desc.a_row_stride = desc.b_row_stride = desc.k;
  desc.c_col_stride = desc.m;
  desc.a_plane_stride = desc.m * desc.k;
  desc.b_plane_stride = desc.n * desc.k;
  desc.c_plane_stride = desc.m * desc.n;
  return desc;
}

/// @return whether every form made the same, right C
bool run_shape(const bench::Shape& shape, bool is_unsigned, const Options& options, const cudaDeviceProp& device,
               const bench::Records& records) {
  ProductDesc desc = planes_of(shape, options.planes * options.planes_of_modulus, options.planes_of_modulus);
  desc.has_unsigned_bytes = is_unsigned;
  const Buffers buffers(desc, static_cast<std::size_t>(device.l2CacheSize));
  bool is_ok = true;
  bool is_first = true;
  unsigned long long checksum = 0;
  kizami::base::DeviceLimits limits;
  check(kizami::base::find_device_limits(limits), "the device");
  for (const Form& form : all_forms(limits)) {
    if (!form.accepts(desc) || (options.only_chosen && !form.is_chosen(desc))) continue;
    if (!options.forms.empty() &&
        std::find(options.forms.begin(), options.forms.end(), form.name) == options.forms.end()) {
      continue;
    }
    for (const int raster : options.rasters) {
      const Result r = Measurement(desc, buffers, form, raster).measure(options);
      if (is_first) checksum = r.checksum;
      is_first = false;
      const bool is_right = r.checksum == checksum && r.num_wrong == 0;
      is_ok = is_ok && is_right;
      print(desc, form, raster, r, is_right, device, options.commit, records);
    }
  }
  return is_ok;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const cudaDeviceProp device = bench::device_properties();
  std::fprintf(stderr, "%s, %d multiprocessors, L2 %.0f MB\n", device.name, device.multiProcessorCount,
               static_cast<double>(device.l2CacheSize) / 1e6);
  std::fprintf(stderr, "%17s %-30s %6s %9s %9s %9s %9s %9s  %s\n", "m x n x k", "form", "raster", "call ms", "call",
               "burst", "sustained", "predicted", "TOPS");
  bool is_ok = true;
  for (const bench::Shape& shape : options.shapes) {
    for (const std::string& bytes : options.bytes)
      is_ok = run_shape(shape, bytes == kUnsigned, options, device, records) && is_ok;
  }
  return is_ok ? 0 : 1;
}

void add_options(bench::Program& program, Options& options) {
  std::vector<std::string> names;
  for (const Form& form : all_forms({})) names.push_back(form.name);
  bench::add_shapes(program, options.shapes);
  program.add_option("--planes", options.planes, "residues that are multiplied")
      ->check(CLI::Range(1, static_cast<int>(kizami::num::kRealModuli.size())));
  program.add_option("--planes-of-modulus", options.planes_of_modulus, "planes for each residue: 7 are Strassen's")
      ->check(CLI::Range(1, kizami::product::kMaxPlanesOfModulus));
  program.add_option("--form", options.forms, "names of forms; without it all")->check(CLI::IsMember(names));
  program.add_flag("--chosen", options.only_chosen, "only forms that their engines take");
  program.add_option("--raster", options.rasters, "tiles along i before the next j; 0: the engine's choice");
  program.add_option("--bytes", options.bytes, "residues are symmetric, signed ones, or from 0 to p - 1, unsigned")
      ->check(CLI::IsMember({kSigned, kUnsigned}));
  program.add_option("--rounds", options.rounds, "timed launches; 0: one that is not timed")
      ->check(CLI::Range(0, 100000));
  program.add_option("--sustained", options.sustained_seconds, "seconds of launches back to back")
      ->check(bench::between(0, 3600));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_product", "The product kernels of engines hopper and mma in each of their forms");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
