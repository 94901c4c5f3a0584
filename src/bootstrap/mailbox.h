// Out-of-band messages that arrived and were not yet taken, FIFO per (peer, tag). Owns: the queues.
// Not thread-safe: the tree's mutex guards it.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "bootstrap/wire.h"

namespace weft {

class Mailbox {
 public:
  void put(int peer, uint32_t tag, Bytes body) { queues_[{peer, tag}].push_back(std::move(body)); }
  std::optional<Bytes> take(int peer, uint32_t tag) {
    const auto at = queues_.find({peer, tag});
    if (at == queues_.end()) return std::nullopt;
    Bytes body = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) queues_.erase(at);
    return body;
  }

 private:
  std::map<std::pair<int, uint32_t>, std::deque<Bytes>> queues_;
};

}  // namespace weft
