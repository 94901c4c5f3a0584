// What every C entry point is made of: Error becomes a code and a last-error text. Used by api*.cc.
#pragma once

#include <new>

#include "api_name.h"
#include "error.h"
#include "group.h"
#include "last_error.h"
#include "log.h"
#include "validate.h"

namespace weft {

inline ncclResult_t report(ncclResult_t code, const char* text) noexcept {
  set_last_error(text);
  log_warn("{}", text);
  return code;
}

// Runs `body`, which returns a code or throws.
template <class Body>
ncclResult_t guard(Body body) noexcept {
  clear_thread_error();
  try {
    return body();
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(ncclSystemError, "out of host memory");
  } catch (const std::exception& error) {
    return report(ncclInternalError, error.what());
  }
}

// Of calls that belong to the group they are made in: a failure fails the group.
template <class Body>
ncclResult_t guard_in_group(Body body) noexcept {
  const ncclResult_t code = guard(body);
  if (code != ncclSuccess && code != ncclInProgress)
    Group::current().note_failure(code, last_error_text());
  return code;
}

}  // namespace weft
