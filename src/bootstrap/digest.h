// BLAKE2b (libsodium) in the few shapes this folder needs, and random bytes. Owns: initialising
// libsodium. Does not own: what is hashed. No function here allocates or throws.
#pragma once

#include <array>
#include <initializer_list>

#include "bootstrap/wire.h"

namespace weft {

using Key = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;

// Keyed over label and parts, one after another. The label keeps one message's mac from serving as
// another's.
Mac mac_of(const Key& key, std::string_view label, std::initializer_list<ByteSpan> parts);
// Constant time.
bool same_mac(ByteSpan a, ByteSpan b);
Key hash256(std::string_view label, ByteSpan bytes);
uint64_t hash64(ByteSpan bytes);
void fill_random(std::span<std::byte> bytes);
std::string hex_text(ByteSpan bytes);

}  // namespace weft
