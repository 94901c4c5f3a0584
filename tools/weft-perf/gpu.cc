// HIP calls with their errors checked. See gpu.h.
#include "gpu.h"

#include "failure.h"

namespace weft::perf {
namespace {

// The architecture's name is a field of AMD's properties only.
template <class Properties>
std::string arch_name(const Properties& properties) {
  if constexpr (requires { properties.gcnArchName; }) {
    return properties.gcnArchName;
  } else {
    return "";
  }
}

}  // namespace

void check_hip(hipError_t result, const std::string& what) {
  if (result != hipSuccess) fail("{}: {} ({})", what, hipGetErrorString(result), int{result});
}

int device_count() {
  int count = 0;
  check_hip(hipGetDeviceCount(&count), "hipGetDeviceCount");
  return count;
}

DeviceFacts device_facts(int device) {
  hipDeviceProp_t properties{};
  check_hip(hipGetDeviceProperties(&properties, device), "hipGetDeviceProperties");
  char bus_id[32] = "";
  check_hip(hipDeviceGetPCIBusId(bus_id, sizeof(bus_id), device), "hipDeviceGetPCIBusId");
  return {properties.name, arch_name(properties), bus_id};
}

int runtime_version() {
  int version = 0;
  check_hip(hipRuntimeGetVersion(&version), "hipRuntimeGetVersion");
  return version;
}

}  // namespace weft::perf
