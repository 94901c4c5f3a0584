// The schedules that a program loaded (mscclLoadAlgo), by handle, one table a process. Owns: the
// handles. A request shares what it was made with, so that a schedule may be dropped while it runs.
// Does not own: reading and steps (algorithms/schedule/). Thread rule: any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "algorithms/schedule/steps.h"

namespace weft {

class Schedules {
 public:
  static Schedules& instance();

  // The handle: one that was not given before.
  int keep(ScheduleSteps steps);
  // Throw Error(ncclInvalidArgument) naming `function` for what is no handle.
  std::shared_ptr<const ScheduleSteps> find(int handle, const char* function);
  void drop(int handle, const char* function);

 private:
  using Table = std::map<int, std::shared_ptr<const ScheduleSteps>>;
  Table::iterator at(int handle, const char* function);  // under mutex_

  std::mutex mutex_;
  Table table_;
  int next_ = 1;
};

}  // namespace weft
