// SPDX-License-Identifier: MIT
// From a product, a scheme and a device to seconds by phase.
//
// This is a reconstruction. The document whose model it repeats [Nakajima, section 5] says that computation and data handling are apart, that
// the roofline model is extended by the structure of the Ozaki scheme, and what follows for Grace Blackwell; it prints no
// equation. With its symbols, l slices, r products of an accumulator:
//   P = l (l + 1) / 2,  G = sum over g = 2 .. l + 1 of ceil((g - 1) / r),  r = floor((2^31 - 1) / (k maxA maxB))
//   T = T_mm + T_data
//   T_mm   EF_S     sum over (g, h) of max(2 m n kc / R8, (m kc + kc n + 4 m n) / B),  kc = k (min(h r, g - 1) - (h - 1) r)
//          EF       kc = k for each pair, C read and written (8 m n) after the first of a group
//          ozIMMU   r = 1: P separate C
//          EF_L     EF_S on blocks of the larger operand, on streams: max(T_mm, T_data)
//   T_data split (m + n) k (2 p + l) bytes, p the bytes of an element;  sums 20 m n G with C in memory, m n (4 G + p) fused;
//          scaling 16 m n
//   rate   2 m n k / T, at most R8 / P. EF_S overtakes native if R8 / R64 > P (1 + T_data / T_mm)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kizami/export.h"
#include "kizami/names.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::model {

/// Numbers of a description, by their words in a file. Rates are dense and of one GPU.
enum class Fact {
  kSms,
  kClockGhz,
  kFp64Tflops,        ///< outside of tensor cores
  kFp64TensorTflops,  ///< absent: there are none
  kFp32Tflops,
  kFp16Tflops,  ///< products of tensor cores, summed in FP32; so are the next three, INT8 in INT32
  kTf32Tflops,
  kFp8Tflops,
  kInt8Tops,
  kBandwidthTbs,
  kL2Mb,
  kPowerW,
  kInt32PerSmCycle,      ///< integer instructions of 32 bits
  kCopyTbs,              ///< bytes read and written
  kLaunchUs,             ///< of one launch behind another
  kSustainedShare,       ///< of a short burst of products, at the limit of power
  kProductPowerW,        ///< while products run without end
  kLongProductClockGhz,  ///< of products of some milliseconds
  kMmaShare,             ///< what engine mma reached of the rate that its model predicts
  kInt8WideTops,         ///< a library's products of more than 8192 lines of either operand
};
inline constexpr std::size_t kNumFacts = 20;

/// One number and where it is from.
struct Quantity {
  double value = 0;
  bool is_uncertain = false;
  std::string source;                              ///< keys of Device::sources, joined by '+'
  std::optional<std::pair<double, double>> range;  ///< in which it lies, where sources disagree
  std::string note;
  /// n of a square product, of int8_wide_tops gigabytes of both operands, and the rate there, ascending; empty: one rate for all
  std::vector<std::pair<double, double>> by_size;
};

struct KIZAMI_API Device {
  std::string name;                       ///< one word: "h200"
  std::string title;                      ///< "NVIDIA H200 SXM 141 GB"
  int compute_capability = 0;             ///< 90
  std::vector<std::string> driver_names;  ///< what its driver calls it, without "NVIDIA "
  std::array<std::optional<Quantity>, kNumFacts> sheet;
  std::array<std::optional<Quantity>, kNumFacts> measured;
  std::vector<std::pair<std::string, std::string>> sources;  ///< key and text

  [[nodiscard]] const Quantity* find_sheet(Fact fact) const;
  [[nodiscard]] const Quantity* find_measured(Fact fact) const;
};

/// @param origin  of the text, for errors: a file
/// @status kInvalidArgument: "rtx.json: sheet.sms = -3, must be ..."; says the first defect only
KIZAMI_API Result<Device> parse_device(std::string_view text, std::string_view origin);

/// Those that the library knows, by name: devices/*.json.
[[nodiscard]] KIZAMI_API const std::vector<Device>& known_devices();
/// By name, or by what a driver calls it. Null: there is none.
[[nodiscard]] KIZAMI_API const Device* find_device(std::string_view name);

enum class Roof { kLaunch, kMemory, kL2, kTensor, kFp64Instructions, kInt32Instructions, kIssue };
inline constexpr std::size_t kNumRoofs = 7;

/// What is multiplied. The last two may be outside of tensor cores.
enum class Format { kInt8, kFp8, kFp16, kTf32, kFp32, kFp64 };
inline constexpr std::size_t kNumFormats = 6;

/// The two halves of the model: products, and what is done to get at them.
enum class Part { kComputation, kDataHandling };

/// Which numbers of a description count.
enum class Basis {
  kSheet,       ///< its sheet alone
  kCalibrated,  ///< what was measured of it before its sheet
};

