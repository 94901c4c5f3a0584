// Reading ncclConfig_t (comm_options.h).
#include "comm_options.h"

#include <algorithm>
#include <cstring>

#include "error.h"

namespace weft {
namespace {

constexpr unsigned kMagic = 0xcafebeef;
constexpr size_t kSmallest = 24;  // the struct of version 2.14: up to `blocking`

// Fields that the caller's header had; the rest keep "not said". Structs of newer versions are cut.
ncclConfig_t copy_known(const ncclConfig_t& from) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (from.size < kSmallest || from.size > 4096)
    fail(ncclInvalidArgument, "ncclConfig_t has size {}: it must start as NCCL_CONFIG_INITIALIZER",
         from.size);
  std::memcpy(static_cast<void*>(&config), &from, std::min(from.size, sizeof config));
  if (config.magic != kMagic)
    fail(ncclInvalidArgument,
         "ncclConfig_t has magic {:#x}: it must start as NCCL_CONFIG_INITIALIZER", config.magic);
  if (config.version < NCCL_VERSION(2, 17, 0))
    config.minCTAs = config.maxCTAs = NCCL_CONFIG_UNDEF_INT;
  if (config.version < NCCL_VERSION(2, 27, 0)) config.commName = nullptr;
  return config;
}

int positive(const char* field, int value) {
  if (value == NCCL_CONFIG_UNDEF_INT) return 0;
  if (value <= 0)
    fail(ncclInvalidArgument, "ncclConfig_t: {} is {}, it must be at least 1", field, value);
  return value;
}

}  // namespace

CommOptions read_options(const ncclConfig_t* given) {
  CommOptions options;
  if (given == nullptr) return options;
  const ncclConfig_t config = copy_known(*given);
  if (config.blocking != NCCL_CONFIG_UNDEF_INT) {
    if (config.blocking != 0 && config.blocking != 1)
      fail(ncclInvalidArgument, "ncclConfig_t: blocking is {}, it must be 0 or 1", config.blocking);
    options.blocking = config.blocking == 1;
  }
  options.min_ctas = positive("minCTAs", config.minCTAs);
  options.max_ctas = positive("maxCTAs", config.maxCTAs);
  if (options.max_ctas != 0 && options.min_ctas > options.max_ctas)
    fail(ncclInvalidArgument, "ncclConfig_t: minCTAs is {}, more than maxCTAs {}", options.min_ctas,
         options.max_ctas);
  if (config.commName != nullptr) options.name = config.commName;
  return options;
}

}  // namespace weft
