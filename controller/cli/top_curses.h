/* The terminal of duopolyctl top, by ncurses: lines out, keys in. It is given back as it was found
 * by terminal_close, and at any exit(). One per process. Signals are the caller's. */
#pragma once

#include "controller/cli/top_screen.h"

/* −EINVAL: TERM names a terminal that is not known here. */
int terminal_open(struct err *err);
/* Does nothing when it is not open. */
void terminal_close(void);

/* The size of now. */
void terminal_size(unsigned *ret_lines, unsigned *ret_columns);
/* Whether it shows nothing but ASCII, by LC_CTYPE. */
bool terminal_is_ascii(void);

/* Shows the lines; only what differs from before is written. */
void terminal_draw(const struct top_screen *screen);
/* Gives the terminal back until terminal_resume, for a program that is stopped. */
void terminal_suspend(void);
/* Takes it again, and draws anew what was drawn. */
void terminal_resume(void);

/* The next key that is there, as top_keys.h names them; −1: none. */
int terminal_key(void);
