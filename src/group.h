// Groups: calls between ncclGroupStart and ncclGroupEnd, kept per thread and done together at the
// outermost end. A call outside a group is a group of one. Owns: nesting, the order of
// communicators, running inits side by side. Next: launch.h.
#pragma once

#include <rccl/rccl.h>

#include <functional>
#include <memory>
#include <span>
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

// Of one thread: by communicator, in the order in which communicators came. Memory is kept from one
// group to the next.
class GroupCalls {
 public:
  void add(ncclComm_t handle, const Request& request);
  void clear();
  // All handles are looked at before the first visit: a group starts whole or not at all.
  template <class Visit>
  void visit(Visit visit) {
    for (Calls& calls : std::span(calls_).first(used_))
      calls.comm = communicator_of(calls.handle, "ncclGroupEnd");
    for (const Calls& calls : std::span(calls_).first(used_)) visit(*calls.comm, calls.requests);
  }

 private:
  struct Calls {
    ncclComm_t handle;
    std::shared_ptr<Communicator> comm;
    std::vector<Request> requests;
  };
  std::vector<Calls> calls_;
  size_t used_ = 0;
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
  // Ends the group without doing anything; at the outermost end `look` sees what would have been
  // launched. Throws as end() does.
  void discard(const std::function<void(Communicator&, std::span<const Request>)>& look);
  // A call inside the group failed.
  void note_failure(ncclResult_t code, const std::string& text);

 private:
  ncclResult_t run();
  void fail_if_failed();

  int depth_ = 0;
  std::vector<HostJob> host_jobs_;
  std::vector<InitJob> jobs_;
  GroupCalls calls_;
  ncclResult_t failure_ = ncclSuccess;
  std::string failure_text_;
};

// Runs inits side by side, one thread each, and waits for the blocking ones. Throws the first
// error; the handles of inits that succeeded are set all the same.
ncclResult_t run_inits(std::vector<InitJob> jobs);

}  // namespace weft
