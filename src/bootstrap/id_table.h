// The unique ids this process made. Owns: their root services, and why an id can no longer be used.
// With the stranger counter the only global state of the bootstrap; it lives until the process
// ends, as threads may outlast static destructors.
#pragma once

#include <memory>

#include "bootstrap/root.h"

namespace weft {

void keep_root(uint64_t nonce, std::unique_ptr<RootService> root);
// "" when the id is unknown here or its meeting still goes on.
std::string id_outcome(uint64_t nonce);

}  // namespace weft
