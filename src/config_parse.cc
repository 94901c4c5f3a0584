// Strict readers of setting values; see config_parse.h. Next on the path: config_table.cc says
// which setting uses which.
#include "config_parse.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace weft {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr int64_t kMaxPort = 65535;

char lower_char(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Decimal digits only, no sign.
std::optional<int64_t> parse_digits(std::string_view text, int base = 10) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> parse_port(std::string_view text) {
  auto port = parse_digits(text);
  if (!port || *port < 1 || *port > kMaxPort) return std::nullopt;
  return port;
}

}  // namespace

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t at = std::min(text.find(separator), text.size());
    if (auto part = trim(text.substr(0, at)); !part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return parts;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower_char, lower_char);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  auto value = parse_digits(text, base);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  text = trim(text);
  int shift = 0;
  if (!text.empty() && !text.starts_with("0x") && !text.starts_with("0X")) {
    constexpr std::string_view kUnits = "kmg";
    if (size_t unit = kUnits.find(lower_char(text.back())); unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  auto value = parse_integer(text);
  const int64_t limit = std::numeric_limits<int64_t>::max() >> shift;
  if (!value || *value > limit || *value < -limit) return std::nullopt;
  return *value * (int64_t{1} << shift);
}

std::optional<bool> parse_switch(std::string_view text) {
  text = trim(text);
  if (text == "0") return false;
  if (text == "1") return true;
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
  constexpr size_t kFractionDigits = 3;  // milliseconds; further digits are not kept
  text = trim(text);
  size_t dot = text.find('.');
  auto whole = parse_digits(text.substr(0, dot));
  if (!whole || *whole > kMaxSeconds) return std::nullopt;
  int64_t thousandths = 0;
  if (dot != std::string_view::npos) {
    std::string_view fraction = text.substr(dot + 1);
    if (!parse_digits(fraction)) return std::nullopt;
    for (size_t i = 0; i < kFractionDigits; i++)
      thousandths = thousandths * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  return std::chrono::milliseconds(*whole * 1000 + thousandths);
}

bool is_host_and_port(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  // An IPv6 address without brackets cannot be told from host:port.
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) return false;
  return parse_port(text.substr(colon + 1)).has_value();
}

bool is_port_range(std::string_view text) {
  size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  auto first = parse_port(trim(text.substr(0, dash)));
  auto last = parse_port(trim(text.substr(dash + 1)));
  return first && last && *first <= *last;
}

bool is_socket_family(std::string_view text) { return text == "AF_INET" || text == "AF_INET6"; }

bool is_log_level(std::string_view text) {
  constexpr std::array<std::string_view, 7> kLevels = {"NONE", "ERROR", "VERSION", "WARN",
                                                       "INFO", "ABORT", "TRACE"};
  return std::ranges::any_of(kLevels,
                             [&](auto level) { return equals_ignoring_case(level, text); });
}

}  // namespace weft
