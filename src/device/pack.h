// 16 bytes of elements: the unit in which data moves. Owns: packs from and to memory, whole or in
// part, aligned or not (this is the one file that knows about tails and misalignment), and
// arithmetic on a pack. Does not own: the arithmetic of an element (reduce.h), which lane takes
// which pack (engine). User buffers are aligned to their element, staging always to 16 bytes.
#pragma once

#include <cstddef>

#include "algorithms/chunks.h"
#include "device/reduce.h"

namespace weft {

inline constexpr int kWords = 4;  // of 32 bits, in a pack

template <class Type>
struct Pack {
  static constexpr int kElems = int(kPackBytes / sizeof(typename Type::storage));
  platform::Bytes16 bytes;
};

// The elements of a pack in memory order.
template <class Type>
struct Elements {
  typename Type::storage elem[Pack<Type>::kElems];
};

// The accumulators of one pack, in an order of its own: with vectors, narrow elements are taken
// from the four words side by side, all lowest ones first, which needs shifts and no shuffles.
template <class Type>
struct Partial {
  typename Type::accumulator value[Pack<Type>::kElems];
};

// The place of a pack in its slice, whatever unit a protocol lays it out in.
WEFT_DEV size_t index_of(size_t unit) { return unit; }

// Packs that hold `elems` elements, the last one perhaps in part.
template <class Type>
WEFT_HD constexpr size_t packs_for(size_t elems) {
  return (elems + Pack<Type>::kElems - 1) / Pack<Type>::kElems;
}

WEFT_HD bool is_pack_aligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % kPackBytes == 0;
}

// ---- Memory ----

// One word from an address that is aligned to it, of whatever type the memory is.
template <class Word>
WEFT_DEV Word load_word(const void* p) {
  Word word;
  __builtin_memcpy(&word, __builtin_assume_aligned(p, alignof(Word)), sizeof(Word));
  return word;
}
template <class Word>
WEFT_DEV void store_word(void* p, Word word) {
  __builtin_memcpy(__builtin_assume_aligned(p, alignof(Word)), &word, sizeof(Word));
}

// At a 16-byte aligned address.
template <class Type>
WEFT_DEV Pack<Type> load_pack(const void* p) {
  return {platform::load16(p)};
}
template <class Type>
WEFT_DEV void store_pack(void* p, const Pack<Type>& pack) {
  platform::store16(p, pack.bytes);
}

// The first `elems` elements at an element-aligned address, the rest of the pack zero; elems may
// exceed the pack.
template <class Type>
WEFT_DEV Pack<Type> load_part(const void* p, size_t elems) {
  using Storage = typename Type::storage;
  Elements<Type> all;
  for (int i = 0; i < Pack<Type>::kElems; ++i) {
    all.elem[i] = size_t(i) < elems
                      ? load_word<Storage>(static_cast<const char*>(p) + i * sizeof(Storage))
                      : Storage{};
  }
  return {bits_as<platform::Bytes16>(all)};
}
template <class Type>
WEFT_DEV void store_part(void* p, const Pack<Type>& pack, size_t elems) {
  using Storage = typename Type::storage;
  const auto all = bits_as<Elements<Type>>(pack.bytes);
  for (int i = 0; i < Pack<Type>::kElems; ++i) {
    if (size_t(i) < elems)
      store_word<Storage>(static_cast<char*>(p) + i * sizeof(Storage), all.elem[i]);
  }
}

// 16 bytes in words of the address's alignment.
template <class Word>
struct Words16 {
  static constexpr int kWords = int(kPackBytes / sizeof(Word));
  Word word[kWords];

  static WEFT_DEV platform::Bytes16 load(const void* p) {
    Words16 all;
    for (int i = 0; i < kWords; ++i)
      all.word[i] = load_word<Word>(static_cast<const char*>(p) + i * sizeof(Word));
    return bits_as<platform::Bytes16>(all);
  }
  static WEFT_DEV void store(void* p, platform::Bytes16 bytes) {
    const Words16 all = bits_as<Words16>(bytes);
    for (int i = 0; i < kWords; ++i)
      store_word<Word>(static_cast<char*>(p) + i * sizeof(Word), all.word[i]);
  }
};

