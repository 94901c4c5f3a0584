// The table of reductions (reduction.h).
#include "reduction.h"

#include <cstring>

namespace weft {
namespace {

template <class Type>
OpArg user_arg(const UserOp& op) {
  if (op.in_memory) {
    OpArg arg = plain_arg<Type>();
    arg.pre = op.scalar;
    arg.flags |= OpArg::kPreScale | OpArg::kPreFromMemory;
    return arg;
  }
  typename Type::storage scalar;
  std::memcpy(&scalar, &op.scalar, sizeof scalar);  // the first byte is the lowest: as in memory
  return pre_multiply_arg<Type>(Type::load(scalar));
}

template <class Type>
OpArg arg_of(const ReductionKey& key) {
  if (key.user != nullptr) return user_arg<Type>(*key.user);
  switch (key.op) {
    case ncclProd:
      return product_arg<Type>();
    case ncclMax:
      return min_max_arg<Type>(true);
    case ncclMin:
      return min_max_arg<Type>(false);
    case ncclAvg:
      return average_arg<Type>(uint32_t(key.ranks), key.partials);
    default:
      return plain_arg<Type>();
  }
}

template <class Type>
Reduction reduction_of(ElementType element, const ReductionKey& key) {
  return {element, arg_of<Type>(key)};
}

}  // namespace

Reduction make_reduction(const ReductionKey& key) {
  switch (key.type) {
    case ncclInt8:
      return reduction_of<Int8>(ElementType::kInt8, key);
    case ncclUint8:
      return reduction_of<Uint8>(ElementType::kInt8, key);
    case ncclInt32:
      return reduction_of<Int32>(ElementType::kInt32, key);
    case ncclUint32:
      return reduction_of<Uint32>(ElementType::kInt32, key);
    case ncclInt64:
      return reduction_of<Int64>(ElementType::kInt64, key);
    case ncclUint64:
      return reduction_of<Uint64>(ElementType::kInt64, key);
    case ncclFloat16:
      return reduction_of<Float16>(ElementType::kFloat16, key);
    case ncclFloat64:
      return reduction_of<Float64>(ElementType::kFloat64, key);
    case ncclBfloat16:
      return reduction_of<Bfloat16>(ElementType::kBfloat16, key);
    case ncclFloat8e4m3:
      return key.fnuz ? reduction_of<Fp8E4m3Fnuz>(ElementType::kFp8E4m3Fnuz, key)
                      : reduction_of<Fp8E4m3>(ElementType::kFp8E4m3, key);
    case ncclFloat8e5m2:
      return key.fnuz ? reduction_of<Fp8E5m2Fnuz>(ElementType::kFp8E5m2Fnuz, key)
                      : reduction_of<Fp8E5m2>(ElementType::kFp8E5m2, key);
    default:
      return reduction_of<Float32>(ElementType::kFloat32, key);
  }
}

}  // namespace weft
