/* Every program's beginning and end, and its answer to --version. */
#pragma once

#define DUOPOLY_VERSION "0.1"

/* Opens /dev/null on those of descriptors 0, 1 and 2 that are closed. WHY: otherwise the next
 * socket or file gets that number and receives what is meant for standard output. Ends the program
 * if that fails. Three system calls.
 *
 * A program that ends with 0 but could not write all of its standard output says so and ends with
 * 1. */
void program_begin(void);
