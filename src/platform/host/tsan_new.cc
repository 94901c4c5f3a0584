// Builds for ThreadSanitizer only: this library's own operator new and delete (not exported),
// invisible to TSAN. Objects of the runtime change threads under locks that TSAN must not see
// (sync.h), and it takes their allocation and release for accesses.
#if defined(WEFT_HOST_TSAN)

#include <cstdlib>
#include <new>

#include "sanitizers.h"

namespace {

void* take(size_t bytes, size_t align) {
  const weft::hiphost::sanitize::Ignore ignore;
  const size_t rounded = (bytes + align - 1) / align * align;
  void* p = align <= alignof(max_align_t) ? malloc(bytes) : aligned_alloc(align, rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void drop(void* p) {
  const weft::hiphost::sanitize::Ignore ignore;
  free(p);
}

}  // namespace

void* operator new(size_t bytes) { return take(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t align) {
  return take(bytes, static_cast<size_t>(align));
}
void operator delete(void* p) noexcept { drop(p); }
void operator delete(void* p, size_t) noexcept { drop(p); }
void operator delete(void* p, std::align_val_t) noexcept { drop(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { drop(p); }

#endif
