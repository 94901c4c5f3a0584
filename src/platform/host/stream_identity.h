// Which stream a handle names: host platform. Every platform folder has this file with the same
// names (contract: src/platform/README.md). Host code only.
#pragma once

#include "platform/stream_identity_number.h"
