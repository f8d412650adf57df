// SPDX-License-Identifier: MIT
// Times the product of all residue planes and the CRT, one after the other and side by side, on the same buffers.
//
//   bench_gpu_crt_beside --type dzc --n 4096 8192x8192x1024 --group 66 --threads 96 --rounds 9
//
// Planes are residues of integers that are drawn at random, as a split makes them, so that the CRT of their sums settles
// as few quotients as that of a call. Ways:
//   two_kernels       the engine's form, then the CRT's kernel
//   two_permuted      the same with the form that the reporting product has
//   product, product_permuted, product_reporting   no CRT; the last one goes block by block and reports
//   beside_kernel     the CRT as a kernel beside the reporting product
//   beside_warps      the CRT as warps of the reporting product's blocks, and that kernel behind it
// Each time is that of --calls calls back to back over their number; ways take turns, and the median of --rounds is told.
// C of every way is compared with that of two_kernels, bit for bit. One JSON line for each way: "span_us" is the time from
// the first block of the CRT's kernel to the last one, "early_blocks" how many began in its first half. Where nothing runs
// beside the product, the span is that of a CRT alone and not that of a product.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/int_math.hpp"
#include "device/state.hpp"
#include "engines/hopper/forms.hpp"
#include "gpu_crt_beside/crt_beside.hpp"
#include "gpu_crt_beside/data.hpp"
#include "harness/device.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "num/crt_table.hpp"
#include "num/moduli.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace {

using namespace kizami;
using bench::check;

struct Options {
  std::vector<char> types{'d'};
  std::vector<bench::Shape> shapes{{4096, 4096, 4096}};
  std::vector<std::uint32_t> groups{66};
  std::vector<unsigned> threads{96};
  std::vector<unsigned> blocks{4};
  std::vector<int> paced{1};
  std::vector<std::string> ways;
  int moduli = 0;  ///< 0: those of the lowest rung
  int rounds = 9;
  int calls = 3;
  std::string commit = "unknown";
  std::string json;
};

// ---- data ------------------------------------------------------------------------------------------------------------

template <class T>
class Memory {
 public:
  explicit Memory(std::int64_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc");
  }
  explicit Memory(const std::vector<T>& values) : Memory(static_cast<std::int64_t>(values.size())) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "upload");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  void fill(int byte) const { check(cudaMemset(data_, byte, bytes()), "memset"); }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(static_cast<std::size_t>(count_));
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "download");
    return values;
  }

 private:
  std::int64_t count_;
  T* data_ = nullptr;
};

// ---- a case ----------------------------------------------------------------------------------------------------------

/// Of the lowest rung, and bits of integers whose products of k = 4096 stay within it.
template <class T>
struct LowestRung;
template <>
struct LowestRung<double> {
  static constexpr int kModuli = 14;
  static constexpr int kBits = 48;
};
template <>
struct LowestRung<std::complex<double>> {
  static constexpr int kModuli = 15;
  static constexpr int kBits = 48;
};
template <>
struct LowestRung<std::complex<float>> {
  static constexpr int kModuli = 7;
  static constexpr int kBits = 20;
};

constexpr std::int64_t kSkew = 129 * 128;  // as the planes of a call

[[nodiscard]] product::ProductDesc describe(const bench::Shape& shape, num::Ring ring, int moduli) {
  product::ProductDesc desc;
  desc.m = base::round_up(shape.m, 16);
  desc.n = shape.n;
  desc.k = shape.k;
  desc.num_products = num::num_planes(ring, moduli);
  for (int l = 0; l < desc.num_products; ++l)
    desc.moduli[static_cast<std::size_t>(l)] = num::modulus(ring, num::modulus_number(ring, l));
  desc.a_row_stride = desc.b_row_stride = base::round_up(shape.k, 128);
  desc.c_col_stride = base::round_up(shape.m, 128);
  desc.a_plane_stride = base::round_up(shape.m, 128) * desc.a_row_stride + kSkew;
  desc.b_plane_stride = base::round_up(shape.n, 128) * desc.b_row_stride + kSkew;
  desc.c_plane_stride = shape.n * desc.c_col_stride + kSkew;
  return desc;
}

[[nodiscard]] std::vector<std::int32_t> scales(std::int64_t lines) {
  std::vector<std::int32_t> scale(static_cast<std::size_t>(lines));
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 48 + static_cast<std::int32_t>(i % 5);
  return scale;
}

