// Says what every block waits for when nothing moved for a while.
#pragma once

namespace weft::hiphost {

void start_watchdog(double stall_seconds);

}  // namespace weft::hiphost
