// A collective library opened at run time: its functions, its path and what it says of itself.
// Owns: dlopen (RTLD_LOCAL, so that two libraries with the same names live side by side), the
// function table, turning a result code into a Failure with the library's own words. weft-perf
// never links a collective library.
#pragma once

#include <rccl/rccl.h>

#include <string>

namespace weft::perf {

// Null where the library has no such function; those below `group_end` exist in every library we
// open.
struct Api {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) comm_init_rank;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclGetErrorString) get_error_string;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclReduce) reduce;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  // Younger than some libraries in use.
  decltype(&ncclCommInitRankConfig) comm_init_rank_config;
  decltype(&ncclCommFinalize) comm_finalize;
  decltype(&ncclCommAbort) comm_abort;
  decltype(&ncclCommGetAsyncError) comm_get_async_error;
  decltype(&ncclGetLastError) get_last_error;
  decltype(&ncclRedOpCreatePreMulSum) red_op_create_pre_mul_sum;
  decltype(&ncclRedOpDestroy) red_op_destroy;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclAlltoAll) alltoall;
  decltype(&ncclGather) gather;
  decltype(&ncclScatter) scatter;
  decltype(&ncclMemAlloc) mem_alloc;
  decltype(&ncclMemFree) mem_free;
  decltype(&ncclCommRegister) comm_register;
  decltype(&ncclCommDeregister) comm_deregister;
  decltype(&ncclCommWindowRegister) comm_window_register;
  decltype(&ncclCommWindowDeregister) comm_window_deregister;

  std::string path;  // the file, links resolved
};

[[noreturn]] void fail_missing(const Api& api, const char* name);

// `function`, or a Failure that names it and the library.
template <class Function>
Function required(const Api& api, Function function, const char* name) {
  if (function == nullptr) fail_missing(api, name);
  return function;
}

// Opens `file`; "" means librccl.so.1 of the tree this program was built or installed in, else the
// system's. Never closed: collective libraries keep threads. Throws Failure.
Api open_library(const std::string& file);

// "2.28.3"
std::string version_text(const Api& api);

// Throws Failure "what: error string: last error of the library" unless the result is ncclSuccess.
void check_result(const Api& api, ncclResult_t result, const std::string& what);

}  // namespace weft::perf
