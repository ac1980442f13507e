/* The random rounds again with hubs of a few arcs (the Makefile builds the library so for this
 * program): elsewhere only large problems have hubs. */
#include "tests/unit/test_mincost_random.c"
