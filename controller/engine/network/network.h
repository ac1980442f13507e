/* How urgent on the wire: the two levels of a transfer, and by which size the network serves. */
#pragma once

#include "controller/engine/policy.h"

struct network_policy {
    struct policy policy;
    /* By which of the two sizes transfers are served in this mode: what nats predicts the network
     * with. */
    enum unit_order (*order)(enum mode mode);
    /* The levels of a new attempt from its two sizes (attempt->bytes). */
    void (*levels)(const struct engine *engine, const struct stage *stage, struct attempt *attempt);
    /* The stage's attempts received more bytes (stage->received_bytes); may change levels. NULL:
     * nothing to do. */
    void (*received)(struct engine *engine, struct stage *stage);
};

extern const struct network_policy network_cans;        /* by mode: Duopoly, seed 002 section 4 */
extern const struct network_policy network_cans_coflow; /* ablation (C) */
extern const struct network_policy network_cans_macroflow; /* ablation (M) */
extern const struct network_policy
    network_dclas; /* Aalo, SIGCOMM 2015: sizes unknown, levels follow the bytes received */
extern const struct network_policy network_scf;  /* shortest Coflow first, by the bytes left */
extern const struct network_policy network_none; /* one level for everybody */
