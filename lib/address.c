#include "lib/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static const uint8_t mapped[ADDRESS_V4_AT] = {[10] = 0xff, [11] = 0xff};

bool address_is_v4(const uint8_t address[16])
{
    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

int address_parse(const char *text, uint8_t ret_address[16])
{
    if (inet_pton(AF_INET6, text, ret_address) == 1)
        return 0;
    memcpy(ret_address, mapped, sizeof(mapped));
    return inet_pton(AF_INET, text, ret_address + ADDRESS_V4_AT) == 1 ? 0 : -EINVAL;
}

void address_print(const uint8_t address[16], char ret_text[INET6_ADDRSTRLEN])
{
    bool v4 = address_is_v4(address);
    inet_ntop(v4 ? AF_INET : AF_INET6, address + (v4 ? ADDRESS_V4_AT : 0), ret_text,
              INET6_ADDRSTRLEN);
}

static const char *v4_useless(const uint8_t *v4)
{
    if (v4[0] == 0)
        return "is none";
    if (v4[0] == 127)
        return "is reached from its own host alone";
    bool to_all = v4[0] == 255 && v4[1] == 255 && v4[2] == 255 && v4[3] == 255;
    return to_all || (v4[0] & 0xf0) == 0xe0 ? "is no host's alone" : NULL;
}

const char *address_useless(const uint8_t address[16])
{
    struct in6_addr v6;
    memcpy(&v6, address, sizeof(v6));
    if (address_is_v4(address))
        return v4_useless(address + ADDRESS_V4_AT);
    if (IN6_IS_ADDR_UNSPECIFIED(&v6))
        return "is none";
    if (IN6_IS_ADDR_LOOPBACK(&v6))
        return "is reached from its own host alone";
    if (IN6_IS_ADDR_MULTICAST(&v6))
        return "is no host's alone";
    return IN6_IS_ADDR_LINKLOCAL(&v6) ? "means another host on each link" : NULL;
}
