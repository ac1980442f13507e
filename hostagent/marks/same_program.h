/* Whether a program on a hook is the one that we would attach.
 *
 * Two loads of one program are two programs to the kernel. We treat them as the same if their
 * instructions (the kernel's tag, Linux 4.13) and their constants (.rodata) are equal. Their maps
 * are not compared: the pins identify those. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Compares programs by descriptor and by the kernel's number. If that fails, they count as
 * different. */
bool same_program(int fd, uint32_t id);

/* The kernel's number of a program; 0 if it cannot be read. */
uint32_t program_id(int fd);
