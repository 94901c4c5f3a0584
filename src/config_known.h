// Which NCCL_, RCCL_ and WEFT_ names are known although they have no effect here, and how far two
// names are apart.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft {

std::span<const std::string_view> known_unused_names();
// By name, or by the prefix of a family.
bool is_known_unused(std::string_view name);
// Inserted, removed, changed characters and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace weft
