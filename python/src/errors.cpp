// SPDX-License-Identifier: MIT
// A Status becomes the Python exception that python/kizami/_errors.py has for its code, with the reason as its text.
#include "bindings.hpp"

namespace kizami::python {

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      const std::string_view code = to_string(error.code());
      const nb::object type = nb::module_::import_("kizami._errors").attr("BY_CODE")[nb::str(code.data(), code.size())];
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}

}  // namespace kizami::python
