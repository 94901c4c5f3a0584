// The table of reductions (reduction.h).
#include "reduction.h"

namespace weft {
namespace {

template <class Type>
OpArg arg_of(ncclRedOp_t op, int ranks) {
  switch (op) {
    case ncclMax:
      return min_max_arg<Type>(true);
    case ncclMin:
      return min_max_arg<Type>(false);
    case ncclAvg:
      return average_arg<Type>(uint32_t(ranks));
    default:
      return plain_arg<Type>();
  }
}

OpBody body_of(ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return OpBody::kProd;
    case ncclMax:
    case ncclMin:
      return OpBody::kMinMax;
    default:
      return OpBody::kSum;
  }
}

}  // namespace

Reduction make_reduction(ncclDataType_t type, ncclRedOp_t op, int ranks, bool fnuz) {
  const OpBody body = body_of(op);
  switch (type) {
    case ncclInt8:
      return {ElementType::kInt8, body, arg_of<Int8>(op, ranks)};
    case ncclUint8:
      return {ElementType::kInt8, body, arg_of<Uint8>(op, ranks)};
    case ncclInt32:
      return {ElementType::kInt32, body, arg_of<Int32>(op, ranks)};
    case ncclUint32:
      return {ElementType::kInt32, body, arg_of<Uint32>(op, ranks)};
    case ncclInt64:
      return {ElementType::kInt64, body, arg_of<Int64>(op, ranks)};
    case ncclUint64:
      return {ElementType::kInt64, body, arg_of<Uint64>(op, ranks)};
    case ncclFloat16:
      return {ElementType::kFloat16, body, arg_of<Float16>(op, ranks)};
    case ncclFloat64:
      return {ElementType::kFloat64, body, arg_of<Float64>(op, ranks)};
    case ncclBfloat16:
      return {ElementType::kBfloat16, body, arg_of<Bfloat16>(op, ranks)};
    case ncclFloat8e4m3:
      return fnuz ? Reduction{ElementType::kFp8E4m3Fnuz, body, arg_of<Fp8E4m3Fnuz>(op, ranks)}
                  : Reduction{ElementType::kFp8E4m3, body, arg_of<Fp8E4m3>(op, ranks)};
    case ncclFloat8e5m2:
      return fnuz ? Reduction{ElementType::kFp8E5m2Fnuz, body, arg_of<Fp8E5m2Fnuz>(op, ranks)}
                  : Reduction{ElementType::kFp8E5m2, body, arg_of<Fp8E5m2>(op, ranks)};
    default:
      return {ElementType::kFloat32, body, arg_of<Float32>(op, ranks)};
  }
}

}  // namespace weft
