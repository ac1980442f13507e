/* What every program of the project does before all else, and what it answers to --version. */
#pragma once

#define DUOPOLY_VERSION "0.1"

/* Opens /dev/null onto those of descriptors 0, 1 and 2 that are closed. WHY: else the next socket
 * or file gets that number, and what is meant for standard output goes there. Ends the program
 * where even that cannot be done. Three calls of the kernel. */
void program_begin(void);
