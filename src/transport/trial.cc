#include "transport/trial.h"

#include <sys/random.h>

#include <memory>

#include "side_stream.h"
#include "transport/exchange.h"
#include "transport/probe.h"

namespace weft {
namespace {

class Trial {
 public:
  Trial(Way& way, Bootstrap& bootstrap, const LinkContext& context, const std::vector<int>& peers,
        TrialResult& result)
      : way_(way), bootstrap_(bootstrap), context_(context), peers_(peers), result_(result) {}

  void run() {
    offer();
    result_.unsettled = true;
    map_and_store();
    result_.unsettled = any_stuck_;
    read_back();
    result_.own_stuck = stream_ && stream_->stuck();
    if (result_.own_stuck) return;
    for (const int peer : peers_)
      if (result_.failed.contains(context_.rank, peer)) way_.unmap(peer);
  }

 private:
  // What each rank says after its offer step.
  struct Offer {
    uint64_t nonce;
    std::string way;
  };

  void offer() {
    uint64_t nonce = 0;
    const Failure failure = attempt([&] {
      if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        fail(ncclSystemError, "getrandom failed");
      way_.prepare(peers_, refusals_);
    });
    const auto all = share(
        failure, Packer().value(nonce).text(failure.text.empty() ? way_.offer() : "").bytes());
    for (const std::string& one : all) {
      Unpacker unpacker(one);
      const auto peer_nonce = unpacker.value<uint64_t>();
      offers_.push_back({peer_nonce, unpacker.text()});
    }
  }

  void map_and_store() {
    const Failure failure = attempt([&] {
      for (const int peer : alive()) {
        std::string error;
        void* outbox = way_.map(peer, offers_[peer].way, error);
        if (outbox)
          error = probe_write(stream(), outbox, way_.inbox(peer), context_.box_bytes,
                              seed(context_.rank, peer));
        refuse(peer, error);
      }
    });
    share(failure, "");
  }

  void read_back() {
    const Failure failure = attempt([&] {
      for (const int peer : alive())
        refuse(peer, probe_check(stream(), way_.inbox(peer), context_.box_bytes,
                                 seed(peer, context_.rank)));
    });
    share(failure, "");
  }

  // Exchanges the refusals of this step, with `payload`; afterwards the table of failed pairs is
  // complete and equal everywhere.
  std::vector<std::string> share(const Failure& failure, const std::string& payload) {
    Packer packer;
    packer.value(static_cast<uint8_t>(stream_ && stream_->stuck()))
        .value(static_cast<uint32_t>(refusals_.size()));
    for (const auto& [peer, refusal] : refusals_)
      packer.value(peer).value(refusal.by_user).text(refusal.text);
    refusals_.clear();
    auto all = exchange(bootstrap_, failure, packer.bytes() + payload);
    for (int rank = 0; rank < bootstrap_.size(); ++rank) {
      Unpacker unpacker(all[rank]);
      if (unpacker.value<uint8_t>()) any_stuck_ = true;
      for (auto left = unpacker.value<uint32_t>(); left > 0; --left) {
        const auto peer = unpacker.value<int>();
        const auto by_user = unpacker.value<bool>();
        result_.failed.add(rank, peer, {unpacker.text(), by_user});
      }
      all[rank] = std::string(unpacker.rest());
    }
    return all;
  }

  std::vector<int> alive() const {
    std::vector<int> result;
    for (const int peer : peers_)
      if (!result_.failed.contains(context_.rank, peer)) result.push_back(peer);
    return result;
  }

  void refuse(int peer, const std::string& error) {
    if (!error.empty()) refusals_.emplace(peer, Refusal{error, false});
  }

  // Both ends know both nonces, nobody can have left this pattern in the memory earlier.
  uint64_t seed(int from, int to) const {
    return probe_seed(offers_[from].nonce + 3 * offers_[to].nonce, from, to);
  }

  SideStream& stream() {
    if (!stream_) stream_ = std::make_unique<SideStream>();
    return *stream_;
  }

  Way& way_;
  Bootstrap& bootstrap_;
  const LinkContext& context_;
  const std::vector<int>& peers_;
  std::unique_ptr<SideStream> stream_;
  Refusals refusals_;  // of this rank, in the current step
  std::vector<Offer> offers_;
  TrialResult& result_;
  bool any_stuck_ = false;
};

}  // namespace

void try_way(Way& way, Bootstrap& bootstrap, const LinkContext& context,
             const std::vector<int>& peers, TrialResult& result) {
  Trial(way, bootstrap, context, peers, result).run();
}

}  // namespace weft
