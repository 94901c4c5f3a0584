// Nothing is wrong here: the checker must say so.
#include "exchange.h"

template __global__ void exchange<Parts>(const ExchangeArgs);
