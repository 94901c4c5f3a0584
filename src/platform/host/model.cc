// The table of architectures. Figures are those the vendor publishes for the named product; the
// simulation itself uses none of them.
#include "model.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime.h"

namespace weft::hiphost {
namespace {

constexpr int kMiB = 1 << 20;
constexpr Model kModels[] = {
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X (simulated)", 9, 4, 304, 64, 2100000,
     1300000, 8192, 4 * kMiB},
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250X (simulated)", 9, 0, 110, 64, 1700000,
     1600000, 4096, 8 * kMiB},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X (simulated)", 9, 5, 256, 64, 2400000,
     2000000, 8192, 4 * kMiB},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX (simulated)", 11, 0, 96, 32, 2500000, 1250000,
     384, 6 * kMiB},
    {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT (simulated)", 12, 0, 64, 32, 2970000, 1258000,
     256, 8 * kMiB},
};

constexpr uint64_t kFnvStart = 0xcbf29ce484222325ull;
constexpr uint64_t kFnvPrime = 0x100000001b3ull;
constexpr int kFirstBus = 0x05;
constexpr int kBusStep = 0x10;
constexpr int kBuses = 0x100;

uint64_t hash(const std::string& text, uint64_t h) {
  for (const unsigned char c : text) h = (h ^ c) * kFnvPrime;
  return h;
}

uint64_t host_identity() {
  std::string id;
  std::ifstream("/etc/machine-id") >> id;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return hash(name, hash(id, kFnvStart));
}

}  // namespace

const Model& model() {
  static const Model* chosen = [] {
    const std::string& arch = runtime().config.arch;
    for (const Model& m : kModels) {
      if (arch == m.arch) return &m;
    }
    fprintf(stderr, "hiphost: WEFT_HOST_ARCH=%s is not known; simulating %s\n", arch.c_str(),
            kModels[0].arch);
    return &kModels[0];
  }();
  return *chosen;
}

// 16 hexadecimal characters, as AMD's runtime fills the field.
hipUUID uuid_of(int physical) {
  static const uint64_t host = host_identity();
  char text[sizeof(hipUUID) + 1];
  snprintf(text, sizeof text, "%016llx",
           static_cast<unsigned long long>(hash("device " + std::to_string(physical), host)));
  hipUUID uuid;
  memcpy(uuid.bytes, text, sizeof uuid.bytes);
  return uuid;
}

// 05, 15, 25 ... and, past sixteen devices, 06, 16 ...: distinct for all that can be configured.
int bus_of(int physical) {
  const int per_row = kBuses / kBusStep;
  return kFirstBus + physical % per_row * kBusStep + physical / per_row;
}

}  // namespace weft::hiphost
