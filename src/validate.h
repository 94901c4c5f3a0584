// Checks of what a caller passes, before anything else happens. Each throws Error with the right
// code and a text that names the function, the argument and its value.
#pragma once

#include "communicator.h"
#include "request.h"

namespace weft {

void require_pointer(const char* function, const char* argument, const void* value);
void require_rank(const char* function, int rank, int size);

// A request on a communicator that is ready.
void validate(const char* function, const Communicator& comm, const Request& request);

}  // namespace weft
