// Names and sizes of what a request is made of (request.h).
#include "request.h"

#include <fmt/format.h>

#include <iterator>

namespace weft {
namespace {

struct TypeRow {
  const char* name;
  size_t bytes;
};
constexpr TypeRow kTypes[] = {
    // by ncclDataType_t
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
};
static_assert(std::size(kTypes) == ncclNumTypes);

constexpr const char* kOps[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};
static_assert(std::size(kOps) == ncclNumOps);

const TypeRow* row(ncclDataType_t type) {
  return unsigned(type) < std::size(kTypes) ? &kTypes[type] : nullptr;
}

}  // namespace

size_t type_bytes(ncclDataType_t type) { return row(type) ? row(type)->bytes : 0; }
const char* type_name(ncclDataType_t type) { return row(type) ? row(type)->name : "no type"; }
const char* op_name(ncclRedOp_t op) { return unsigned(op) < std::size(kOps) ? kOps[op] : "no op"; }

std::string describe(const Request& request) {
  std::string text = fmt::format("{} of {} {}", collective_name(request.collective), request.count,
                                 type_name(request.type));
  if (request.collective == Collective::kSend) text += fmt::format(" to rank {}", request.root);
  if (request.collective == Collective::kRecv) text += fmt::format(" from rank {}", request.root);
  if (is_rooted(request.collective)) text += fmt::format(", root {}", request.root);
  if (reduces(request.collective))
    text += fmt::format(", {}", request.user_op ? "pre-multiplied sum" : op_name(request.op));
  if (request.schedule) text += fmt::format(", by schedule {}", request.schedule->name);
  return request.bias ? text + ", with bias" : text;
}

}  // namespace weft
