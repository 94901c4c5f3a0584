// Ranks as threads of this program or each as a process. Owns: starting them, carrying the unique
// id, ending the program when one of them fails.
#pragma once

#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <string>

namespace amd_test {

struct Job {
  ncclUniqueId id;
  int ranks, rank, devices;
};

[[noreturn]] void give_up(int rank, const std::string& what);
void require(const Job& job, hipError_t code, const std::string& what);
void require(const Job& job, ncclResult_t code, const std::string& what);

// Runs run_rank once a rank; 0 when all of them returned. A process is this program again with the
// same arguments, so that none inherits a runtime; is_rank() there.
int run_threads(const Job& job, void (*run_rank)(const Job&));
int run_processes(const Job& job, char** arguments);
bool is_rank();
void join_as_rank(Job& job);  // its rank and id

}  // namespace amd_test
