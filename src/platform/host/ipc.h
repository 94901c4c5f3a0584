// Memory and events of other processes of the host. Owns the imported arenas and the pages of bells
// that belong to them.
#pragma once

#include "event.h"

namespace weft::hiphost {

// The counters of a new interprocess event of this process, or null when the device has no more.
// drop gives a reference back.
EventSlot* take_event_slot(int device);
void drop_event_slot(ihipEvent_t& event);

}  // namespace weft::hiphost
