/* Numbers on axes and bars. */
#pragma once

enum { FIGURE_NUMBER_MAX = 32 };

/* Three significant digits, without an exponent of ten: large and small ones have a prefix of the
 * SI, such as 3.11k, 20M, 500µ. What is 10¹⁸ or more, or not finite, is written as %g. Pure. */
void figure_number(double value, char ret_text[FIGURE_NUMBER_MAX]);

/* A tick of an axis whose largest one is `most`: all have the same prefix, from 10⁴ on and below
 * 10⁻³. Up to six digits. Pure. */
void figure_tick(double value, double most, char ret_text[FIGURE_NUMBER_MAX]);
