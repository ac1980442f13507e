/* Addresses as maps, messages and records hold them: 16 bytes, IPv4 as v4-mapped (RFC 4291
 * §2.5.5.2). Pure. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_V4_AT 12 /* of the four bytes of an IPv4 address */

/* "10.0.0.1" or "fd00::1"; −EINVAL. */
int address_parse(const char *text, uint8_t ret_address[16]);

/* Writes the usual text form (RFC 5952). */
void address_print(const uint8_t address[16], char ret_text[INET6_ADDRSTRLEN]);

bool address_is_v4(const uint8_t address[16]);

/* Why no other host can use the address, as words that follow "it"; NULL if another host can. */
const char *address_useless(const uint8_t address[16]);