// Whether the platform reads and writes 16 bytes at any address in one access.
template <class N>
concept HasUnaligned16 = requires(const void* from, void* to) {
  N::store16_unaligned(to, N::load16_unaligned(from));
};

// A whole pack at an element-aligned address. All lanes take the same branch: packs of a buffer are
// 16 bytes apart.
template <class Type, class N = platform::Native>
WEFT_DEV Pack<Type> load_unaligned(const void* p) {
  constexpr size_t kSize = sizeof(typename Type::storage);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if constexpr (HasUnaligned16<N>) {
    return {N::load16_unaligned(p)};
  } else if (kSize == 8 || address % 8 == 0) {
    return {Words16<uint64_t>::load(p)};
  } else if (kSize == 4 || address % 4 == 0) {
    return {Words16<uint32_t>::load(p)};
  } else if (kSize == 2 || address % 2 == 0) {
    return {Words16<uint16_t>::load(p)};
  } else {
    return {Words16<uint8_t>::load(p)};
  }
}
template <class Type, class N = platform::Native>
WEFT_DEV void store_unaligned(void* p, const Pack<Type>& pack) {
  constexpr size_t kSize = sizeof(typename Type::storage);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if constexpr (HasUnaligned16<N>) {
    N::store16_unaligned(p, pack.bytes);
  } else if (kSize == 8 || address % 8 == 0) {
    Words16<uint64_t>::store(p, pack.bytes);
  } else if (kSize == 4 || address % 4 == 0) {
    Words16<uint32_t>::store(p, pack.bytes);
  } else if (kSize == 2 || address % 2 == 0) {
    Words16<uint16_t>::store(p, pack.bytes);
  } else {
    Words16<uint8_t>::store(p, pack.bytes);
  }
}

// A user's buffer of `elems` elements, seen as packs; the last one may be partial. Nothing outside
// the buffer is touched.
template <class Type>
struct Input {
  const char* base;
  uint32_t elems;
  bool aligned;

  static WEFT_DEV Input of(const void* p, size_t elems) {
    return {static_cast<const char*>(p), uint32_t(elems), is_pack_aligned(p)};
  }
  WEFT_DEV size_t packs() const { return packs_for<Type>(elems); }
  WEFT_DEV Pack<Type> load(size_t index) const {
    const size_t left = elems - index * Pack<Type>::kElems;
    if (left >= size_t(Pack<Type>::kElems)) return load_whole(index);
    return load_part<Type>(base + index * kPackBytes, left);
  }
  WEFT_DEV Pack<Type> load_whole(size_t index) const {
    const char* from = base + index * kPackBytes;
    return aligned ? load_pack<Type>(from) : load_unaligned<Type>(from);
  }
};

template <class Type>
struct Output {
  char* base;
  uint32_t elems;
  bool aligned;

  static WEFT_DEV Output of(void* p, size_t elems) {
    return {static_cast<char*>(p), uint32_t(elems), is_pack_aligned(p)};
  }
  WEFT_DEV size_t packs() const { return packs_for<Type>(elems); }
  WEFT_DEV void store(size_t index, const Pack<Type>& pack) const {
    const size_t left = elems - index * Pack<Type>::kElems;
    if (left >= size_t(Pack<Type>::kElems)) return store_whole(index, pack);
    store_part(base + index * kPackBytes, pack, left);
  }
  WEFT_DEV void store_whole(size_t index, const Pack<Type>& pack) const {
    char* to = base + index * kPackBytes;
    aligned ? store_pack(to, pack) : store_unaligned(to, pack);
  }
};

// ---- Arithmetic ----

// How elements narrower than 32 bits share the words of a pack.
template <class Type>
struct Sharing {
  static constexpr int kPerWord = int(sizeof(uint32_t) / sizeof(typename Type::storage));
  static constexpr int kBits = 32 / kPerWord;
  static constexpr uint32_t kMask = ~uint32_t(0) >> (32 - kBits);
};

