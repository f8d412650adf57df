// SPDX-License-Identifier: MIT
// The environment is read when the library is loaded: what the program sets later does not count.
#include "dropin/policy/record.hpp"
#include "dropin/policy/runtime_exports.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin::cublas {
namespace {

__attribute__((constructor)) void read_environment() {
  cuda::limit_workspaces(process_configuration().workspace_total);
  if (keeps_record(process_configuration())) static_cast<void>(process_record());
}

}  // namespace
}  // namespace kizami::dropin::cublas
