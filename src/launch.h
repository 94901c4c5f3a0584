// Gives the requests of one communicator to its device. Next on the path: device/kernel.h.
#pragma once

#include <vector>

#include "communicator.h"

namespace weft {

// Never waits for other ranks or for the device. Leaves the current device as it was. Throws Error.
void launch(Communicator& comm, const std::vector<Request>& requests);

}  // namespace weft
