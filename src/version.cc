// Which interface and which library this is. The first is RCCL's number
// (docs/decisions/0001-api-version.md), the second ours.
#include "api_name.h"
#include "last_error.h"

namespace {

ncclResult_t refuse_null(const char* text) noexcept {
  weft::set_last_error(text);
  return ncclInvalidArgument;
}

}  // namespace

WEFT_API(ncclGetVersion)
ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return refuse_null("ncclGetVersion: version is NULL");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t weftGetVersion(const char** text) {
  if (text == nullptr) return refuse_null("weftGetVersion: text is NULL");
  *text = "weft " WEFT_VERSION;
  return ncclSuccess;
}
