// The table of schedules (schedules.h).
#include "schedules.h"

#include "error.h"

namespace weft {

Schedules& Schedules::instance() {
  static Schedules schedules;
  return schedules;
}

int Schedules::keep(ScheduleSteps steps) {
  auto shared = std::make_shared<const ScheduleSteps>(std::move(steps));
  const std::lock_guard lock(mutex_);
  table_.emplace(next_, std::move(shared));
  return next_++;
}

std::shared_ptr<const ScheduleSteps> Schedules::find(int handle, const char* function) {
  const std::lock_guard lock(mutex_);
  return at(handle, function)->second;
}

void Schedules::drop(int handle, const char* function) {
  const std::lock_guard lock(mutex_);
  table_.erase(at(handle, function));
}

Schedules::Table::iterator Schedules::at(int handle, const char* function) {
  const auto found = table_.find(handle);
  if (found == table_.end())
    fail(ncclInvalidArgument, "{}: {} is no handle of a schedule, or was unloaded", function,
         handle);
  return found;
}

}  // namespace weft