/// Seconds of a phase, or of several that are one in a report.
struct KIZAMI_API PhaseTime {
  std::string_view phase;
  Part part = Part::kDataHandling;
  double seconds = 0;
  /// What each roof by itself would take, launches among them.
  std::array<double, kNumRoofs> of_roof{};
  /// The seconds in which each roof was the lowest. Their sum is `seconds`.
  std::array<double, kNumRoofs> held{};

  /// The one that holds the phase longest.
  [[nodiscard]] Roof roof() const;
  /// One after the other. @range of the same phase
  void add(const PhaseTime& other);
};

/// Whose program is predicted.
enum class ProgramName {
  kKizami,     ///< engine hopper: residues in the epilogue of the product, one launch
  kPortable,   ///< engine cublaslt: INT32 sums go to memory, one call a product
  kGemmul8,    ///< GEMMul8 by Uchino, version 3
  kDocuments,  ///< ozIMMU and its kin over cuBLAS, as their documents describe them
};

enum class Way { kNative, kOzimmu, kEf, kEfS, kEfL, kOzaki2, kEc };
enum class ComplexForm { kAuto, kKaratsuba, kEnlarged, kFour };

/// A product and how it is to be done. Zeros are defaults.
struct Request {
  Scalar scalar = Scalar::kF64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Way way = Way::kOzaki2;
  std::optional<ProgramName> program;  ///< default: kKizami on compute capability 9.0, kPortable elsewhere
  Basis basis = Basis::kCalibrated;
  int slices = 0;                 ///< 7
  int moduli = 0;                 ///< 14 for FP64, 15 complex, 7 for FP32
  Format format = Format::kInt8;  ///< of ozaki2: kInt8, or kFp8 with 12 moduli of three products; of ec: kFp16 or kTf32
  bool is_accurate = false;       ///< GEMMul8: scaling by a product of its own
  bool is_update = false;         ///< beta is not 0: C is read, too
  ComplexForm complex_form = ComplexForm::kAuto;
  /// Slices: 8 bits each, the bytes of one integer, as Kizami makes them where nothing else is wished
  /// (SliceSplit::kBytes); else truncated ones, as the documents have them.
  bool has_byte_digits = false;
  bool may_take_quadrants = true;  ///< ozaki2: seven products of quadrants for eight (Strassen), where that is quicker
  std::int64_t block_lines = 0;    ///< slices concatenated by a library: of the longer side of C in one call; 0: all
  /// One triangle of C <- A A^T, n n k operations: m = n, way kOzaki2 in INT8 by program kKizami.
  bool is_triangle = false;
};

struct KIZAMI_API Prediction {
  std::vector<PhaseTime> phases;
  double seconds = 0;
  double tflops = 0;
  std::optional<double> sustained_seconds;  ///< minutes into a run; where the device says what power leaves
  std::optional<double> joules;             ///< of one product then
  double bound_tflops = 0;                  ///< what products alone allow at the sheet's rate: R / P
  int products = 0;                         ///< of low precision, real
  int accumulators = 0;                     ///< sums of them that are read
  std::string program;
  std::string complex_form;         ///< empty: real
  bool has_quadrants = false;       ///< ozaki2 by Strassen's products of quadrants
  std::vector<std::string> doubts;  ///< numbers of the device that are uncertain, and what nobody ran

  [[nodiscard]] double seconds_of(Part part) const;
};

/// @status kInvalidArgument: names what is out of range; kUnsupported: way, program, type and device do not go together
KIZAMI_API Result<Prediction> predict(const Device& device, const Request& request);

// ---- several devices ------------------------------------------------------------------------------------------------
// With p devices in a grid of pr x pc, blocks mb x nb, e bytes of an element, q parts of a block:
//   travels to a device   pieces: k e (mb (1 - 1/pc) + nb (1 - 1/pr)); of that, from its node as much as the node's own
//                         part of the grid holds, the rest over the network, at the same time
//                         device: k e (mb + nb) for each but the first, all from that one's link, and C back
//                         host: k e (mb + nb), and C back
//   T = travel of the panel that all parts share and of 1/q of the other
//       + max(products of all parts, travel of the rest + products of the last part) + C of the last part back + agreement
//   agreement = kReductions * 2 ceil(log2(p)) latency between nodes; kHostWait within one
//
// One triangle of C <- A A^T within a node: blocks are those of kizami::multi, which cuts by area, l lines of A of a device
// for all of its blocks, s elements of C in them:
//   travels to a device   pieces: k e l (1 - 1/p); device: k e l for each but the first, all from that one's link; host: k e l
//   C of a block          pieces: e s (1 - 1/p) leave, for no piece has the form of a block; device, host: as above
//   T = of the device that ends last: blocks one after another, each behind its lines, of which those of the first are
//       hidden by nothing; C of the last one; agreement

