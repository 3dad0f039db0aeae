/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "value.h"

static bool comma; /* a value stands before the next one */

static void put_text(const char *value)
{
    struct text text = { 0 };

    json_put_string(&text, (const uint8_t *)value, strlen(value));
    fwrite(text.data, 1, text.len, stdout);
    text_free(&text);
}

static void put_key(const char *key)
{
    if (comma)
        putchar(',');
    comma = true;
    if (key != NULL) {
        put_text(key);
        putchar(':');
    }
}

void json_open(const char *key, char bracket)
{
    put_key(key);
    putchar(bracket);
    comma = false;
}

void json_close(char bracket)
{
    putchar(bracket);
    comma = true;
}

void json_text(const char *key, const char *value)
{
    put_key(key);
    put_text(value);
}

void json_number(const char *key, uint64_t value)
{
    put_key(key);
    printf("%llu", (unsigned long long)value);
}

void json_real(const char *key, double value)
{
    put_key(key);
    printf("%.6g", value);
}

void json_bool(const char *key, bool value)
{
    put_key(key);
    fputs(value ? "true" : "false", stdout);
}

void json_raw(const char *key, const char *value, size_t len)
{
    put_key(key);
    printf("%.*s", (int)len, value);
}

void json_end(void)
{
    putchar('\n');
    comma = false;
}
