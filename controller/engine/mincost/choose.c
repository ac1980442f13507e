#include "controller/engine/mincost/algorithms.h"

int algorithm_auto(struct mincost *m)
{
    return algorithm_incremental(m);
}
