// SPDX-License-Identifier: MIT
// kizami::Policy, made of the words and values of the library's table (kizami/wishes.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>

#include "bindings.hpp"
#include "kizami/policy.hpp"
#include "kizami/wishes.hpp"

namespace kizami::python {
namespace {

/// What Python gives for a wish.
constexpr std::string_view kind_of(const Wish& wish) {
  switch (wish.kind) {
    case Wish::Kind::kWord:
      return "str";
    case Wish::Kind::kFlag:
      return "bool";
    case Wish::Kind::kNumber:
    case Wish::Kind::kBytes:
      return "int";
  }
  return "str";
}

nb::list table() {
  nb::list out;
  for (const Wish& wish : wishes())
    out.append(nb::make_tuple(wish.key, kind_of(wish), wish.get(Policy{}), wish.values(), wish.meaning));
  return out;
}

Policy policy_of(const nb::dict& values) {
  Policy policy;
  for (const auto& [key, value] : values)
    check(set_wish(policy, nb::cast<std::string_view>(key), nb::cast<std::string_view>(value)));
  return policy;
}

}  // namespace

void bind_policy(nb::module_& m) {
  nb::class_<Policy>(m, "Policy", "What the caller wishes of one product, as the library takes it.")
      .def(
          "__init__", [](Policy* self, const nb::dict& values) { new (self) Policy(policy_of(values)); },
          nb::arg("values"), "values: texts by the words of wishes()");
  m.def("wishes", &table, "Word, type in Python, default, values and meaning of each wish, in texts.");
}

}  // namespace kizami::python
