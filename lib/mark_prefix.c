#include "lib/mark_prefix.h"

#include "lib/address.h"
#include "lib/number.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

int mark_prefix_parse(const char *text, struct mark_prefix *ret_prefix, struct err *err)
{
    char address[INET6_ADDRSTRLEN + 1];
    struct mark_prefix prefix = {0};
    size_t length = strcspn(text, "/");
    uint32_t most = strchr(text, ':') ? 128 : 32;
    if (length < sizeof(address)) {
        memcpy(address, text, length);
        address[length] = 0;
    }
    if (length >= sizeof(address) || address_parse(address, prefix.address) < 0)
        return err_set(err, EINVAL, "\"%s\" is not an address or prefix such as 10.0.0.0/8", text);
    prefix.bits = most;
    if (text[length]) {
        uint64_t bits;
        if (number_read(text + length + 1, 0, most, &bits) < 0)
            return err_set(err, EINVAL, "\"%s\": a prefix has 0 to %u bits", text, most);
        prefix.bits = (uint32_t)bits;
    }
    prefix.bits += 128 - most;
    for (uint32_t bit = prefix.bits; bit < 128; bit++)
        prefix.address[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
    *ret_prefix = prefix;
    return 0;
}

bool mark_prefix_has(const struct mark_prefix *prefix, const uint8_t *address, uint32_t bits)
{
    uint32_t whole = prefix->bits / 8, rest = prefix->bits % 8;
    return bits >= prefix->bits && memcmp(address, prefix->address, whole) == 0 &&
           (!rest || (address[whole] ^ prefix->address[whole]) >> (8 - rest) == 0);
}
