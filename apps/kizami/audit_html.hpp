// SPDX-License-Identifier: MIT
// The page of an audit: one file, pictures within it, nothing fetched.
#pragma once

#include <string>

#include "audit_summary.hpp"

namespace kizami::cli {

[[nodiscard]] std::string audit_html(const AuditSummary& summary);

}  // namespace kizami::cli
