/* Every program's beginning, and its answer to --version. */
#pragma once

#define DUOPOLY_VERSION "0.1"

/* Opens /dev/null on those of descriptors 0, 1 and 2 that are closed. WHY: otherwise the next
 * socket or file gets that number and receives what is meant for standard output. Ends the program
 * if that fails. Three system calls. */
void program_begin(void);
