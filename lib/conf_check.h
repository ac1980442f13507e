/* Checks that configurations share, for conf_field.check: addresses, paths, names on the host. The
 * empty word passes (a field without a default refuses it itself). A check says in its comment if
 * its result depends on this host. Each returns 0, or −EINVAL with a sentence that names no
 * position. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

/* tcp://HOST:PORT to listen on: HOST is *, an address or an interface of this host; PORT is 1 to
 * 65535, or * for a free one. */
int conf_check_listen(const char *text, struct err *err);

/* tcp://HOST:PORT to connect to: HOST is an address or a name, which is not resolved here. */
int conf_check_connect(const char *text, struct err *err);

/* An absolute path. */
int conf_check_path(const char *text, struct err *err);

/* A folder on this host by an absolute path; it exists, or its parent does. */
int conf_check_folder(const char *text, struct err *err);

/* A file in such a folder. */
int conf_check_file(const char *text, struct err *err);

/* A program that this host can run, by an absolute path. */
int conf_check_program(const char *text, struct err *err);

/* A network interface of this network namespace. −ENODEV: there is none (yet). */
int conf_check_interface(const char *text, struct err *err);

/* Whether an address to listen on can be reached from this host alone. The address has passed its
 * check. */
bool conf_address_is_loopback(const char *text);
