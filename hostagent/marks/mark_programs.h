/* Which programs of mark.bpf.c are attached to a port: by what it is, and by what its frames begin
 * with. */
#pragma once

#include "hostagent/marks/hook.h"
#include "hostagent/marks/mark.h"

struct mark_bpf;

static inline struct hook_folders mark_folders(const struct mark_config *config)
{
    return (struct hook_folders){.state_dir = config->state_dir, .bpffs = config->bpffs};
}

/* Descriptors, owned by the skeleton; −1: none. One system call. */
void mark_programs_of(const struct mark_bpf *skel, const struct mark_config *config,
                      const char *port, int *ret_egress, int *ret_ingress);
