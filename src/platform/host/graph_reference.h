// Something that a graph keeps: host platform. Every platform folder has this file with the same
// names (contract: src/platform/README.md). Host code only.
#pragma once

#include "platform/graph_reference_user_object.h"
