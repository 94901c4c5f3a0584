// BLAKE2b through libsodium's generichash.
#include "bootstrap/digest.h"

#include <sodium.h>

namespace weft {
namespace {

const uint8_t* data_of(ByteSpan bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

void ensure_sodium() {
  static const int ready = sodium_init();  // picks the fastest implementation; 1 when done before
  (void)ready;
}

std::array<std::byte, 32> hash_parts(const Key* key, std::string_view label,
                                     std::initializer_list<ByteSpan> parts) {
  ensure_sodium();
  crypto_generichash_state state;
  std::array<std::byte, 32> out;
  crypto_generichash_init(&state, key ? data_of(*key) : nullptr, key ? key->size() : 0, out.size());
  const uint8_t label_bytes = static_cast<uint8_t>(label.size());
  crypto_generichash_update(&state, &label_bytes, 1);
  crypto_generichash_update(&state, data_of(as_byte_span(label)), label.size());
  for (ByteSpan part : parts) crypto_generichash_update(&state, data_of(part), part.size());
  crypto_generichash_final(&state, reinterpret_cast<uint8_t*>(out.data()), out.size());
  return out;
}

}  // namespace

Mac mac_of(const Key& key, std::string_view label, std::initializer_list<ByteSpan> parts) {
  return hash_parts(&key, label, parts);
}

bool same_mac(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Key hash256(std::string_view label, ByteSpan bytes) { return hash_parts(nullptr, label, {bytes}); }

uint64_t hash64(ByteSpan bytes) {
  const Key full = hash256("hash64", bytes);
  return Reader(full).u64();
}

void fill_random(std::span<std::byte> bytes) {
  ensure_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

std::string hex_text(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace weft
