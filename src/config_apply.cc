// One row of the settings table applied to one value; see config_apply.h. The type of the member
// that a row fills chooses how its text is read.
#include "config_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "config_parse.h"
#include "error.h"

namespace weft {

namespace {

using std::chrono::milliseconds;

// RCCL's own way to write "not set" for numbers whose default the library chooses.
constexpr int64_t kRcclUnset = -2;

std::string seconds_text(int64_t ms) { return fmt::format("{}", static_cast<double>(ms) / 1000.0); }

// What is particular to each type of member: how a text is read, how a value is written, and the
// word for it.
struct NumberKind {
  static constexpr const char* kWord = "number";
  static std::optional<int64_t> parse(std::string_view text) { return parse_integer(text); }
  static std::string text(int64_t value) { return fmt::format("{}", value); }
};
struct BytesKind : NumberKind {
  static constexpr const char* kWord = "bytes";
  static std::optional<int64_t> parse(std::string_view text) { return parse_bytes(text); }
};
struct SecondsKind {
  static constexpr const char* kWord = "seconds";
  static std::optional<int64_t> parse(std::string_view text) {
    auto time = parse_seconds(text);
    return time ? std::optional<int64_t>(time->count()) : std::nullopt;
  }
  static std::string text(int64_t ms) { return seconds_text(ms); }
};
struct SwitchKind : NumberKind {
  static constexpr const char* kWord = "switch";
  static std::optional<int64_t> parse(std::string_view text) {
    auto on = parse_switch(text);
    return on ? std::optional<int64_t>(*on) : std::nullopt;
  }
};

template <class T>
struct KindOf;
template <>
struct KindOf<std::optional<int>> : NumberKind {};
template <>
struct KindOf<uint32_t> : NumberKind {};
template <>
struct KindOf<std::optional<int64_t>> : BytesKind {};
template <>
struct KindOf<milliseconds> : SecondsKind {};
template <>
struct KindOf<bool> : SwitchKind {};

template <class T>
constexpr bool kIsOptional =
    std::is_same_v<T, std::optional<int>> || std::is_same_v<T, std::optional<int64_t>>;

[[noreturn]] void refuse_setting(const Setting& row, const SourcedValue& given) {
  fail(ncclInvalidUsage, "{}={} (set by {}) cannot be used: it takes {} ({})", row.name,
       given.value, given.origin, range_text(row), type_text(row));
}

void assign(std::optional<int>& member, int64_t value) { member = static_cast<int>(value); }
void assign(std::optional<int64_t>& member, int64_t value) { member = value; }
void assign(uint32_t& member, int64_t value) { member = static_cast<uint32_t>(value); }
void assign(bool& member, int64_t value) { member = value != 0; }
void assign(milliseconds& member, int64_t value) { member = milliseconds(value); }

template <class T>
std::string store(const Setting& row, const SourcedValue& given, T& member) {
  auto value = KindOf<T>::parse(given.value);
  if (!value) refuse_setting(row, given);
  if (kIsOptional<T> && *value == kRcclUnset) return {};
  int64_t allowed = std::clamp(*value, row.min, row.max);
  allowed -= allowed % row.multiple;
  if (allowed != *value && row.out_of_range == OutOfRange::kReject) refuse_setting(row, given);
  assign(member, allowed);
  if (allowed == *value) return {};
  return fmt::format("{}={} (set by {}) is not one of {}: using {}.", row.name, given.value,
                     given.origin, range_text(row), KindOf<T>::text(allowed));
}

std::string store(const Setting& row, const SourcedValue& given, std::string& member) {
  if (row.check && !row.check(given.value)) {
    if (row.out_of_range == OutOfRange::kReject) refuse_setting(row, given);
    return fmt::format("{}={} (set by {}) is not one of {}: ignored.", row.name, given.value,
                       given.origin, range_text(row));
  }
  member = given.value;
  return {};
}

template <class Owner>
std::string apply_to(const Setting& row, const SourcedValue& given, Owner& owner) {
  return std::visit(
      [&](auto field) -> std::string {
        if constexpr (requires { owner.*field; })
          return store(row, given, owner.*field);
        else
          return {};
      },
      row.field);
}

template <class T>
int64_t as_integer(const T& value) {
  if constexpr (std::is_same_v<T, milliseconds>)
    return value.count();
  else if constexpr (kIsOptional<T>)
    return *value;
  else
    return static_cast<int64_t>(value);
}

template <class T>
std::string member_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (kIsOptional<T>)
    return value ? KindOf<T>::text(as_integer(value)) : "";
  else
    return KindOf<T>::text(as_integer(value));
}

template <class T>
const char* word_of(T Config::*) {
  if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else
    return KindOf<T>::kWord;
}
const char* word_of(std::string LogConfig::*) { return "text"; }
const char* word_of(std::monostate) { return "text"; }

}  // namespace

std::string apply(const Setting& row, const SourcedValue& given, Config& owner) {
  return apply_to(row, given, owner);
}

std::string apply(const Setting& row, const SourcedValue& given, LogConfig& owner) {
  return apply_to(row, given, owner);
}

std::string value_text(const Setting& row, const Config& owner) {
  return std::visit(
      [&](auto field) -> std::string {
        if constexpr (requires { owner.*field; })
          return member_text(owner.*field);
        else
          return {};
      },
      row.field);
}

std::string type_text(const Setting& row) {
  return std::visit([](auto field) { return word_of(field); }, row.field);
}

std::string range_text(const Setting& row) {
  std::string type = type_text(row);
  if (type == "text") return std::string(row.allowed);
  if (type == "switch") return "0 or 1";
  if (type == "seconds")
    return fmt::format("{} to {}", seconds_text(row.min), seconds_text(row.max));
  std::string text = fmt::format("{} to {}", row.min, row.max);
  if (row.multiple > 1) text += fmt::format(", a multiple of {}", row.multiple);
  return text;
}

std::string scope_text(const Setting& row) {
  switch (row.scope) {
    case Scope::kProcess:
      return "process";
    case Scope::kCommunicator:
      return "communicator";
    case Scope::kAllRanks:
      return "communicator, equal on all ranks";
  }
  return {};
}

}  // namespace weft
