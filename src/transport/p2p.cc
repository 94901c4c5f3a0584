#include "transport/p2p.h"

#include "hip_check.h"
#include "transport/exchange.h"
#include "transport/rank_info.h"

namespace weft {

// Empty text: willing. A device that this process does not see cannot be asked about; the test
// transfer decides then.
Refusal P2pWay::willing(int peer) const {
  if (context_.config.p2p_disable) return {"NCCL_P2P_DISABLE is set", true};
  const RankInfo& other = context_.ranks[peer];
  const int own = context_.self().device;
  int ordinal = other.device;
  if (!context_.same_process(peer) &&
      hipDeviceGetByPCIBusId(&ordinal, bus_id_text(other.bus_id).c_str()) != hipSuccess) {
    (void)hipGetLastError();
    return {};
  }
  if (ordinal == own) return {};
  int can = 0;
  const hipError_t code = hipDeviceCanAccessPeer(&can, own, ordinal);
  if (code == hipSuccess && can) return {};
  (void)hipGetLastError();
  const std::string said = code == hipSuccess ? "no" : hip_text(code);
  return {
      fmt::format("hipDeviceCanAccessPeer of device {} to device {} says {}", own, ordinal, said),
      false};
}

void P2pWay::prepare(const std::vector<int>& peers, Refusals& refusals) {
  for (const int peer : peers) {
    Refusal refusal = willing(peer);
    if (refusal.text.empty()) {
      inboxes_.emplace(peer, inboxes_.size() * context_.box_bytes);
    } else {
      refusals.emplace(peer, std::move(refusal));
    }
  }
  if (inboxes_.empty()) return;
  Arena& arena = Arena::of_device(context_.self().device);
  carve_ = arena.carve(inboxes_.size() * context_.box_bytes);
  if (carve_) return export_inboxes(refusals);
  for (const auto& [peer, offset] : inboxes_)
    refusals.emplace(peer, Refusal{arena.refusal(), false});
  inboxes_.clear();
}

void P2pWay::export_inboxes(Refusals& refusals) {
  std::string error;
  bool exported = false;
  for (const auto& [peer, offset] : inboxes_) {
    if (context_.same_process(peer)) continue;
    if (!exported) {
      SegmentExport segment =
          Arena::of_device(context_.self().device).export_segment(carve_.segment());
      handle_ = segment.handle;
      error = std::move(segment.error);
      exported = true;
    }
    if (!error.empty()) refusals.emplace(peer, Refusal{error, false});
  }
}

std::string P2pWay::offer() const {
  Packer packer;
  packer.value(carve_.segment()).value(handle_);
  packer.value(uint64_t{carve_.offset()}).value(reinterpret_cast<uintptr_t>(carve_.data()));
  packer.value(static_cast<uint32_t>(inboxes_.size()));
  for (const auto& [peer, offset] : inboxes_) packer.value(peer).value(uint64_t{offset});
  return packer.bytes();
}

// Lets this rank's device reach the peer's. The peer does the same for its own direction: with one
// direction only, copies that read from the other side fault. Never undone: other communicators may
// rely on it.
std::string P2pWay::open_access(int peer) const {
  const int ordinal = context_.ranks[peer].device;
  if (ordinal == context_.self().device) return "";
  const hipError_t code = hipDeviceEnablePeerAccess(ordinal, 0);
  if (code == hipSuccess) return "";
  (void)hipGetLastError();
  if (code == hipErrorPeerAccessAlreadyEnabled) return "";
  return fmt::format("hipDeviceEnablePeerAccess of device {} to device {}: {}",
                     context_.self().device, ordinal, hip_text(code));
}

void* P2pWay::map(int peer, std::string_view offer, std::string& error) {
  Unpacker unpacker(offer);
  const auto segment = unpacker.value<uint32_t>();
  const auto handle = unpacker.value<hipIpcMemHandle_t>();
  const auto carve_offset = unpacker.value<uint64_t>();
  const auto carve = unpacker.value<uintptr_t>();
  uint64_t box = 0;
  const auto boxes = unpacker.value<uint32_t>();
  for (uint32_t i = 0; i < boxes; ++i) {
    const auto owner = unpacker.value<int>();
    const auto offset = unpacker.value<uint64_t>();
    if (owner == context_.rank) box = offset;
  }
  Outbox outbox = {};
  if (context_.same_process(peer)) {
    error = open_access(peer);
    outbox.data = reinterpret_cast<char*>(carve) + box;
  } else {
    outbox.segment = SegmentImport::open(
        {context_.ranks[peer].process_hash, SegmentKey::kArena, segment}, handle, error);
    outbox.data = outbox.segment.base() + carve_offset + box;
  }
  if (!error.empty()) return nullptr;
  return outboxes_.emplace(peer, std::move(outbox)).first->second.data;
}

void* P2pWay::inbox(int peer) const {
  const auto found = inboxes_.find(peer);
  return found == inboxes_.end() ? nullptr : carve_.data() + found->second;
}

void* P2pWay::outbox(int peer) const {
  const auto found = outboxes_.find(peer);
  return found == outboxes_.end() ? nullptr : found->second.data;
}

void P2pWay::close(bool confirmed) noexcept {
  outboxes_.clear();
  inboxes_.clear();
  carve_.release(confirmed);
}

}  // namespace weft
