// Threads that run host functions, which may block for as long as they like: a function never waits
// for another one to return.
#pragma once

#include <functional>

namespace weft::hiphost {

void run_on_helper(std::function<void()> job);

}  // namespace weft::hiphost
