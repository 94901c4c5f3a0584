// The 12 element types: names, widths, and what their bits mean.
// Owns: decoding and encoding of every type on the host, both fp8 families included. Does not own:
// which values a test uses (pattern.h). fp8 is FNUZ (bias one higher, a single NaN at 0x80, no
// infinity) on gfx940 to gfx942 and OCP elsewhere.
#pragma once

#include <rccl/rccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::perf {

enum class TypeKind { kSigned, kUnsigned, kFloat };

// What the largest exponent (or, FNUZ, the negative zero) encodes.
enum class Specials { kIeee, kFiniteNan, kFnuz };

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

struct TypeInfo {
  ncclDataType_t type;
  const char* name;  // as nccl-tests prints it
  size_t bytes;
  TypeKind kind;
  FloatFormat format;  // of floats only

  unsigned bits() const { return static_cast<unsigned>(bytes) * 8; }
  // All ones in the width of the type.
  uint64_t mask() const { return bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << bits()) - 1; }
  bool is_float() const { return kind == TypeKind::kFloat; }
};

const TypeInfo& type_info(ncclDataType_t type, bool fp8_fnuz);
// Accepts nccl-tests' and rccl-tests' names and short ones (f32, bf16). Throws Failure(kExitUsage).
ncclDataType_t parse_type(const std::string& name);
std::vector<ncclDataType_t> all_types();
bool arch_has_fnuz(const std::string& arch);

// The number a float's bits stand for.
double decode(const TypeInfo& type, uint64_t bits);
// The nearest float, ties to even. |value| must not exceed the type's largest finite number.
uint64_t encode(const TypeInfo& type, double value);
double largest_finite(const TypeInfo& type);
double smallest_positive(const TypeInfo& type);

// An integer's bits as a signed value (sign extended when the type is signed).
int64_t sign_extend(const TypeInfo& type, uint64_t bits);

// "5", "-0.5 (0xb8)": for messages.
std::string format_value(const TypeInfo& type, uint64_t bits);

}  // namespace weft::perf
