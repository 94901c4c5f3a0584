// A map from nonce to root service, or to the outcome of one that has ended.
#include "bootstrap/id_table.h"

#include <map>
#include <mutex>

namespace weft {
namespace {

struct Entry {
  std::unique_ptr<RootService> root;  // null once ended
  std::string outcome;
};
struct Table {
  std::mutex mutex;
  std::map<uint64_t, Entry> entries;
};
Table& table() {
  static Table& only = *new Table;  // never destroyed: see the header
  return only;
}

void reap(Table& table) {
  for (auto& [nonce, entry] : table.entries) {
    if (!entry.root || !entry.root->ended()) continue;
    entry.outcome = entry.root->outcome();
    if (entry.outcome.empty()) entry.outcome = "nobody used it in time";
    entry.root.reset();
  }
}

}  // namespace

void keep_root(uint64_t nonce, std::unique_ptr<RootService> root) {
  std::lock_guard lock(table().mutex);
  reap(table());
  table().entries[nonce].root = std::move(root);
}

std::string id_outcome(uint64_t nonce) {
  std::lock_guard lock(table().mutex);
  const auto at = table().entries.find(nonce);
  if (at == table().entries.end()) return "";
  reap(table());
  if (!at->second.root) return at->second.outcome;
  return at->second.root->closed() ? at->second.root->outcome() : "";
}

}  // namespace weft
