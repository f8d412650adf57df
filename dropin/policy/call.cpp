// SPDX-License-Identifier: MIT
#include "dropin/policy/call.hpp"

#include <cctype>

namespace kizami::dropin {

std::string options_of(const Shape& x) {
  std::string letters;
  if (is_symmetric(x.routine) || is_triangular(x.routine)) letters += x.side;
  if (!is_product(x.routine)) letters += x.uplo;
  if (!is_symmetric(x.routine)) letters += x.op_a;
  if (is_product(x.routine) || x.routine == Routine::kGemmt) letters += x.op_b;
  if (is_triangular(x.routine)) letters += x.diag;
  for (char& c : letters) c = c == 0 ? '?' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace kizami::dropin
