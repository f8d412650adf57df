// SPDX-License-Identifier: MIT
// One scheme's part of a plan. A plan is a list of them, tried in order: the first one answers, or leaves the operands
// to the next. What a scheme decides is known in its room (schemes/<name>/stage.hpp) and nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/cloned.hpp"
#include "kizami/effort.hpp"
#include "kizami/policy.hpp"
#include "plan/numerics_hash.hpp"

namespace kizami::plan {

struct Plan;
struct Stage;
/// The stages from one on.
using Stages = std::span<const base::Cloned<Stage>>;
/// Takes one fact: its name, of at most 13 characters, and its value.
using TakeFact = std::function<void(const char* name, const std::string& value)>;

struct Stage {
  Scheme scheme;
  Gauge gauge = Gauge::kEntry;
  double bound = 0;         ///< guaranteed |C - AB| <= bound * gauge
  bool is_correct = false;  ///< AB rounded once: accuracy correct

  explicit Stage(Scheme s) : scheme(s) {}
  virtual ~Stage() = default;
  [[nodiscard]] virtual std::unique_ptr<Stage> clone() const = 0;

  /// Of its products.
  [[nodiscard]] virtual std::string_view engine_name() const = 0;
  /// Whether it answers operands of any kind: no other stage is then needed behind it.
  [[nodiscard]] virtual bool answers_all(const Plan& /*plan*/) const { return true; }
  /// Adds all that fixes the bits of its results, and of what stands behind it.
  virtual void add_numerics(const Plan& plan, Stages behind, NumericsHash& hash) const = 0;
  /// Adds what an operand prepared for it depends on, if that is less. @return whether it is
  virtual bool add_preparation(NumericsHash& /*hash*/) const { return false; }
  /// Remembers what its engines ask for on the host, so that calls need not ask again. @range chunks and engines are
  /// final
  virtual void book_engine_bytes(const Plan& /*plan*/) {}
  /// Seconds that products on a device take beyond those predicted, if they had to do this. @units of all products
  [[nodiscard]] virtual double seconds_beyond(const Plan& /*plan*/, const Effort& /*effort*/) const { return 0; }

  /// Tells its facts, the engine last.
  virtual void explain(const Plan& plan, Stages behind, const TakeFact& fact) const = 0;
  /// What it does for a plan that it stands behind.
  [[nodiscard]] virtual std::string brief() const { return std::string(to_string(scheme)); }

 protected:
  Stage(const Stage&) = default;
  Stage(Stage&&) = default;
  Stage& operator=(const Stage&) = default;
  Stage& operator=(Stage&&) = default;
};

/// The base of a scheme's stage S.
template <class S, Scheme kOfScheme>
struct StageOf : Stage {
  static constexpr Scheme kScheme = kOfScheme;
  StageOf() : Stage(kOfScheme) {}
  [[nodiscard]] std::unique_ptr<Stage> clone() const final { return std::make_unique<S>(static_cast<const S&>(*this)); }
};

}  // namespace kizami::plan
