// The element types: how one is stored and in what it is accumulated. Owns: load (storage to
// accumulator, exact) and store (accumulator to storage, rounded to nearest even). Next on the
// path: reduce.h works on accumulators, pack.h on 16 bytes of them.
//
// A platform may replace a conversion by its own instructions: device_platform.h then defines
// `struct weft::platform::Native` with any of the static functions that the concepts below name.
// They must give the same numbers as types_narrow.h; only the bits of a NaN are free.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/types_narrow.h"

namespace weft {

namespace platform {
struct Native;  // stays incomplete on a platform without such instructions
}

// Four-lane vectors of 32 bits, in which narrow floats are converted (OneLane lists the types).
template <class N>
concept HasQuads = requires {
  typename N::Quad::Float;
};
template <class N>
concept HasHalfToFloat = requires(uint16_t code) {
  N::half_to_float(code);
};
template <class N>
concept HasFloatToHalf = requires(float value) {
  N::float_to_half(value);
};
template <class N>
concept HasFloatToBfloat16 = requires(float value) {
  N::float_to_bfloat16(value);
};
template <class N, class Codec>
concept HasFp8ToFloat = requires(uint8_t code) {
  N::fp8_to_float(Codec{}, code);
};
template <class N, class Codec>
concept HasFloatToFp8 = requires(float value) {
  N::float_to_fp8(Codec{}, value);
};

// The floats of a 32-bit word of a pack, in memory order (device/pack.h).
template <class N, class Type>
concept HasUnpackWord = requires(uint32_t word, float* out) {
  N::unpack_word(typename Type::Codec{}, word, out);
};
template <class N, class Type>
concept HasRepackWord = requires(const float* in) {
  N::repack_word(typename Type::Codec{}, in);
};

// Integers wrap: all arithmetic on them is done unsigned (reduce.h).
template <class Storage>
struct Integer {
  using storage = Storage;
  using accumulator = Storage;
  static constexpr bool kIsFloat = false;
  static WEFT_HD accumulator load(storage x) { return x; }
  static WEFT_HD storage store(accumulator x) { return x; }
};

// Floats that accumulate in their own width.
template <class Storage>
struct WideFloat {
  using storage = Storage;
  using accumulator = Storage;
  static constexpr bool kIsFloat = true;
  static WEFT_HD accumulator load(storage x) { return x; }
  static WEFT_HD storage store(accumulator x) { return x; }
};

struct NarrowFloat {
  using accumulator = float;
  static constexpr bool kIsFloat = true;
};

struct Int8 : Integer<int8_t> {};
struct Uint8 : Integer<uint8_t> {};
struct Int32 : Integer<int32_t> {};
struct Uint32 : Integer<uint32_t> {};
struct Int64 : Integer<int64_t> {};
struct Uint64 : Integer<uint64_t> {};
struct Float32 : WideFloat<float> {};
struct Float64 : WideFloat<double> {};

struct Float16 : NarrowFloat {
  using storage = uint16_t;
  using Codec = HalfCodec;

  template <class N = platform::Native>
  static WEFT_HD float load(storage code) {
    if constexpr (HasHalfToFloat<N>) {
      return N::half_to_float(code);
    } else {
      return HalfCodec::decode(code);
    }
  }
  template <class N = platform::Native>
  static WEFT_HD storage store(float value) {
    if constexpr (HasFloatToHalf<N>) {
      return N::float_to_half(value);
    } else {
      return storage(HalfCodec::encode(value));
    }
  }
};

struct Bfloat16 : NarrowFloat {
  using storage = uint16_t;
  using Codec = Bfloat16Codec;

  static WEFT_HD float load(storage code) { return Bfloat16Codec::decode(code); }
  template <class N = platform::Native>
  static WEFT_HD storage store(float value) {
    if constexpr (HasFloatToBfloat16<N>) {
      return N::float_to_bfloat16(value);
    } else {
      return storage(Bfloat16Codec::encode(value));
    }
  }
};

template <class Codec_>
struct Fp8 : NarrowFloat {
  using storage = uint8_t;
  using Codec = Codec_;

  template <class N = platform::Native>
  static WEFT_HD float load(storage code) {
    if constexpr (HasFp8ToFloat<N, Codec>) {
      return N::fp8_to_float(Codec{}, code);
    } else {
      return Codec::decode(code);
    }
  }
  template <class N = platform::Native>
  static WEFT_HD storage store(float value) {
    if constexpr (HasFloatToFp8<N, Codec>) {
      return N::float_to_fp8(Codec{}, value);
    } else {
      return storage(Codec::encode(value));
    }
  }
};

struct Fp8E4m3 : Fp8<E4m3Codec> {};          // OCP, what ncclFloat8e4m3 means on most devices
struct Fp8E5m2 : Fp8<E5m2Codec> {};          // OCP, ncclFloat8e5m2
struct Fp8E4m3Fnuz : Fp8<E4m3FnuzCodec> {};  // ncclFloat8e4m3 on devices whose fp8 is FNUZ
struct Fp8E5m2Fnuz : Fp8<E5m2FnuzCodec> {};

}  // namespace weft