template <class Type, class Quad>
WEFT_HD Partial<Type> unpack_quads(const Pack<Type>& pack) {
  using Parts = Sharing<Type>;
  const auto words = bits_as<typename Quad::Uint>(pack.bytes);
  Partial<Type> partial;
  for (int part = 0; part < Parts::kPerWord; ++part) {
    const auto floats =
        Type::Codec::template decode<Quad>((words >> (part * Parts::kBits)) & Parts::kMask);
    __builtin_memcpy(partial.value + part * kWords, &floats, sizeof(floats));
  }
  return partial;
}

template <class Type, class Quad>
WEFT_HD Pack<Type> repack_quads(const Partial<Type>& partial) {
  using Parts = Sharing<Type>;
  typename Quad::Uint words{};
  for (int part = 0; part < Parts::kPerWord; ++part) {
    typename Quad::Float floats;
    __builtin_memcpy(&floats, partial.value + part * kWords, sizeof(floats));
    words |= Type::Codec::template encode<Quad>(floats) << (part * Parts::kBits);
  }
  return {bits_as<platform::Bytes16>(words)};
}

template <class Type, class N = platform::Native>
WEFT_HD Partial<Type> unpack(const Pack<Type>& pack) {
  if constexpr (HasQuads<N> && std::is_base_of_v<NarrowFloat, Type>) {
    return unpack_quads<Type, typename N::Quad>(pack);
  } else if constexpr (HasUnpackWord<N, Type>) {
    Partial<Type> partial;
    for (int i = 0; i < kWords; ++i)
      N::unpack_word(typename Type::Codec{}, pack.bytes.w[i],
                     partial.value + i * Sharing<Type>::kPerWord);
    return partial;
  } else {
    const auto all = bits_as<Elements<Type>>(pack.bytes);
    Partial<Type> partial;
    for (int i = 0; i < Pack<Type>::kElems; ++i) partial.value[i] = Type::load(all.elem[i]);
    return partial;
  }
}

// Rounds to the element type.
template <class Type, class N = platform::Native>
WEFT_HD Pack<Type> repack(const Partial<Type>& partial) {
  if constexpr (HasQuads<N> && std::is_base_of_v<NarrowFloat, Type>) {
    return repack_quads<Type, typename N::Quad>(partial);
  } else if constexpr (HasRepackWord<N, Type>) {
    Pack<Type> pack;
    for (int i = 0; i < kWords; ++i)
      pack.bytes.w[i] =
          N::repack_word(typename Type::Codec{}, partial.value + i * Sharing<Type>::kPerWord);
    return pack;
  } else {
    Elements<Type> all;
    for (int i = 0; i < Pack<Type>::kElems; ++i) all.elem[i] = Type::store(partial.value[i]);
    return {bits_as<platform::Bytes16>(all)};
  }
}

template <class Op, class Type>
WEFT_HD Partial<Type> combine(const Partial<Type>& a, const Partial<Type>& b, const OpArg& arg) {
  Partial<Type> sum;
  for (int i = 0; i < Pack<Type>::kElems; ++i) {
    sum.value[i] = Reducer<Op, Type>::combine(a.value[i], b.value[i], arg);
  }
  return sum;
}

// Two packs, rounded once.
template <class Op, class Type>
WEFT_HD Pack<Type> combine(const Pack<Type>& a, const Pack<Type>& b, const OpArg& arg) {
  return repack(combine<Op>(unpack(a), unpack(b), arg));
}

// What this rank contributes, from its input: to be folded here, sent to others, or both. Only sums
// have scales.
template <class Type>
WEFT_HD Pack<Type> pre(const Pack<Type>& input, const OpArg& arg) {
  if ((arg.flags & OpArg::kPreScale) == 0) return input;
  Partial<Type> scaled = unpack(input);
  for (int i = 0; i < Pack<Type>::kElems; ++i)
    scaled.value[i] = Reducer<Sum, Type>::scaled(scaled.value[i], arg);
  return repack(scaled);  // which rounds
}

// The result, from all contributions; before it is rounded.
template <class Type>
WEFT_HD Partial<Type> post(const Partial<Type>& all, const OpArg& arg) {
  if ((arg.flags & OpArg::kPostScale) == 0) return all;
  Partial<Type> result;
  for (int i = 0; i < Pack<Type>::kElems; ++i)
    result.value[i] = Reducer<Sum, Type>::post(all.value[i], arg);
  return result;
}

}  // namespace weft
