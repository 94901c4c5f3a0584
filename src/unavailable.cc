// Functions of RCCL 2.28.3 that this version exports and refuses. Owns: their symbols, nothing
// else. A function leaves this file when it gets a body in api.cc or beside it. What NCCL added
// later: unavailable_newer.cc.
#include "unavailable.h"

#include "api_name.h"
#include "group.h"
#include "last_error.h"
#include "log.h"

namespace weft {

ncclResult_t unavailable(const char* name) noexcept {
  const std::string text = std::string(name) + ": not available in this version";
  set_last_error(text);
  log_warn("{}", text);
  Group::current().note_failure(ncclInvalidUsage, text);
  return ncclInvalidUsage;
}

}  // namespace weft

using weft::unavailable;

WEFT_API(ncclCommShrink)
ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int) {
  return unavailable(__func__);
}
