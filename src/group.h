// Groups: calls between ncclGroupStart and ncclGroupEnd, kept per thread and done together at the
// outermost end. A call outside a group is a group of one. Owns: nesting, the order of
// communicators, running inits side by side. Next: launch.h.
#pragma once

#include <rccl/rccl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "communicator.h"
#include "host_jobs.h"

namespace weft {

// An init that waits for the end of its group.
struct InitJob {
  std::unique_ptr<Communicator> comm;
  ncclUniqueId id;
  ncclComm_t* out;  // set when the init has succeeded; at once when it is non-blocking
};

class Group {
 public:
  // Of the calling thread.
  static Group& current();

  bool open() const { return depth_ > 0; }
  void start() { ++depth_; }
  // Does what the group holds when it is the outermost end. ncclInProgress: inits go on in the
  // background. Throws Error; a group in which a call failed does nothing and throws that error.
  ncclResult_t end();

  void add(ncclComm_t handle, const Request& request);
  ncclResult_t add(InitJob job);
  ncclResult_t add(HostJob job);
  // Ends the group without doing anything; at the outermost end gives what would have been
  // launched. Throws as end() does.
  struct Calls {
    ncclComm_t handle;
    std::vector<Request> requests;
  };
  std::vector<Calls> discard();
  // A call inside the group failed.
  void note_failure(ncclResult_t code, const std::string& text);

 private:
  ncclResult_t run();

  int depth_ = 0;
  std::vector<HostJob> host_jobs_;
  std::vector<InitJob> jobs_;
  std::vector<Calls> calls_;  // by first appearance of the communicator
  ncclResult_t failure_ = ncclSuccess;
  std::string failure_text_;
};

// Runs inits side by side, one thread each, and waits for the blocking ones. Throws the first
// error; the handles of inits that succeeded are set all the same.
ncclResult_t run_inits(std::vector<InitJob> jobs);

}  // namespace weft
