// Strict readers of setting values. Owns: what a number, a size, a switch or a duration looks like.
// Does not own: which setting takes what (config_table.cc). Every function returns nullopt, or
// false, for a text that is not wholly of its form; none of them logs or throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

std::string_view trim(std::string_view text);
// The non-empty trimmed parts between separators.
std::vector<std::string_view> split(std::string_view text, char separator);
bool equals_ignoring_case(std::string_view a, std::string_view b);

// Decimal, 0x hexadecimal or 0 octal, with an optional sign, as RCCL reads numbers.
std::optional<int64_t> parse_integer(std::string_view text);
// The same, with an optional K, M or G (powers of 1024).
std::optional<int64_t> parse_bytes(std::string_view text);
// "0" or "1".
std::optional<bool> parse_switch(std::string_view text);
// Seconds with an optional fraction: "300", "0.5". Never negative, at most kMaxSeconds.
std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text);
inline constexpr int64_t kMaxSeconds =
    10'000'000;  // about 115 days; keeps milliseconds far from overflow

// "host:port", "1.2.3.4:port" or "[ipv6]:port" with a port of 1 to 65535.
bool is_host_and_port(std::string_view text);
// "first-last", two ports of 1 to 65535 with first <= last.
bool is_port_range(std::string_view text);
// "AF_INET" or "AF_INET6".
bool is_socket_family(std::string_view text);
// One of RCCL's log levels, in any case.
bool is_log_level(std::string_view text);

}  // namespace weft
