// SPDX-License-Identifier: MIT
// The answers of the host to the cases of a campaign on a device, in a text file to be carried to a machine with a
// device:
//   kizami-hashes 1 seed=S first=F count=N
//   INDEX HASH_OF_THE_CASE HASH_OF_C OUTCOME       one line a case, in order; hashes in hexadecimal
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case_answer.hpp"

namespace kizami::cli {

struct HashRecord {
  std::uint32_t line = 0;  ///< line_hash() of the case
  std::uint64_t bits = 0;  ///< CaseAnswer::bits
  std::string outcome;     ///< CaseAnswer::outcome
};

struct HashFile {
  std::uint64_t seed = 0;
  std::int64_t first = 0;
  std::vector<HashRecord> records;  ///< of cases first, first + 1, ...
};

/// Throws Failure kOutputFailed.
void write_hashes(const std::string& path, const HashFile& hashes);
/// Throws Failure kBadInput: names the line that is none.
[[nodiscard]] HashFile read_hashes(const std::string& path);

}  // namespace kizami::cli
