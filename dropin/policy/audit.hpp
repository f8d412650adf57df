// SPDX-License-Identifier: MIT
// What an audit keeps (KIZAMI_AUDIT): calls of an unchanged program, answered by its own library, by place, routine and
// shape; their times; and of sampled ones, what their elements ask for and how far the library was from the exact
// result. Samples keep to a share of the time that the process has run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "dropin/policy/call.hpp"
#include "dropin/policy/record.hpp"
#include "dropin/policy/sample.hpp"
#include "kizami/policy.hpp"

namespace kizami::dropin {

enum class AuditState : std::uint8_t { kUnknown, kOff, kOn };
inline constinit std::atomic<AuditState> audit_state{AuditState::kUnknown};
/// is_audited(), asked for the first time.
[[nodiscard]] bool ask_audited() noexcept;

/// Whether this process is audited.
[[nodiscard]] inline bool is_audited() noexcept {
  const AuditState state = audit_state.load(std::memory_order_relaxed);
  return state == AuditState::kUnknown ? ask_audited() : state == AuditState::kOn;
}

/// Calls that are one row of the report.
struct AuditKey {
  const void* caller = nullptr;
  const char* name = "";  ///< of the function, one text for each
  Shape shape;
  char type = 0;  ///< s, d, c, z as in rules; 0: other elements
  std::int64_t num_products = 1;
  const char* note = nullptr;  ///< what to know of its errors, which lives as long as the process; or null
};

[[nodiscard]] constexpr char type_letter(Scalar scalar) {
  return scalar == Scalar::kF32 ? 's' : scalar == Scalar::kF64 ? 'd' : scalar == Scalar::kC64 ? 'c' : 'z';
}

/// What the planner says of a call of a program that asks for nothing: as the drop-in library chooses at run time.
struct Emulation {
  Scheme scheme = Scheme::kNative;  ///< the planner's choice
  double seconds = 0;               ///< of Kizami, by scheme_to_compare(); 0: not known
  double native_seconds = 0;        ///< of the native library; 0: not known
  int base_moduli = 0;              ///< that seconds are of; 0: no scheme of moduli
  int max_moduli = 0;               ///< that Kizami goes up to where elements ask for it
};

/// The scheme whose time is put beside the native library's: ozaki2 where the planner prefers that.
[[nodiscard]] constexpr Scheme scheme_to_compare(Scheme chosen) {
  return chosen == Scheme::kNative ? Scheme::kOzaki2 : chosen;
}

/// Seconds of a call whose lines must keep so many bits (Needs::bits): with the product P of the moduli, lines of k terms
/// keep them where 2 k 2^(2 bits - 2) <= P. 0: no moduli do, and FP64 arithmetic answers, whose time is not known.
/// @param terms  k, of complex products 2 k
[[nodiscard]] inline double seconds_at_bits(const Emulation& x, int bits, std::int64_t terms) {
  constexpr double kBitsOfModulus = 7.5;  // of the first 24 the mean is 7.6
  if (x.scheme != Scheme::kOzaki2 && x.scheme != Scheme::kNative) return x.seconds;
  if (x.base_moduli == 0 || bits == 0) return x.seconds;
  // The part of a modulus is within what the lowest rung has left for ordinary lines.
  const double needed =
      std::floor((2.0 * bits - 1 + std::log2(static_cast<double>(std::max<std::int64_t>(terms, 1)))) / kBitsOfModulus);
  if (needed > x.max_moduli) return 0;
  return x.seconds * std::max(1.0, needed / x.base_moduli);
}

/// Of one sampled call.
struct AuditSample {
  double ratio =
      -1;  ///< error / (k u |A||B|) of the worst element (2 k for parts of complex ones); < 0: none was finite
  Needs needs;
  double seconds = 0;          ///< that the sample took
  double planned_seconds = 0;  ///< that the planner took beside it
  double terms = 0;            ///< of all its elements
  Emulation emulation;
};

/// How far an element of C may be from the exact one in a native product of inner size k, beside which errors are put.
template <class T>
[[nodiscard]] constexpr Allowance native_allowance(std::int64_t k) {
  constexpr double kUnit = std::is_same_v<RealOf<T>, float> ? 0x1p-24 : 0x1p-53;
  return {static_cast<double>(k) * (kIsComplex<T> ? 2 : 1) * kUnit, Gauge::kEntry, kEpilogueRoundings};
}

/// What a sample takes is about in proportion to it.
template <class T>
[[nodiscard]] constexpr std::int64_t terms_of(std::int64_t k) {
  return k * (kIsComplex<T> ? 4 : 1);
}

/// Which of Sample<T>::kElements is the e-th of so many.
[[nodiscard]] constexpr int element_of(int e, int elements, int of) { return elements == 1 ? 3 : e * of / elements; }

/// How many elements of the next call of the kind may be looked at, in the time that samples may take: kMostElements, 1 or
/// 0. Asked once before each call. @param terms  of one element, 4 for a complex one
inline constexpr int kMostElements = 4;
[[nodiscard]] int elements_to_sample(const AuditKey& key, std::int64_t terms,
                                     std::chrono::steady_clock::time_point now) noexcept;

/// A call that will be timed, or never is. @param calls  of the thread since it told last: this one, and those that were
/// only counted; 0: this one is only counted. Its time is then the mean of those of its kind that were timed.
void note_call(const AuditKey& key, std::int64_t calls) noexcept;
/// A call that a stream was to remember for later: neither timed nor sampled. Who replays it is not seen.
void note_captured(const AuditKey& key) noexcept;
/// The time of a call that was noted, once it is known. @param sample  or null
/// @param calls  whose time it is: the call, and those that it stands for
void note_time(const AuditKey& key, double seconds, const AuditSample* sample, std::int64_t calls = 1) noexcept;
/// Whether nobody has told yet what the planner says of the kind, and its calls have taken so long that it may be asked.
/// @param seconds  of the call that is not noted yet; infinite: it goes on
[[nodiscard]] bool wants_emulation(const AuditKey& key, double seconds) noexcept;
/// Why a sample that was to be taken was not, in words that live as long as the process.
void note_no_sample(const AuditKey& key, const char* why) noexcept;

/// The clock of the host's calls; tests have another one.
inline constinit std::atomic<std::chrono::steady_clock::time_point (*)() noexcept> audit_clock{
    &std::chrono::steady_clock::now};
[[nodiscard]] inline std::chrono::steady_clock::time_point audit_now() noexcept {
  return audit_clock.load(std::memory_order_relaxed)();
}
/// What a look at it adds to a time, at least. @units seconds
[[nodiscard]] double audit_clock_seconds() noexcept;

/// What a device is called, of those that products were timed on.
void note_device(int number, const char* name) noexcept;

/// What is called before a report is written, to note times that have become known.
void settle_by(void (*function)() noexcept) noexcept;
void settle() noexcept;

/// About how many: those that note_call() was told of.
[[nodiscard]] std::int64_t audited_calls() noexcept;
[[nodiscard]] Totals audit_totals();
/// The lines of the report; empty if there was no call.
[[nodiscard]] std::string audit_json();

/// As if nothing had been called, and the library been loaded then: for tests.
void restart_audit(std::chrono::steady_clock::time_point begin);

}  // namespace kizami::dropin
