// SPDX-License-Identifier: MIT
// kizami::Policy, made of names and numbers. A name is what to_string() of include/kizami says.
#include <nanobind/stl/string_view.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "bindings.hpp"
#include "kizami/policy.hpp"

namespace kizami::python {
namespace {

constexpr std::array kGauges = {Gauge::kEntry, Gauge::kNorm};
constexpr std::array kSchemes = {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kEc, Scheme::kOzaki1};
constexpr std::array kEngines = {EngineName::kAuto,       EngineName::kCpuRef,   EngineName::kCpuSimd,
                                 EngineName::kNativeBlas, EngineName::kCublasLt, EngineName::kHopper,
                                 EngineName::kTcModel,    EngineName::kTile};
constexpr std::array kVariants = {EcVariant::kAuto,     EcVariant::kScaled,   EcVariant::kHalfhalf,
                                  EcVariant::kTf32tf32, EcVariant::kMarkidis, EcVariant::kFeng,
                                  EcVariant::kBf16x3,   EcVariant::kBf16x6,   EcVariant::kBf16x9,
                                  EcVariant::kFp16,     EcVariant::kTf32,     EcVariant::kScaledTf32};

/// The enumerator of that name. @status kInvalidArgument: argument, value, and all names there are
template <class Enum, std::size_t kCount>
Enum named(const char* argument, std::string_view name, const std::array<Enum, kCount>& all) {
  std::string names;
  for (const Enum x : all) {
    if (to_string(x) == name) return x;
    names += (names.empty() ? "" : ", ") + std::string(to_string(x));
  }
  refuse(std::string(argument) + " = '" + std::string(name) + "', must be one of " + names);
}

Accuracy accuracy_of(std::string_view kind, int bits) {
  if (kind == "native") return Accuracy::native();
  if (kind == "correct") return Accuracy::correct();
  if (kind == "bits") return Accuracy::at_bits(bits);
  refuse("accuracy = '" + std::string(kind) + "', must be native, correct or bits=N");
}

template <class Integer>
Integer not_negative(const char* argument, std::int64_t value) {
  if (value < 0 || value > static_cast<std::int64_t>(std::numeric_limits<Integer>::max() / 2)) {
    refuse(std::string(argument) + " = " + std::to_string(value) +
           ", must be >= 0 and <= " + std::to_string(std::numeric_limits<Integer>::max() / 2));
  }
  return static_cast<Integer>(value);
}

}  // namespace

void bind_policy(nb::module_& m) {
  nb::class_<Policy>(m, "Policy", "What the caller wishes of one product, as the library takes it.")
      .def(
          "__init__",
          [](Policy* self, std::string_view accuracy, int bits, std::string_view gauge, std::string_view scheme,
             std::string_view engine, std::string_view variant, bool reproducible, bool fp64_arithmetic,
             bool reject_nonfinite, bool may_sync, std::int64_t threads, std::int64_t workspace_limit) {
            Policy policy;
            policy.accuracy = accuracy_of(accuracy, bits);
            policy.gauge = named("gauge", gauge, kGauges);
            policy.scheme = named("scheme", scheme, kSchemes);
            policy.engine = named("engine", engine, kEngines);
            policy.ec.variant = named("variant", variant, kVariants);
            policy.reproducibility = reproducible ? Reproducibility::kEngineToEngine : Reproducibility::kNotGuaranteed;
            policy.allow_fp64_arithmetic = fp64_arithmetic;
            policy.reject_nonfinite = reject_nonfinite;
            policy.may_sync = may_sync;
            policy.threads = not_negative<int>("threads", threads);
            policy.workspace_limit_bytes = not_negative<std::size_t>("workspace_limit", workspace_limit);
            new (self) Policy(policy);
          },
          nb::kw_only(), nb::arg("accuracy"), nb::arg("bits"), nb::arg("gauge"), nb::arg("scheme"), nb::arg("engine"),
          nb::arg("variant"), nb::arg("reproducible"), nb::arg("fp64_arithmetic"), nb::arg("reject_nonfinite"),
          nb::arg("may_sync"), nb::arg("threads"), nb::arg("workspace_limit"));
}

}  // namespace kizami::python
