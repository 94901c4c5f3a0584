/* NCCL's name for the interface; everything is in rccl/rccl.h. */
#include <rccl/rccl.h>
