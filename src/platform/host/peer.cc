// Peer access. All simulated devices reach each other over XGMI, one hop, unless a fault says
// otherwise.
#include <mutex>

#include "faults.h"
#include "runtime.h"

namespace weft::hiphost {
namespace {

constexpr uint32_t kLinkXgmi = 4;  // as HSA_AMD_LINK_INFO_TYPE_XGMI

hipError_t can_access(int* can, int device, int peer) {
  if (can == nullptr) return hipErrorInvalidValue;
  if (check_device(device) != hipSuccess || check_device(peer) != hipSuccess) {
    return hipErrorInvalidDevice;
  }
  *can = device != peer && !fault(hipHostFaultNoPeer) ? 1 : 0;
  return hipSuccess;
}

hipError_t change(int peer, unsigned flags, bool enable) {
  if (flags != 0) return hipErrorInvalidValue;
  const int device = current_device();
  int can = 0;
  if (can_access(&can, device, peer) != hipSuccess || can == 0) return hipErrorInvalidDevice;
  const std::lock_guard guard(runtime().lock);
  uint64_t& peers = runtime().devices[static_cast<size_t>(device)]->peers;
  const uint64_t bit = uint64_t{1} << peer;
  const bool enabled = (peers & bit) != 0;
  if (enable && enabled) return hipErrorPeerAccessAlreadyEnabled;
  if (!enable && !enabled) return hipErrorPeerAccessNotEnabled;
  peers ^= bit;
  return hipSuccess;
}

}  // namespace
}  // namespace weft::hiphost

using namespace weft::hiphost;

extern "C" hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return enter([&] { return can_access(can, device, peer); });
}
extern "C" hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return enter([&] { return change(peer, flags, true); });
}
extern "C" hipError_t hipDeviceDisablePeerAccess(int peer) {
  return enter([&] { return change(peer, 0, false); });
}

extern "C" hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int device,
                                               int peer) {
  return enter([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (device == peer) return hipErrorInvalidDevice;
    int can = 0;
    if (const hipError_t error = can_access(&can, device, peer); error != hipSuccess) return error;
    switch (attribute) {
      case hipDevP2PAttrPerformanceRank:
        *value = 0;
        return hipSuccess;
      case hipDevP2PAttrAccessSupported:
      case hipDevP2PAttrNativeAtomicSupported:
      case hipDevP2PAttrHipArrayAccessSupported:
        *value = can;
        return hipSuccess;
    }
    return hipErrorInvalidValue;
  });
}

extern "C" hipError_t hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t* type,
                                                   uint32_t* hops) {
  return enter([&] {
    if (type == nullptr || hops == nullptr) return hipErrorInvalidValue;
    if (check_device(device) != hipSuccess || check_device(peer) != hipSuccess || device == peer) {
      return hipErrorInvalidDevice;
    }
    *type = kLinkXgmi;
    *hops = 1;
    return hipSuccess;
  });
}
