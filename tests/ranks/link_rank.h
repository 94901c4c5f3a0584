// What one rank does in the tests of links: connect, look at the boxes, fill every byte of every
// outbox through the device and find the peers' bytes in its inboxes, close. Used by ranks that are
// threads and by ranks that are processes.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "error.h"
#include "hip_check.h"
#include "transport/links.h"
#include "transport/rank_info.h"

namespace weft::test {

struct LinkOutcome {
  ncclResult_t code = ncclSuccess;
  std::string error;                      // of connect, or the first wrong byte found
  std::vector<LinkKind> kinds;            // by peer
  std::vector<std::string> descriptions;  // by peer
  int device_after = -1;
};

inline std::vector<RankInfo> gather_rank_infos(Bootstrap& bootstrap, const std::string& host_id) {
  std::vector<RankInfo> ranks(bootstrap.size());
  ranks[bootstrap.rank()] = make_rank_info({bootstrap.rank(), 1, 1, 0, host_id, ""});
  bootstrap.all_gather(ranks.data(), sizeof(RankInfo));
  return ranks;
}

inline std::vector<char> box_content(int from, int to, size_t bytes) {
  std::vector<char> content(bytes);
  uint32_t x = 2463534242u + uint32_t(from) * 977u + uint32_t(to) * 7919u;
  for (char& c : content) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    c = static_cast<char>(x);
  }
  return content;
}

inline void fill_outboxes(const Links& links, int rank, int size, size_t bytes) {
  for (int peer = 0; peer < size; ++peer) {
    if (!links.outbox(peer)) continue;
    const auto content = box_content(rank, peer, bytes);
    hip_check(hipMemcpy(links.outbox(peer), content.data(), bytes, hipMemcpyDefault),
              "filling the box of {}", peer);
  }
}

// "" when every inbox holds what `want` says.
inline std::string compare_inboxes(const Links& links, int size, size_t bytes,
                                   const std::function<std::vector<char>(int peer)>& want) {
  std::vector<char> seen(bytes);
  for (int peer = 0; peer < size; ++peer) {
    if (!links.inbox(peer)) continue;
    hip_check(hipMemcpy(seen.data(), links.inbox(peer), bytes, hipMemcpyDefault),
              "reading the box of {}", peer);
    const auto expected = want(peer);
    const auto wrong = std::ranges::mismatch(seen, expected);
    if (wrong.in1 != seen.end())
      return fmt::format("inbox of peer {} differs at byte {}", peer, wrong.in1 - seen.begin());
  }
  return "";
}

struct LinkRun {
  size_t box_bytes = 20'000;
  std::string host_id;
  std::function<void(const Links&)> look;  // after connect
};

// The current device is the rank's.
inline LinkOutcome run_link_rank(Bootstrap& bootstrap, const Config& config, const LinkRun& run) {
  LinkOutcome outcome;
  const int rank = bootstrap.rank(), size = bootstrap.size();
  try {
    const auto ranks = gather_rank_infos(bootstrap, run.host_id);
    const auto links = Links::connect(bootstrap, ranks, run.box_bytes, config);
    for (int peer = 0; peer < size; ++peer) {
      outcome.kinds.push_back(links->kind(peer));
      outcome.descriptions.push_back(links->description(peer));
    }
    outcome.error = compare_inboxes(*links, size, run.box_bytes,
                                    [&](int) { return std::vector<char>(run.box_bytes); });
    if (!outcome.error.empty()) outcome.error = "not zeroed: " + outcome.error;
    bootstrap.barrier();
    fill_outboxes(*links, rank, size, run.box_bytes);
    bootstrap.barrier();
    const std::string wrong = compare_inboxes(*links, size, run.box_bytes, [&](int peer) {
      return box_content(peer, rank, run.box_bytes);
    });
    if (outcome.error.empty()) outcome.error = wrong;
    if (run.look) run.look(*links);
    bootstrap.barrier();
    links->close(true);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.text();
  }
  (void)hipGetDevice(&outcome.device_after);
  return outcome;
}

}  // namespace weft::test
