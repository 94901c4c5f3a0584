// The exchange through the launcher's PMIx server (mpirun, prterun, srun --mpi=pmix), with libpmix
// opened at run time. Owns: declarations of the six functions and three structures it uses. Their
// layout is that of libpmix.so.2, the same from PMIx 3 to 5 (checked against the headers of 4.2.2:
// sizes 260, 32 and 552, value data at 8, info value at 520). A round: put one key with the own
// text, commit, fence with data, get the same key of every other process.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "exchange.h"
#include "failure.h"

namespace weft::perf {
namespace {

constexpr uint32_t kAnyRank = UINT32_MAX - 1;  // PMIX_RANK_WILDCARD: the job as a whole
constexpr uint8_t kGlobalScope = 3;            // PMIX_GLOBAL
constexpr uint16_t kTypeBool = 1, kTypeUint32 = 14, kTypeBytes = 27;

struct PmixProc {
  char nspace[256];
  uint32_t rank;
};

struct PmixValue {
  uint16_t type;
  union {
    struct {
      char* bytes;
      size_t size;
    } object;
    uint32_t number;
    bool flag;
    char room[24];
  };
};

struct PmixInfo {
  char key[512];
  uint32_t flags;
  PmixValue value;
};

static_assert(sizeof(PmixProc) == 260 && sizeof(PmixValue) == 32 && sizeof(PmixInfo) == 552);
static_assert(offsetof(PmixValue, object) == 8 && offsetof(PmixInfo, value) == 520);

struct PmixApi {
  int (*init)(PmixProc*, PmixInfo*, size_t);
  int (*finalize)(const PmixInfo*, size_t);
  int (*put)(uint8_t scope, const char* key, PmixValue*);
  int (*commit)();
  int (*fence)(const PmixProc*, size_t, const PmixInfo*, size_t);
  int (*get)(const PmixProc*, const char* key, const PmixInfo*, size_t, PmixValue**);
  const char* (*error_string)(int);
};

template <class Function>
void find_function(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) fail_usage("the PMIx library has no {}", name);
}

PmixApi open_pmix(const std::string& library) {
  const char* name = library.empty() ? "libpmix.so.2" : library.c_str();
  // RTLD_GLOBAL: PMIx loads its components with dlopen, and they need its symbols.
  void* handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    fail_usage(
        "cannot open the PMIx library: {}. Name it with --pmix-lib, or set MASTER_ADDR and "
        "MASTER_PORT",
        dlerror());
  }
  PmixApi api{};
  find_function(handle, "PMIx_Init", api.init);
  find_function(handle, "PMIx_Finalize", api.finalize);
  find_function(handle, "PMIx_Put", api.put);
  find_function(handle, "PMIx_Commit", api.commit);
  find_function(handle, "PMIx_Fence", api.fence);
  find_function(handle, "PMIx_Get", api.get);
  find_function(handle, "PMIx_Error_string", api.error_string);
  return api;
}

class OverPmix final : public Exchange {
 public:
  explicit OverPmix(const std::string& library) : api_(open_pmix(library)) {
    check(api_.init(&self_, nullptr, 0), "PMIx_Init");
    PmixProc job = self_;
    job.rank = kAnyRank;
    PmixValue* value = get(job, "pmix.job.size", kTypeUint32);
    size_ = static_cast<int>(value->number);
    std::free(value);
  }
  ~OverPmix() override { api_.finalize(nullptr, 0); }

  int rank() const override { return static_cast<int>(self_.rank); }
  int size() const override { return size_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const std::string key = fmt::format("weft-perf.{}", round_++);
    PmixValue value{};
    value.type = kTypeBytes;
    // An empty object may be dropped on the way, so every text travels with one leading byte. put
    // copies what it is given.
    std::string sent = "x" + mine;
    value.object.bytes = sent.data();
    value.object.size = sent.size();
    check(api_.put(kGlobalScope, key.c_str(), &value), "PMIx_Put");
    check(api_.commit(), "PMIx_Commit");
    PmixInfo collect{};
    std::strcpy(collect.key, "pmix.collect");
    collect.value.type = kTypeBool;
    collect.value.flag = true;
    check(api_.fence(nullptr, 0, &collect, 1), "PMIx_Fence");
    std::vector<std::string> all;
    for (int peer = 0; peer < size_; ++peer) {
      all.push_back(peer == rank() ? mine : text_of(peer, key));
    }
    return all;
  }

 private:
  void check(int status, const char* what) const {
    if (status != 0) fail("{}: {} ({})", what, api_.error_string(status), status);
  }

  // The caller frees the value, and the bytes of an object, as PMIx allocates both with malloc.
  PmixValue* get(const PmixProc& proc, const char* key, uint16_t type) const {
    PmixValue* value = nullptr;
    check(api_.get(&proc, key, nullptr, 0, &value), "PMIx_Get");
    if (value == nullptr || value->type != type) fail("PMIx_Get: {} has another type", key);
    return value;
  }

  std::string text_of(int peer, const std::string& key) const {
    PmixProc proc = self_;
    proc.rank = static_cast<uint32_t>(peer);
    PmixValue* value = get(proc, key.c_str(), kTypeBytes);
    std::string text(value->object.bytes + 1, value->object.size - 1);
    std::free(value->object.bytes);
    std::free(value);
    return text;
  }

  const PmixApi api_;
  PmixProc self_{};
  int size_ = 0;
  unsigned long round_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> exchange_over_pmix(const std::string& library) {
  return std::make_unique<OverPmix>(library);
}

}  // namespace weft::perf
