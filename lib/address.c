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