template <class T>
struct Case {
  static constexpr num::Ring kRing = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;

  Case(const bench::Shape& wanted, int wanted_moduli, int multiprocessors)
      : shape(wanted),
        moduli(wanted_moduli == 0 ? LowestRung<T>::kModuli : wanted_moduli),
        num_sms(multiprocessors),
        desc(describe(shape, kRing, moduli)),
        a(desc.num_products * desc.a_plane_stride),
        b(desc.num_products * desc.b_plane_stride),
        residues(desc.num_products * desc.c_plane_stride),
        tables(ozaki2::make_device_crt_tables(kRing)),
        row_scale(scales(desc.m)),
        col_scale(scales(desc.n)),
        state(std::vector<device::DeviceState>(2, state_of(desc.num_products))),
        expected(shape.m * shape.n),
        c(shape.m * shape.n),
        differences(1) {
    fill(a, desc.a_plane_stride, desc.m * desc.a_row_stride, 0);
    fill(b, desc.b_plane_stride, desc.n * desc.b_row_stride, 1);
    device::DeviceState none = state_of(desc.num_products);
    none.selection.rung = -1;
    check(cudaMemcpy(state.data() + 1, &none, sizeof(none), cudaMemcpyHostToDevice), "state");
    check(cudaDeviceSynchronize(), "fill");
  }

  [[nodiscard]] static device::DeviceState state_of(int planes) {
    device::DeviceState state;
    state.selection.rung = 0;
    state.num_products = planes;
    return state;
  }
  void fill(const Memory<std::int8_t>& to, std::int64_t plane_stride, std::int64_t size, std::uint64_t operand) {
    to.fill(0);
    for (int l = 0; l < desc.num_products; ++l) {
      const int p = desc.moduli[static_cast<std::size_t>(l)];
      const int root = kIsComplex<T> ? (l % 2 == 0 ? 1 : -1) * num::sqrt_minus_one(p) : 0;
      bench::fill_plane(to.data() + l * plane_stride, size, p, root, LowestRung<T>::kBits, operand << 50);
    }
  }
  [[nodiscard]] product::Pointers pointers() const {
    return {a.data(), b.data(), residues.data(), &state.data()->num_products};
  }
  /// @param has_crt  false: a rung that nobody reconstructs
  [[nodiscard]] ozaki2::DeviceReconstruction<T> crt(T* to, bool has_crt) const {
    ozaki2::DeviceReconstruction<T> task;
    task.planes = {residues.data(), moduli, desc.c_col_stride, desc.c_plane_stride};
    task.tables = tables.data();
    task.row_scale = row_scale.data();
    task.col_scale = col_scale.data();
    task.ladder.num_rungs = 1;
    task.ladder.rungs[0].num_moduli = moduli;
    task.state = state.data() + (has_crt ? 0 : 1);
    task.alpha = Factor<T>(T(1));
    task.c = {to, shape.m, shape.n, 1, shape.m};
    return task;
  }
  [[nodiscard]] unsigned long long num_differences() const {
    differences.fill(0);
    bench::count_differences(expected.data(), c.data(), c.bytes(), differences.data());
    return differences.download()[0];
  }

  bench::Shape shape;
  int moduli;
  int num_sms;
  product::ProductDesc desc;
  Memory<std::int8_t> a;
  Memory<std::int8_t> b;
  Memory<std::int8_t> residues;
  Memory<ozaki2::DeviceCrtTable> tables;
  Memory<std::int32_t> row_scale;
  Memory<std::int32_t> col_scale;
  Memory<device::DeviceState> state;  ///< [2]: of a call, and of one without a rung
  Memory<T> expected;
  Memory<T> c;
  Memory<unsigned long long> differences;
};

// ---- ways ------------------------------------------------------------------------------------------------------------

struct Way {
  std::string name;
  bench::Json record;  ///< what tells it from others of the name
  std::function<void()> call;
  bool makes_c = true;
  const Memory<std::uint32_t>* words = nullptr;
  const Memory<std::uint64_t>* times = nullptr;
  std::vector<double> us{};
};

