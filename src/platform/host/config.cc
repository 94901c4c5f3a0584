// Reads the environment into Config. A value that cannot be read is reported once on stderr and its
// default used, so that a typing error does not silently change the machine. Next on the path:
// runtime.cc, which builds the devices from it.
#include "config.h"

#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "sanitizers.h"

namespace weft::hiphost {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kMaxWorkers = 64;
// Virtual, not touched. TSAN leaves 1.5 TiB of addresses for mappings.
constexpr size_t kDefaultMemoryBytes = size_t{sanitize::kThread ? 8 : 64} << 30;
constexpr size_t kMinMemoryBytes = size_t{64} << 20;
constexpr size_t kMinStackBytes = size_t{32} << 10;

void complain(const char* name, const char* value, const char* expected) {
  fprintf(stderr, "hiphost: %s=%s is not %s; using the default\n", name, value, expected);
}

// A number with an optional K, M, G or T (powers of 1024), or -1.
int64_t parse_bytes(const char* text) {
  char* end = nullptr;
  errno = 0;
  const long long number = strtoll(text, &end, 10);
  if (errno != 0 || end == text || number < 0) return -1;
  static constexpr char kUnits[] = "KMGT";
  int shift = 0;
  for (int i = 0; kUnits[i] != 0 && *end != 0; ++i) {
    if ((*end & ~0x20) == kUnits[i]) shift = 10 * (i + 1);
  }
  if (*end != 0 && shift == 0) return -1;
  return static_cast<int64_t>(number) << shift;
}

void read_int(const char* name, int low, int high, int& value) {
  const char* text = getenv(name);
  if (text == nullptr || *text == 0) return;
  const int64_t number = parse_bytes(text);
  if (number < low || number > high) {
    complain(name, text, "in range");
    return;
  }
  value = static_cast<int>(number);
}

void read_size(const char* name, size_t low, size_t& value) {
  const char* text = getenv(name);
  if (text == nullptr || *text == 0) return;
  const int64_t number = parse_bytes(text);
  if (number < 0 || static_cast<size_t>(number) < low) {
    complain(name, text, "a size that is large enough");
    return;
  }
  value = static_cast<size_t>(number);
}

int cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// As HIP does: a list of ordinals; the first that is not one ends the list.
std::vector<int> visible_devices(int devices) {
  std::vector<int> all(static_cast<size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  const char* text = getenv("HIP_VISIBLE_DEVICES");
  if (text == nullptr) return all;
  std::vector<int> chosen;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    char* end = nullptr;
    const long ordinal = strtol(item.c_str(), &end, 10);
    if (end == item.c_str() || *end != 0 || ordinal < 0 || ordinal >= devices) break;
    chosen.push_back(static_cast<int>(ordinal));
  }
  return chosen;
}

size_t power_of_two_at_least(size_t bytes) {
  size_t power = 1;
  while (power < bytes) power <<= 1;
  return power;
}

}  // namespace

Config read_config() {
  Config c;
  c.memory_bytes = kDefaultMemoryBytes;
  c.workers = std::min(cores(), kMaxWorkers);
  read_int("WEFT_HOST_DEVICES", 0, kMaxDevices, c.devices);
  read_int("WEFT_HOST_WORKERS", 1, kMaxWorkers, c.workers);
  read_int("WEFT_HOST_SPIN", 1, 1 << 30, c.spin_laps);
  read_size("WEFT_HOST_MEMORY", kMinMemoryBytes, c.memory_bytes);
  read_size("WEFT_HOST_STACK", kMinStackBytes, c.stack_bytes);
  c.memory_bytes = power_of_two_at_least(c.memory_bytes);
  if (const char* arch = getenv("WEFT_HOST_ARCH"); arch != nullptr && *arch != 0) c.arch = arch;
  if (const char* stall = getenv("WEFT_HOST_STALL")) c.stall_seconds = atof(stall);
  if (const char* faults = getenv("WEFT_HOST_FAULTS")) c.faults = faults;
  c.visible = visible_devices(c.devices);
  return c;
}

}  // namespace weft::hiphost
