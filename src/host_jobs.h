// Work that the hosts of a communicator do together and that waits for the end of its group:
// splits, windows. Owns: which jobs run side by side, and on which thread. Does not own: what a job
// does (split.h, window.h), how an init goes (group.h, run_inits).
#pragma once

#include <rccl/rccl.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "communicator.h"
#include "error.h"

namespace weft {

struct InitJob;

struct HostJob {
  std::shared_ptr<Communicator> comm;
  // Collective over `comm`; gives the inits that follow. Throws Error.
  std::function<std::vector<InitJob>(Communicator&)> run;
};

// Jobs of one communicator run in order, those of different ones side by side; then come the inits,
// those given and those that jobs gave. All are run, whatever fails; then the first error is
// thrown. Jobs of a non-blocking communicator go on in the background: ncclInProgress, which is
// also what its asynchronous error says until they are done.
ncclResult_t run_jobs(std::vector<HostJob> jobs, std::vector<InitJob> inits);

// Why a rank cannot take part in something that all others wait for: told to them, not thrown.
struct Refusal {
  ncclResult_t code = ncclSuccess;
  std::string text;
};
template <class Body>
Refusal refusal_of(Body body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}
// Gathers plain bytes of all ranks into `all`. When that fails ranks no longer agree on what comes
// next, so it becomes the asynchronous error of all of them, and is thrown.
void gather_all(const char* function, Communicator& comm, void* all, size_t bytes_each);

// What every rank says; `code` of an item tells whether that rank takes part. Throws on all ranks
// the refusal of the first one that does not.
template <class Item>
std::vector<Item> gather(const char* function, Communicator& comm, Item own,
                         const Refusal& refusal) {
  std::vector<Item> all(size_t(comm.size()));
  own.code = refusal.code;
  all[size_t(comm.rank())] = own;
  gather_all(function, comm, all.data(), sizeof(Item));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].code != ncclSuccess)
      fail(ncclResult_t(all[rank].code), "rank {}: {}", rank,
           comm.bootstrap->all_gather_texts(refusal.text)[rank]);
  return all;
}

}  // namespace weft
