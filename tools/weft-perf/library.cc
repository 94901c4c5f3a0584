// Opening collective libraries. See library.h.
#include "library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "failure.h"

namespace weft::perf {
namespace {

constexpr char kLibrary[] = "librccl.so.1";
// Where it lies seen from this program: installed side by side, in a prefix, or in a build tree.
constexpr const char* kPlaces[] = {".",         "../lib",    "../lib64", "../lib/x86_64-linux-gnu",
                                   "../../src", "../../lib", "../.."};

std::string default_library() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : kPlaces) {
    const auto file = program / place / kLibrary;
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return kLibrary;
}

template <class Function>
bool load(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

template <class Function>
void load_required(void* handle, const Api& api, const char* name, Function& function) {
  if (!load(handle, name, function)) fail_missing(api, name);
}

std::string resolved_path(const void* function, const std::string& file) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return file;
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::string(info.dli_fname) : path.string();
}

void load_always(void* handle, Api& api) {
  load_required(handle, api, "ncclGetVersion", api.get_version);
  load_required(handle, api, "ncclGetUniqueId", api.get_unique_id);
  load_required(handle, api, "ncclCommInitRank", api.comm_init_rank);
  load_required(handle, api, "ncclCommDestroy", api.comm_destroy);
  load_required(handle, api, "ncclGetErrorString", api.get_error_string);
  load_required(handle, api, "ncclAllReduce", api.all_reduce);
  load_required(handle, api, "ncclAllGather", api.all_gather);
  load_required(handle, api, "ncclReduceScatter", api.reduce_scatter);
  load_required(handle, api, "ncclBroadcast", api.broadcast);
  load_required(handle, api, "ncclReduce", api.reduce);
  load_required(handle, api, "ncclGroupStart", api.group_start);
  load_required(handle, api, "ncclGroupEnd", api.group_end);
}

void load_optional(void* handle, Api& api) {
  load(handle, "ncclCommInitRankConfig", api.comm_init_rank_config);
  load(handle, "ncclCommFinalize", api.comm_finalize);
  load(handle, "ncclCommAbort", api.comm_abort);
  load(handle, "ncclCommGetAsyncError", api.comm_get_async_error);
  load(handle, "ncclGetLastError", api.get_last_error);
  load(handle, "ncclRedOpCreatePreMulSum", api.red_op_create_pre_mul_sum);
  load(handle, "ncclRedOpDestroy", api.red_op_destroy);
  load(handle, "ncclSend", api.send);
  load(handle, "ncclRecv", api.recv);
  // RCCL had the other spelling first.
  if (!load(handle, "ncclAlltoAll", api.alltoall)) load(handle, "ncclAllToAll", api.alltoall);
  load(handle, "ncclGather", api.gather);
  load(handle, "ncclScatter", api.scatter);
  load(handle, "ncclMemAlloc", api.mem_alloc);
  load(handle, "ncclMemFree", api.mem_free);
  load(handle, "ncclCommRegister", api.comm_register);
  load(handle, "ncclCommDeregister", api.comm_deregister);
  load(handle, "ncclCommWindowRegister", api.comm_window_register);
  load(handle, "ncclCommWindowDeregister", api.comm_window_deregister);
}

}  // namespace

void fail_missing(const Api& api, const char* name) { fail("{} has no {}", api.path, name); }

Api open_library(const std::string& file) {
  const std::string name = file.empty() ? default_library() : file;
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail("cannot open {}: {}", name, dlerror());
  Api api{};
  api.path = name;
  load_always(handle, api);
  load_optional(handle, api);
  api.path = resolved_path(reinterpret_cast<const void*>(api.get_version), name);
  return api;
}

std::string version_text(const Api& api) {
  int version = 0;
  check_result(api, api.get_version(&version), "ncclGetVersion");
  // Up to 2.8 the code was major * 1000 + minor * 100 + patch.
  const int major_unit = version < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", version / major_unit, version % major_unit / 100, version % 100);
}

void check_result(const Api& api, ncclResult_t result, const std::string& what) {
  if (result == ncclSuccess) return;
  std::string text = fmt::format("{}: {} ({})", what, api.get_error_string(result), int{result});
  const char* last = api.get_last_error == nullptr ? nullptr : api.get_last_error(nullptr);
  if (last != nullptr && *last != '\0') text += fmt::format(": {}", last);
  fail("{}: {}", api.path, text);
}

}  // namespace weft::perf
