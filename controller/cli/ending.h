/* How a run of duopolyctl ends: with an answer on standard output, and where it fails with one
 * sentence, which people read on standard error and programs in the answer (docs/operate/cli.md).
 * In JSON standard output has one document, whatever happens, and standard error nothing: unless
 * standard output cannot be written. */
#pragma once

#include "controller/cli/exits.h"
#include "lib/writer.h"

/* The writer of an answer that begins now. */
struct writer *ending_begin(const struct writer_form *form);

/* Writes the answer and ends the writer. `err`: the sentence, where the code is one of a failure;
 * `refusal`: why the controller refused, else REASON_NONE. The exit code: `code`, or another one if
 * the answer cannot be written. */
enum exit_code ending_write(struct writer *writer, enum exit_code code, duopoly_Reason refusal,
                            const struct err *err);

/* What argp complains of becomes the answer, if one of the words asks for JSON or lines of it,
 * until ending_release. `argv` is not kept. */
struct ending_catch;
struct ending_catch *ending_catch(int argc, char **argv);
/* NULL is fine. */
void ending_release(struct ending_catch *caught);
