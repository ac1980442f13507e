#include "controller/attempt_proof.h"

#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define KIND  "proof"      /* of the store's settings: the key, */
#define SHOWN "proof-from" /* and by host since when it shows them */
#define NAME  "key"
#define HEX   (2 * sizeof(((struct attempt_proof *)0)->key))

static bool key_read(const char *text, struct attempt_proof *proof)
{
    if (!text || strlen(text) != HEX)
        return false;
    for (size_t i = 0; i < sizeof(proof->key); i++)
        if (sscanf(text + 2 * i, "%2hhx", &proof->key[i]) != 1)
            return false;
    return true;
}

int attempt_proof_open(struct store *store, struct attempt_proof *ret_proof, struct err *err)
{
    char text[HEX + 1];
    if (key_read(store_setting(store, KIND, NAME), ret_proof))
        return 0;
    if (getrandom(ret_proof->key, sizeof(ret_proof->key), 0) != (ssize_t)sizeof(ret_proof->key))
        return err_sys(err, errno, "a key for attempts");
    for (size_t i = 0; i < sizeof(ret_proof->key); i++)
        snprintf(text + 2 * i, 3, "%02x", ret_proof->key[i]);
    store_set(store, KIND, NAME, text);
    return 0;
}

uint64_t attempt_proof_of(const struct attempt_proof *proof, const char *host, uint64_t attempt,
                          uint64_t job, uint32_t stage, uint32_t task)
{
    char said[64 + 4 * 21];
    uint8_t hash[EVP_MAX_MD_SIZE];
    uint64_t number = 0;
    unsigned length = 0;
    int n = snprintf(said, sizeof(said), "%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %.63s",
                     attempt, job, stage, task, host);
    if (HMAC(EVP_sha256(), proof->key, sizeof(proof->key), (const uint8_t *)said, (size_t)n, hash,
             &length))
        memcpy(&number, hash, sizeof(number));
    return number ? number : 1;
}

uint32_t attempt_proof_since(const struct store *store, const char *host)
{
    const char *text = store_setting(store, SHOWN, host);
    uint64_t epoch;
    return text && number_read(text, 1, UINT32_MAX, &epoch) == 0 ? (uint32_t)epoch : 0;
}

void attempt_proof_shown(struct store *store, const char *host, uint32_t epoch)
{
    char text[16];
    snprintf(text, sizeof(text), "%" PRIu32, epoch);
    store_set(store, SHOWN, host, epoch ? text : NULL);
}
