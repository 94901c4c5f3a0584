// Gives the requests of one communicator to its device. Next on the path: device/kernel.h.
#pragma once

#include <span>

#include "communicator.h"

namespace weft {

// Never waits for other ranks or for the device. Leaves the current device as it was. Throws Error.
void launch(Communicator& comm, std::span<const Request> requests);

// Makes all kernels resident on the current device. A runtime that loads a kernel at its first
// launch may wait for the device, which another thread's kernel may keep busy until this one runs.
// Throws Error.
void load_kernels();

}  // namespace weft
