// Checks of what a caller passes, before anything else happens. Each throws Error with the right
// code and a text that names the function, the argument and its value.
#pragma once

#include "communicator.h"
#include "request.h"

namespace weft {

void require_pointer(const char* function, const char* argument, const void* value);
void require_rank(const char* function, int rank, int size);
// The bytes of one element.
size_t require_type(const char* function, ncclDataType_t type);

// A request on a communicator that is ready. Fills in what its op means (Request::user_op). Only
// buffers that this rank reads or writes are looked at (collective.h, buffer_shape).
void validate(const char* function, const Communicator& comm, Request& request);

}  // namespace weft
