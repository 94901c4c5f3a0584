// The grammar of NCCL_SOCKET_IFNAME: [^][=]name,name,...  `^` excludes, `=` compares whole names,
// else a name is a prefix. Owns: parsing and matching. Does not own: which interfaces exist
// (address.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

class InterfaceFilter {
 public:
  // The empty text lets everything pass.
  explicit InterfaceFilter(std::string_view text = {});
  // Some text was given, so the user has chosen.
  bool is_set() const { return !names_.empty(); }
  bool excludes() const { return exclude_; }
  bool passes(std::string_view interface) const;
  // The user asked for interfaces by name, and for this one.
  bool asks_for(std::string_view interface) const {
    return is_set() && !exclude_ && passes(interface);
  }

 private:
  bool exclude_ = false;
  bool exact_ = false;
  std::vector<std::string> names_;
};

}  // namespace weft