/// Where the matrices of a shared product lie.
enum class Home { kPieces, kDevice, kHost };

/// Devices that share a product, and what connects them. Rates are of one device, each way, and not zero.
struct Cluster {
  int devices = 1;          ///< in all
  int devices_of_node = 8;  ///< devices of a node; the last one may have fewer
  double link_gbs = 392;    ///< between devices of a node: NVLink of two H200, measured
  double network_gbs = 50;  ///< to devices of other nodes: 400 Gb/s
  double host_gbs = 50;     ///< from page-locked memory: PCIe 5
  double latency_us = 5;    ///< of a message between nodes
  Home home = Home::kPieces;
  /// Of a device's block; 0: four within a node, one across nodes, where panels come before anything is multiplied.
  int parts = 0;
};

/// All-reduces of a call of several processes, of operands as given (include/kizami/ranks.hpp).
inline constexpr int kReductions = 12;

/// What holds a shared product up.
enum class Limit { kProducts, kLinks, kNetwork, kHostMemory, kAgreement };
inline constexpr std::size_t kNumLimits = 5;

struct KIZAMI_API SharedPrediction {
  int grid_rows = 1;  ///< of a triangle 0, and so is the next: it is cut by area
  int grid_cols = 1;
  std::int64_t block_rows = 0;  ///< the largest; of a triangle that of the device that ends last
  std::int64_t block_cols = 0;
  int parts = 1;                                ///< of a triangle blocks of the device that ends last
  Prediction one;                               ///< of one part, on one device
  std::array<double, kNumLimits> of_limit{};    ///< seconds that each takes by itself
  std::array<double, kNumLimits> seconds_of{};  ///< as much of them as nothing hides; their sum is `seconds`
  double seconds = 0;
  double tflops = 0;      ///< of all devices
  double efficiency = 0;  ///< of `devices` times the rate of one for the whole product
  double bytes_in = 0;    ///< that travel to a device

  [[nodiscard]] Limit limit() const;  ///< with the most of `seconds`
};

/// @status as predict(); kInvalidArgument also: devices, parts or rates of the cluster; blocks without elements.
///         kUnsupported also: a triangle on several nodes, or on more devices than kizami::multi has
KIZAMI_API Result<SharedPrediction> predict_shared(const Device& device, const Request& request,
                                                   const Cluster& cluster);

}  // namespace kizami::model

namespace kizami {
template <>
struct Names<model::Home> {
  static constexpr std::string_view kAll[] = {"pieces", "device", "host"};
};
template <>
struct Names<model::Limit> {
  static constexpr std::string_view kAll[] = {"products", "links of the node", "network", "host memory", "agreement"};
};
template <>
struct Names<model::Fact> {
  static constexpr std::string_view kAll[] = {"sms",
                                              "clock_ghz",
                                              "fp64_tflops",
                                              "fp64_tensor_tflops",
                                              "fp32_tflops",
                                              "fp16_tflops",
                                              "tf32_tflops",
                                              "fp8_tflops",
                                              "int8_tops",
                                              "bandwidth_tbs",
                                              "l2_mb",
                                              "power_w",
                                              "int32_per_sm_cycle",
                                              "copy_tbs",
                                              "launch_us",
                                              "sustained_share",
                                              "product_power_w",
                                              "long_product_clock_ghz",
                                              "mma_share",
                                              "int8_wide_tops"};
};
static_assert(std::size(Names<model::Fact>::kAll) == model::kNumFacts);
template <>
struct Names<model::Roof> {
  static constexpr std::string_view kAll[] = {
      "launch", "memory", "L2 cache", "products", "FP64 instructions", "INT32 instructions", "issue"};
};
template <>
struct Names<model::Format> {
  static constexpr std::string_view kAll[] = {"int8", "fp8", "fp16", "tf32", "fp32", "fp64"};
};
template <>
struct Names<model::Part> {
  static constexpr std::string_view kAll[] = {"computation", "data handling"};
};
template <>
struct Names<model::Basis> {
  static constexpr std::string_view kAll[] = {"sheet", "calibrated"};
};
template <>
struct Names<model::ProgramName> {
  static constexpr std::string_view kAll[] = {"kizami", "portable", "gemmul8", "documents"};
};
template <>
struct Names<model::Way> {
  static constexpr std::string_view kAll[] = {"native", "ozimmu", "ef", "ef_s", "ef_l", "ozaki2", "ec"};
};
template <>
struct Names<model::ComplexForm> {
  static constexpr std::string_view kAll[] = {"auto", "karatsuba", "enlarged", "four"};
};
}  // namespace kizami
