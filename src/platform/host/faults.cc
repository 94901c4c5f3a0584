// The table of faults. Where a fault acts is where it is asked for: peer.cc, ipc.cc, scheduler.cc,
// memory.cc, copy.cc, launch.cc, lane.cc, runtime.h, and the line primitives of the library above.
#include "faults.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "runtime.h"
#include "scheduler.h"

namespace weft::hiphost {
namespace {

constexpr const char* kNames[hipHostFaultCount] = {
    "no_peer",         "lying_peer", "ipc_export", "ipc_import",  "resident_blocks", "torn_lines",
    "reordered_lines", "malloc",     "launch",     "hold_launch", "slow_polls",      "lost_device"};

std::atomic<int64_t> values[hipHostFaultCount];

void set_by_name(const std::string& name, int64_t value) {
  for (int i = 0; i < hipHostFaultCount; ++i) {
    if (name == kNames[i]) {
      values[i].store(value);
      return;
    }
  }
  fprintf(stderr, "hiphost: WEFT_HOST_FAULTS names no fault \"%s\"; known are", name.c_str());
  for (const char* known : kNames) fprintf(stderr, " %s", known);
  fprintf(stderr, "\n");
}

}  // namespace

void read_faults(const std::string& text) {
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    const int64_t value = equals == std::string::npos ? 1 : atoll(item.c_str() + equals + 1);
    set_by_name(item.substr(0, equals), value);
  }
}

bool counted_fault(hipHostFault f) {
  std::atomic<int64_t>& left = values[f];
  if (left.load(std::memory_order_relaxed) <= 0) return false;
  return left.fetch_sub(1) == 1;
}

void hold_while_asked(hipHostFault f) {
  std::atomic<int64_t>& value = values[f];
  if (value.load(std::memory_order_relaxed) == 0) return;
  int64_t asked = 1;
  value.compare_exchange_strong(asked, 2);
  while ((asked = value.load()) != 0) value.wait(asked);
}

}  // namespace weft::hiphost

extern "C" void hipHostSetFault(hipHostFault fault, int64_t value) {
  // Read the environment first, so that it cannot overwrite what is set here.
  if (weft::hiphost::ready() != hipSuccess || fault < 0 || fault >= hipHostFaultCount) return;
  weft::hiphost::values[fault].store(value);
  weft::hiphost::values[fault].notify_all();
  if (fault == hipHostFaultResidentBlocks) weft::hiphost::resident_limit_changed();
}

extern "C" int64_t hipHostGetFault(hipHostFault fault) {
  if (fault < 0 || fault >= hipHostFaultCount) return 0;
  return weft::hiphost::values[fault].load(std::memory_order_relaxed);
}
