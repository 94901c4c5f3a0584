// P2P: a peer's inbox for this rank is device memory of the peer's arena, reached by its pointer in
// one process and by an IPC mapping of the arena's segment from another. Owns: the carve of this
// rank's inboxes, the mappings of the peers' segments. Does not own: allocation (arena.h), the
// proof (probe.h).
#pragma once

#include <map>
#include <memory>

#include "arena.h"
#include "transport/segment_import.h"
#include "transport/way.h"

namespace weft {

class P2pWay : public Way {
 public:
  explicit P2pWay(const LinkContext& context) : context_(context) {}

  LinkKind kind(int peer) const override {
    return context_.same_process(peer) ? LinkKind::kDirect : LinkKind::kIpc;
  }
  void prepare(const std::vector<int>& peers, Refusals& refusals) override;
  std::string offer() const override;
  void* map(int peer, std::string_view offer, std::string& error) override;
  void* inbox(int peer) const override;
  void* outbox(int peer) const override;
  void unmap(int peer) noexcept override { outboxes_.erase(peer); }
  void close(bool confirmed) noexcept override;

 private:
  struct Outbox {
    char* data;
    SegmentImport segment;  // empty in one process
  };
  Refusal willing(int peer) const;
  void export_inboxes(Refusals& refusals);
  std::string open_access(int peer) const;

  const LinkContext context_;
  Carve carve_;
  hipIpcMemHandle_t handle_ = {};
  std::map<int, size_t> inboxes_;  // peer -> offset in the carve
  std::map<int, Outbox> outboxes_;
};

}  // namespace weft
