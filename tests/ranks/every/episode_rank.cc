// A rank of an episode (episode_rank.h).
#include "episode_rank.h"

#include <fmt/format.h>

#include "../../support/local_ranks.h"

namespace weft::test {

EpisodeRank::EpisodeRank(const Episode& episode, int rank, Meeting& meeting)
    : episode_(episode),
      rank_(rank),
      meeting_(meeting),
      comms_(episode.comms.size()),
      streams_(kStreams) {
  for (hipStream_t& stream : streams_)
    require_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
}

EpisodeRank::~EpisodeRank() {
  for (ncclComm_t comm : comms_)
    if (comm) (void)(meeting_.failed ? ncclCommAbort(comm) : ncclCommDestroy(comm));
  for (hipStream_t stream : streams_) (void)hipStreamDestroy(stream);
}

void EpisodeRank::make_comms() {
  for (size_t comm = 0; comm < comms_.size(); ++comm) make_comm(comm);
}

void EpisodeRank::make_comm(size_t comm) {
  const CommPlan& plan = episode_.comms[comm];
  const int rank = plan.rank_of(rank_);
  if (plan.making == Making::kSplit) {
    require_ok(
        ncclCommSplit(comms_[0], rank < 0 ? NCCL_SPLIT_NOCOLOR : 3, rank, &comms_[comm], nullptr),
        "ncclCommSplit");
  } else if (rank >= 0 && plan.making == Making::kOneCall) {
    comms_[comm] = std::exchange(meeting_.made[comm][size_t(rank)], nullptr);
  } else if (rank >= 0) {
    require_ok(ncclCommInitRank(&comms_[comm], int(plan.members.size()), meeting_.ids[comm], rank),
               "ncclCommInitRank");
  }
}

std::string EpisodeRank::where(size_t batch, size_t call) const {
  size_t number = call + 1;
  for (size_t i = 0; i < batch; ++i) number += episode_.batches[i].calls.size();
  const CommCall& each = episode_.batches[batch].calls[call];
  return fmt::format("operation {} (batch {}, {}, communicator {}), rank {}: {}", number, batch,
                     episode_.batches[batch].grouped ? "grouped" : "not grouped", each.comm, rank_,
                     each.operation.text());
}

void EpisodeRank::issue(size_t batch) {
  const Batch& what = episode_.batches[batch];
  pending_.clear();
  for (const CommCall& call : what.calls) {
    const CommPlan& plan = episode_.comms[call.comm];
    const int rank = plan.rank_of(rank_);
    pending_.push_back(
        rank < 0 ? nullptr
                 : std::make_unique<RankOperation>(call.operation, rank, int(plan.members.size())));
  }
  if (what.grouped) require_ok(ncclGroupStart(), "ncclGroupStart");
  for (size_t i = 0; i < pending_.size(); ++i) {
    const CommCall& call = what.calls[i];
    if (pending_[i]) try {
        pending_[i]->issue(comms_[call.comm], streams_[stream_of(call.operation, rank_)]);
      } catch (const std::exception& error) {
        throw std::runtime_error(where(batch, i) + ": " + error.what());
      }
  }
  if (what.grouped) require_ok(ncclGroupEnd(), "ncclGroupEnd");
}

void EpisodeRank::check_state() {
  for (ncclComm_t comm : comms_) {
    ncclResult_t state = ncclSuccess;
    if (comm) require_ok(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    if (state != ncclSuccess)
      throw std::runtime_error(
          fmt::format("rank {}: {}: {}", rank_, ncclGetErrorString(state), ncclGetLastError(comm)));
  }
}

void EpisodeRank::finish(size_t batch) {
  for (hipStream_t stream : streams_)
    require_hip(hipStreamSynchronize(stream), "hipStreamSynchronize");
  try {
    check_state();
  } catch (const std::exception& error) {
    throw std::runtime_error(where(batch, episode_.batches[batch].calls.size() - 1) +
                             " or before: " + error.what());
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    const std::string wrong = pending_[i] ? pending_[i]->check() : "";
    if (!wrong.empty()) throw std::runtime_error(where(batch, i) + ": " + wrong);
  }
}

std::string run_rank(const Episode& episode, int rank, Meeting& meeting) {
  try {
    require_hip(hipSetDevice(rank), "hipSetDevice");
    EpisodeRank self(episode, rank, meeting);
    try {
      self.make_comms();
      for (size_t batch = 0; batch < episode.batches.size() && !meeting.failed; ++batch) {
        self.issue(batch);
        self.finish(batch);
      }
    } catch (...) {
      if (meeting.failed.exchange(true)) return "";  // what another rank's failure made of this one
      throw;
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace weft::test
