// SPDX-License-Identifier: MIT
// The performance model beside measurements of others and our own, and its document's claims: that the prediction for Grace
// Blackwell has EF_S at the performance of DGEMM or above, and what its figures say of GH200.
#pragma once

#include <vector>

#include "model_rows.hpp"
#include "report.hpp"

namespace kizami::study {

struct ModelStudy {
  std::vector<StudyTable> summaries;  ///< median and worst, of published rows and of our own
  std::vector<StudyTable> rows;       ///< every row
  std::vector<StudyFigure> figures;
  std::vector<Claim> claims;
};

/// @param own  may be empty: what rests on it is then left out
[[nodiscard]] ModelStudy study_model(const std::vector<ModelRow>& published, const std::vector<ModelRow>& own);

}  // namespace kizami::study
