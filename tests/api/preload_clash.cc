// A program that defines symbols which the library has inside as well, as a process with its own
// libsodium, fmt or C++ runtime does. Run with LD_PRELOAD=librccl.so: its calls must stay inside,
// and its own copies must not leak into the program.
#include <dlfcn.h>
#include <rccl/nccl_2_30.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

[[noreturn]] void caught(const char* what) {
  std::fprintf(stderr, "the library called %s of the program\n", what);
  std::_Exit(1);
}

// The function of the preloaded library; this program itself is not linked to it.
template <class F>
F* library_function(const char* name) {
  void* const address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr) {
    std::fprintf(stderr, "%s not found: is the library preloaded?\n", name);
    std::_Exit(1);
  }
  return reinterpret_cast<F*>(address);
}

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

}  // namespace

extern "C" {
int sodium_init() { caught("sodium_init"); }
void randombytes_buf(void*, size_t) { caught("randombytes_buf"); }
void randombytes(unsigned char*, unsigned long long) { caught("randombytes"); }
int crypto_generichash(unsigned char*, size_t, const unsigned char*, unsigned long long,
                       const unsigned char*, size_t) {
  caught("crypto_generichash");
}
}

// Names of the library's own C++ code: as if a second copy of it were linked into the program.
namespace weft {
ncclResult_t unavailable(const char*) noexcept { caught("weft::unavailable"); }
}  // namespace weft

int main() {
  const auto get_version = library_function<decltype(ncclGetVersion)>("ncclGetVersion");
  const auto get_id = library_function<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
  const auto resume = library_function<decltype(ncclCommResume)>("ncclCommResume");
  const auto last_error = library_function<decltype(ncclGetLastError)>("ncclGetLastError");

  int version = 0;
  if (get_version(&version) != ncclSuccess || version != NCCL_VERSION_CODE) return fail("version");
  ncclUniqueId id = {};
  if (get_id(&id) != ncclSuccess) return fail(last_error(nullptr));
  if (get_id(nullptr) != ncclInvalidArgument)
    return fail("an error inside did not come back as a code");
  if (resume(nullptr) != ncclInvalidUsage) return fail("ncclCommResume");

  for (const char* hidden :
       {"sodium_version_string", "crypto_sign",
        "_ZN4weft14set_last_errorESt17basic_string_viewIcSt11char_traitsIcEE"}) {
    if (dlsym(RTLD_DEFAULT, hidden) != nullptr) {
      std::fprintf(stderr, "the library shows %s\n", hidden);
      return 1;
    }
  }
  return 0;
}
