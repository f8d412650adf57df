// SPDX-License-Identifier: MIT
#include "num/crt_table.hpp"

namespace kizami::num {

static_assert(is_crt_basis(kRealCrt<2>, kRealModuli) && is_crt_basis(kRealCrt<14>, kRealModuli) &&
              is_crt_basis(kRealCrt<20>, kRealModuli) && is_crt_basis(kRealCrt<49>, kRealModuli));
static_assert(is_crt_basis(kComplexCrt<15>, kComplexModuli) && is_crt_basis(kComplexCrt<17>, kComplexModuli));
static_assert(bit_width(kRealCrt<49>.product) == 342 && bit_width(kRealCrt<20>.product) == 156);

constexpr std::array<CrtTable, kMaxModuli - kMinModuli + 1> kCrtTables =
    detail::make_crt_tables(std::make_integer_sequence<int, kMaxModuli - kMinModuli + 1>{});

}  // namespace kizami::num
