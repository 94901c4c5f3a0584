// Walks a pattern (pattern_cost.h): each place runs until it waits for a message, messages carry
// the time of their arrival, a message takes one unit of time and all else none.
#include "algorithms/pattern_cost.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "algorithms/sub_steps.h"

namespace weft {
namespace {

class Walk {
 public:
  Walk(PatternId id, int n) : id_(id), n_(n), channels_(channel_kinds(id)), places_(n) {}

  PatternCost go() {
    for (int channel = 0; channel < channels_; ++channel) {
      for (int place = 0; place < n_; ++place) places_[place].start();
      for (int place = 0; place < n_; ++place) wake(place);
      while (!awake_.empty()) {
        const int place = awake_.back();
        awake_.pop_back();
        run(place, channel);
      }
    }
    return total();
  }

 private:
  struct Place {
    std::vector<SubStep> moves;  // of the hop it is at
    size_t next_move = 0;
    int hop = 0, time = 0;
    bool awake = false;
    int64_t sent = 0, received = 0;

    void start() {
      moves.clear();
      next_move = 0;
      hop = time = 0;
    }
  };
  struct Flow {
    std::vector<int> arrivals;
    size_t taken = 0;
    int64_t sent = 0;
  };

  Flow& flow(int from, int to) { return flows_[int64_t(from) * n_ + to]; }

  void wake(int place) {
    if (places_[place].awake) return;
    places_[place].awake = true;
    awake_.push_back(place);
  }

  // The next move of a place; nothing: it is done.
  const SubStep* next(int place, int channel) {
    Place& p = places_[place];
    while (p.next_move == p.moves.size()) {
      if (p.hop == pattern_hops(id_, n_)) return nullptr;
      p.moves.clear();
      p.next_move = 0;
      add_sub_steps(p.moves, pattern_step(id_, {place, n_, 0, channel}, p.hop), place, n_, p.hop);
      ++p.hop;
    }
    return &p.moves[p.next_move];
  }

  void run(int place, int channel) {
    Place& p = places_[place];
    p.awake = false;
    while (const SubStep* move = next(place, channel)) {
      for (int from : move->recv)
        if (const Flow& f = flow(from, place); f.taken == f.arrivals.size()) return;
      take(place, *move);
      for (int to : move->send) {
        flow(place, to).arrivals.push_back(p.time + 1);
        ++flow(place, to).sent;
        ++p.sent;
        wake(to);
      }
      ++p.next_move;
    }
  }

  void take(int place, const SubStep& move) {
    Place& p = places_[place];
    for (int from : move.recv) {
      Flow& f = flow(from, place);
      p.time = std::max(p.time, f.arrivals[f.taken++]);
      latency_ = std::max(latency_, p.time);
      ++p.received;
    }
  }

  PatternCost total() const {
    PatternCost cost;
    cost.latency = latency_;
    for (const Place& p : places_) {
      cost.sent = std::max(cost.sent, double(p.sent) / channels_);
      cost.received = std::max(cost.received, double(p.received) / channels_);
      cost.messages += double(p.sent) / channels_;
    }
    for (const auto& [ends, f] : flows_)
      cost.link = std::max(cost.link, double(f.sent) / channels_);
    return cost;
  }

  PatternId id_;
  int n_, channels_, latency_ = 0;
  std::vector<Place> places_;
  std::vector<int> awake_;
  std::unordered_map<int64_t, Flow> flows_;
};

}  // namespace

PatternCost pattern_cost(PatternId id, int n) { return Walk(id, n).go(); }

}  // namespace weft
