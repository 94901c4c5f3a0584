// What the simulated machine looks like: the data of each architecture, and identities that all
// processes of a host agree on.
#pragma once

#include <hip/hip_runtime_api.h>

#include <string>

namespace weft::hiphost {

struct Model {
  const char* arch;  // as in WEFT_HOST_ARCH
  const char* full;  // gcnArchName
  const char* name;
  int major, minor;
  int units;  // multiProcessorCount
  int wave;
  int clock_khz, memory_clock_khz, memory_bus_bits;
  int l2_bytes;
};
// gfx942 when the name is unknown (reported once).
const Model& model();

// The same in every process of the host for the same physical device.
hipUUID uuid_of(int physical);
int bus_of(int physical);
inline constexpr int kPciDevice = 0;
inline constexpr int kPciDomain = 0;

}  // namespace weft::hiphost
