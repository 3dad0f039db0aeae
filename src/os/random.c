/* SPDX-License-Identifier: Apache-2.0 */
#include "os/random.h"

#include <stdint.h>

enum lmn_status lmn__random_token(char token_out[LMN__TOKEN_CHARS], struct lmn_error *err)
{
    static const char digit[] = "0123456789abcdef";
    uint8_t bytes[(LMN__TOKEN_CHARS - 1) / 2];
    enum lmn_status st;

    token_out[0] = '\0';
    st = lmn__random_bytes(bytes, sizeof bytes, err);
    if (st != LMN_OK)
        return st;
    for (size_t i = 0; i < sizeof bytes; i++) {
        token_out[2 * i] = digit[bytes[i] >> 4];
        token_out[2 * i + 1] = digit[bytes[i] & 15];
    }
    token_out[LMN__TOKEN_CHARS - 1] = '\0';
    return LMN_OK;
}
