/* The entries of coflow_policies (coflows.h), each defined in the file of its discipline. */
#pragma once

#include "testbed/sim/coflows/coflows.h"

extern const struct coflow_policy coflow_fifo, coflow_scf, coflow_ncf, coflow_lcf,
    coflow_sebf;                                                          /* coflow_ordered.c */
extern const struct coflow_policy coflow_dclas, coflow_srtf, coflow_fair; /* coflow_NAME.c */
