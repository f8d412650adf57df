// SPDX-License-Identifier: MIT
// The extension module kizami._core: its parts, and what the library says of itself.
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "kizami/kizami.hpp"

NB_MODULE(_core, m) {
  using namespace kizami;
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // the policy in force lives as long as the process
  m.doc() = "The C++ library as the package kizami calls it. Private: import kizami instead.";
  python::bind_errors(m);
  python::bind_policy(m);
  python::bind_plan(m);
  python::bind_products(m);
  python::bind_double_double(m);
  python::bind_device(m);
  python::bind_multi(m);
  m.def("version", &version, "The version of the library, \"0.1.0\".");
  m.def("machine_report", &machine_report, "What the library found on this machine, one fact a line.");
}
