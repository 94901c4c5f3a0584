// Parsing and matching of interface lists.
#include "bootstrap/interface_filter.h"

#include <algorithm>

namespace weft {
namespace {
std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}
}  // namespace

InterfaceFilter::InterfaceFilter(std::string_view text) {
  text = trim(text);
  if (text.starts_with('^')) exclude_ = true, text.remove_prefix(1);
  if (text.starts_with('=')) exact_ = true, text.remove_prefix(1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (auto name = trim(text.substr(0, comma)); !name.empty()) names_.emplace_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (names_.empty()) exclude_ = false;
}

bool InterfaceFilter::passes(std::string_view interface) const {
  if (names_.empty()) return true;
  const bool listed = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return exact_ ? interface == name : interface.starts_with(name);
  });
  return listed != exclude_;
}

}  // namespace weft
