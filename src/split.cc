// Splitting a communicator (split.h).
#include "split.h"

#include <algorithm>

#include "log.h"

namespace weft {
namespace {

constexpr const char* kName = "ncclCommSplit";

// What the first rank of each colour gives to all.
struct Offer {
  int32_t code;
  ncclUniqueId id;
};

// NCCL_COMM_ID names where the parent met; there is one such address, and several new
// communicators.
ncclUniqueId fresh_id(const Communicator& parent) {
  Config config = parent.config();
  config.comm_id.clear();
  return create_unique_id(config);
}

std::vector<Offer> exchange_ids(Communicator& parent, bool is_first) {
  Offer own{};
  Refusal refusal;
  if (is_first) refusal = refusal_of([&] { own.id = fresh_id(parent); });
  return gather(kName, parent, own, refusal);
}

InitJob job_of(const Communicator& parent, const SplitCall& call, const std::vector<int>& members,
               const ncclUniqueId& id) {
  const int size = int(members.size());
  const int rank = int(std::find(members.begin(), members.end(), parent.rank()) - members.begin());
  InitJob job{std::make_unique<Communicator>(rank, size, parent.device(), parent.config_shared(),
                                             call.options),
              id, call.out};
  log_info(Subsystem::kInit,
           "ncclCommSplit_impl comm {} rank {} nranks {} cudaDev {} parent {} splitCount 1 color "
           "{} key {} commId {} - Init START",
           fmt::ptr(job.comm.get()), rank, size, parent.device(), fmt::ptr(&parent), call.color,
           call.key, unique_id_label(id));
  return job;
}

}  // namespace

std::vector<int> split_members(const std::vector<SplitVote>& votes, int color) {
  std::vector<int> members;
  for (int rank = 0; rank < int(votes.size()); ++rank)
    if (votes[size_t(rank)].color == color) members.push_back(rank);
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return votes[size_t(a)].key < votes[size_t(b)].key; });
  return members;
}

void require_color(int color) {
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
    fail(ncclInvalidArgument, "ncclCommSplit: color is {}, it must be at least 0 or {}", color,
         "NCCL_SPLIT_NOCOLOR");
}

std::vector<InitJob> split(Communicator& parent, const SplitCall& call) {
  const std::vector<SplitVote> votes =
      gather(kName, parent, SplitVote{call.color, call.key, 0}, call.refusal);
  const std::vector<int> members = split_members(votes, call.color);
  const bool takes_part = call.color != NCCL_SPLIT_NOCOLOR;
  const std::vector<Offer> offers =
      exchange_ids(parent, takes_part && members.front() == parent.rank());
  std::vector<InitJob> jobs;
  if (takes_part) {
    jobs.push_back(job_of(parent, call, members, offers[size_t(members.front())].id));
  } else {
    *call.out = nullptr;
  }
  return jobs;
}

}  // namespace weft
