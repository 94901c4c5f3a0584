// One checked call: fill, poison, call, compare.
// Owns: the order of these and the guards: the input of an out-of-place call must survive, and
// nothing may be written behind the output. Does not own: values (pattern.h), where each element
// comes from (collectives.h).
#pragma once

#include "crew.h"
#include "runner.h"
#include "side.h"
#include "test_data.h"

namespace weft::perf {

// Makes one call of the runner's trial with input that begins at element `start` of the data.
// Returns the wrong elements over this process's ranks; the first of each rank is printed on
// stderr.
uint64_t verify(const Side& side, Crew& crew, Runner& runner, TestData& data, size_t start);

}  // namespace weft::perf
