/* Whether a program that stands on a hook is the one that we would put there.
 *
 * Two loads of one program are two programs to the kernel. They are the same to us when their
 * instructions are (the kernel's tag, Linux 4.13) and so are their constants (.rodata). What maps
 * they use is not compared: the pins say that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Programs by descriptor, and by the kernel's number. Not to be told counts as another one. */
bool same_program(int fd, uint32_t id);

/* The kernel's number of a program, 0 when it cannot be told. */
uint32_t program_id(int fd);