class Events {
 public:
  Events() {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  [[nodiscard]] double microseconds(const std::function<void()>& call, int calls) const {
    bench::wait_cycles(100000 + 40000LL * calls);
    check(cudaEventRecord(begin_), "event");
    for (int i = 0; i < calls; ++i) call();
    check(cudaEventRecord(end_), "event");
    check(cudaEventSynchronize(end_), "timed calls");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return 1e3 * static_cast<double>(ms) / calls;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Of the blocks of the CRT's kernel in its last launch.
struct Span {
  double us = 0;
  int early_blocks = 0;
};
[[nodiscard]] Span span_of(const std::vector<std::uint64_t>& times) {
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (std::size_t at = 0; at + 1 < times.size(); at += 2) {
    first = std::min(first, times[at]);
    last = std::max(last, times[at + 1]);
  }
  Span span{static_cast<double>(last - first) * 1e-3, 0};
  for (std::size_t at = 0; at + 1 < times.size(); at += 2) span.early_blocks += 2 * (times[at] - first) < last - first;
  return span;
}

template <class T>
class Comparison {
 public:
  Comparison(const bench::Shape& shape, char type, const Options& options, const cudaDeviceProp& device)
      : options_(options), device_(device), type_(type), case_(shape, options.moduli, device.multiProcessorCount) {
    const engines::HopperForm form = engines::tile_for(case_.desc);
    const bench::Json none = bench::Json::object();
    constexpr auto kPermuted = engines::HopperForm::kCooperative256x128Permuted;
    const auto product = [this](engines::HopperForm which) {
      check(engines::run_hopper_product(case_.desc, case_.pointers(), which, nullptr), "product");
    };
    const auto crt = [this](T* to) {
      check(ozaki2::reconstruct_by_numbers(case_.crt(to, true), case_.num_sms, nullptr), "CRT");
    };
    two_kernels_ = [=, this](T* to) { product(form), crt(to); };
    add("two_kernels", none, [this] { two_kernels_(case_.c.data()); });
    add("two_permuted", none, [=, this] { product(kPermuted), crt(case_.c.data()); });
    add("product", none, [=] { product(form); }).makes_c = false;
    add("product_permuted", none, [=] { product(kPermuted); }).makes_c = false;
    for (const std::uint32_t group : options.groups) {
      for (const int paced : options.paced) {
        const bench::Json walk{{"group", group}, {"paced", paced != 0}};
        bench::BesideCall<T> call;
        call.desc = case_.desc;
        call.pointers = case_.pointers();
        call.num_sms = case_.num_sms;
        call.reports = bench::make_reports(case_.desc, case_.num_sms, {group, 8, paced != 0});
        const auto add_beside = [&](const char* name, const bench::Json& record, bool has_crt) {
          words_.push_back(std::make_unique<Memory<std::uint32_t>>(std::int64_t{call.reports.num_words()}));
          words_.back()->fill(0);
          call.reports.words = words_.back()->data();
          call.crt = case_.crt(case_.c.data(), has_crt);
          times_.push_back(std::make_unique<Memory<std::uint64_t>>(std::int64_t{2} * call.shape.blocks_per_sm *
                                                                   static_cast<unsigned>(case_.num_sms)));
          call.times = times_.back()->data();
          Way& way = add(name, record, [call] { check(bench::run_beside(call, nullptr), "beside"); });
          way.makes_c = has_crt;
          way.words = words_.back().get();
          way.times = times_.back().get();
        };
        call.shape = {};
        add_beside("product_reporting", walk, false);
        for (const bench::CrtPlace place : {bench::CrtPlace::kKernel, bench::CrtPlace::kWarps}) {
          for (const unsigned threads : options.threads) {
            for (const unsigned blocks : options.blocks) {
              bench::Json record = walk;
              record["threads"] = threads;
              record["blocks_per_sm"] = blocks;
              call.place = place;
              call.shape = {threads, blocks};
              add_beside(place == bench::CrtPlace::kKernel ? "beside_kernel" : "beside_warps", record, true);
            }
          }
        }
        call.place = bench::CrtPlace::kKernel;
      }
    }
  }

  /// @return whether every way made the same C
  bool run(const bench::Records& records) {
    two_kernels_(case_.expected.data());
    check(cudaDeviceSynchronize(), "two kernels");
    std::vector<bool> is_right;
    for (Way& way : ways_) {
      case_.residues.fill(0x55);
      case_.c.fill(0xA5);
      way.call();
      check(cudaDeviceSynchronize(), way.name.c_str());
      bool is_same = !way.makes_c || case_.num_differences() == 0;
      if (way.words != nullptr) {
        const std::vector<std::uint32_t> words = way.words->download();
        is_same = is_same && std::all_of(words.begin(), words.end(), [](std::uint32_t word) { return word == 0; });
      }
      is_right.push_back(is_same);
    }
    for (int round = 0; round < options_.rounds; ++round) {
      for (Way& way : ways_) way.us.push_back(events_.microseconds(way.call, options_.calls));
    }
    bool is_ok = true;
    for (std::size_t at = 0; at < ways_.size(); ++at) {
      print(ways_[at], is_right[at], records);
      is_ok = is_ok && is_right[at];
    }
    return is_ok;
  }

 private:
  Way& add(const std::string& name, const bench::Json& record, std::function<void()> call) {
    if (!options_.ways.empty() && std::find(options_.ways.begin(), options_.ways.end(), name) == options_.ways.end()) {
      unused_ = Way{name, record, std::move(call)};
      return unused_;
    }
    ways_.push_back(Way{name, record, std::move(call)});
    return ways_.back();
  }

  void print(const Way& way, bool is_right, const bench::Records& records) const {
    const bench::Spread us = bench::spread(way.us);
    bench::Json record{{"case", std::string(1, type_) + " " + bench::to_string(case_.shape) +
                                    " planes=" + std::to_string(case_.desc.num_products)},
                       {"way", way.name},
                       {"us", us.median},
                       {"least_us", us.min},
                       {"most_us", us.max},
                       {"equal", is_right}};
    if (way.times != nullptr) {
      const Span span = span_of(way.times->download());
      record["span_us"] = span.us;
      record["early_blocks"] = span.early_blocks;
    }
    record.update(way.record);
    record["calls"] = options_.calls;
    record["commit"] = options_.commit;
    record["date"] = bench::today();
    record["device"] = device_.name;
    std::fprintf(stderr, "%c %-16s %-18s %10.1f  (%.1f .. %.1f)  %s %s\n", type_, bench::to_string(case_.shape).c_str(),
                 way.name.c_str(), us.median, us.min, us.max, is_right ? "" : "WRONG", way.record.dump().c_str());
    records.append(record);
  }

  const Options& options_;
  const cudaDeviceProp& device_;
  char type_;
  Case<T> case_;
  Events events_;
  std::function<void(T*)> two_kernels_;
  std::vector<std::unique_ptr<Memory<std::uint32_t>>> words_;
  std::vector<std::unique_ptr<Memory<std::uint64_t>>> times_;
  std::vector<Way> ways_;
  Way unused_;
};

template <class T>
bool compare(char type, const Options& options, const cudaDeviceProp& device, const bench::Records& records) {
  bool is_ok = true;
  for (const bench::Shape& shape : options.shapes)
    is_ok = Comparison<T>(shape, type, options, device).run(records) && is_ok;
  return is_ok;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const cudaDeviceProp device = bench::device_properties();
  bool is_ok = true;
  for (const char type : options.types) {
    if (type == 'd') is_ok = compare<double>(type, options, device, records) && is_ok;
    if (type == 'z') is_ok = compare<std::complex<double>>(type, options, device, records) && is_ok;
    if (type == 'c') is_ok = compare<std::complex<float>>(type, options, device, records) && is_ok;
  }
  return is_ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_crt_beside",
                         "The product of residue planes and the CRT, side by side and one after the other");
  bench::add_types(program, options.types, "dzc");
  bench::add_shapes(program, options.shapes);
  program.add_option("--group", options.groups, "blocks of 256 x 256 that are multiplied at a time")
      ->check(CLI::Range(1u, 1u << 20));
  program.add_option("--threads", options.threads, "of a block of the CRT beside a product")
      ->check(CLI::IsMember({32u, 64u, 96u, 128u}));
  program.add_option("--blocks", options.blocks, "of that for each multiprocessor")->check(CLI::Range(1u, 16u));
  program.add_option("--paced", options.paced, "1: clusters wait for each other in k")->check(CLI::Range(0, 1));
  program.add_option("--way", options.ways, "of those that the records name; without it all");
  program.add_option("--moduli", options.moduli, "0: those of the lowest rung")->check(CLI::Range(0, 15));
  program.add_option("--rounds", options.rounds, "in turn over the ways")->check(CLI::Range(1, 10000));
  program.add_option("--calls", options.calls, "back to back")->check(CLI::Range(1, 1000));
  bench::add_commit(program, options.commit);
  bench::add_json(program, options.json);
  return program.run(argc, argv, [&] { return run(options); });
}
