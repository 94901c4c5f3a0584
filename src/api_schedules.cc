// The C entry points of schedules that a program brings. A run makes a Request like any other;
// planner.cc takes the schedule's steps in place of a pattern's.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "api_guard.h"
#include "schedules.h"

namespace weft {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad())
    fail(ncclSystemError, "mscclLoadAlgo: cannot read {}: {}", path, std::strerror(errno));
  return text;
}

void load(const char* path, mscclAlgoHandle_t* handle, int rank) {
  require_pointer("mscclLoadAlgo", "mscclAlgoFilePath", path);
  require_pointer("mscclLoadAlgo", "mscclAlgoHandle", handle);
  ScheduleSteps steps = load_schedule(text_of(path));
  require_rank("mscclLoadAlgo", rank, steps.places());
  *handle = Schedules::instance().keep(std::move(steps));
}

void require_fit(const Communicator& comm, const ScheduleSteps& schedule) {
  if (comm.size() != schedule.places())
    fail(ncclInvalidArgument, "mscclRunAlgo: schedule {} is for {} ranks, the communicator has {}",
         schedule.name, schedule.places(), comm.size());
  if (comm.config().deterministic && reduces(schedule.collective) && !schedule.in_rank_order)
    fail(ncclInvalidUsage,
         "mscclRunAlgo: WEFT_DETERMINISTIC=1, and schedule {} does not fold in rank order",
         schedule.name);
}

}  // namespace
}  // namespace weft

using namespace weft;

WEFT_API(mscclLoadAlgo)
ncclResult_t mscclLoadAlgo(const char* mscclAlgoFilePath, mscclAlgoHandle_t* mscclAlgoHandle,
                           int rank) {
  return guard([&] {
    load(mscclAlgoFilePath, mscclAlgoHandle, rank);
    return ncclSuccess;
  });
}

WEFT_API(mscclRunAlgo)
ncclResult_t mscclRunAlgo(const void* sendBuff, const size_t*, const size_t*, void* recvBuff,
                          const size_t*, const size_t*, size_t count, ncclDataType_t dataType, int,
                          int, ncclRedOp_t op, mscclAlgoHandle_t mscclAlgoHandle, ncclComm_t comm,
                          hipStream_t stream) {
  return guard_in_group([&] {
    const auto communicator = communicator_of(comm, "mscclRunAlgo");
    auto schedule = Schedules::instance().find(mscclAlgoHandle, "mscclRunAlgo");
    require_fit(*communicator, *schedule);
    const Collective collective = schedule->collective;
    Request request{collective, sendBuff, recvBuff,
                    count,      dataType, reduces(collective) ? op : ncclSum,
                    0,          stream};
    request.schedule = std::move(schedule);
    validate("mscclRunAlgo", *communicator, request);
    Group::current().add(comm, request);
    return ncclSuccess;
  });
}

WEFT_API(mscclUnloadAlgo)
ncclResult_t mscclUnloadAlgo(mscclAlgoHandle_t mscclAlgoHandle) {
  return guard([&] {
    Schedules::instance().drop(mscclAlgoHandle, "mscclUnloadAlgo");
    return ncclSuccess;
  });
}
