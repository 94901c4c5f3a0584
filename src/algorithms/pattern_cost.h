// What a pattern costs before anything is known of bytes and links: how many messages follow one
// another, and how many chunks pass the busiest place and the busiest link. For the cost model.
// Found by walking the steps of all places once, so the time taken grows with the messages of a
// loop: ask once a communicator.
#pragma once

#include "algorithms/pattern.h"

namespace weft {

// Of one loop. A chunk is 1/pattern_chunks() of a loop where the collective has one segment, a
// loop's part of one segment where it has one a place. Counts are means over an even and an odd
// channel, because these differ for trees: a link that one of them uses counts half.
struct PatternCost {
  // Messages that follow one another, from the first send to the last receipt. A place does one
  // step after the other, so waiting for one message delays those it sends later.
  int latency = 0;
  double sent = 0, received = 0;  // chunks of the place that sends most, and receives most
  double link = 0;                // chunks from one place to one other, at most
  double messages = 0;            // chunks sent in all
};

// The root of a rooted pattern is place 0.
PatternCost pattern_cost(PatternId id, int n);

}  // namespace weft
