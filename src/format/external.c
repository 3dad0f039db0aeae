/* SPDX-License-Identifier: Apache-2.0 */
#include "format/external.h"

#include "base/error.h"
#include "base/math.h"

static const char scheme[] = "file://";

enum { SCHEME_LEN = sizeof scheme - 1, URI_BYTES_MAX = 16 << 10 };

void lmn__external_init(struct lmn__external *external, struct lmn_env *env)
{
    *external = (struct lmn__external){ .env = env };
    lmn__buf_init(&external->uri, env, URI_BYTES_MAX);
    lmn__buf_init(&external->path, env, URI_BYTES_MAX);
}

static void close_file(struct lmn__external *external)
{
    if (external->open)
        lmn__file_close(&external->file);
    external->open = false;
}

void lmn__external_deinit(struct lmn__external *external)
{
    close_file(external);
    lmn__buf_deinit(&external->uri);
    lmn__buf_deinit(&external->path);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '-' || c == '_' || c == '.' || c == '~';
}

void lmn__external_uri(const char *path, struct lmn__buf *uri)
{
    lmn__buf_put(uri, scheme, SCHEME_LEN);
    for (; *path != '\0'; path++) {
        if (is_plain((uint8_t)*path))
            lmn__buf_put_u8(uri, (uint8_t)*path);
        else
            lmn__buf_printf(uri, "%%%02X", (uint8_t)*path);
    }
}

static enum lmn_status set_path(struct lmn__external *external, struct lmn__span uri,
                                struct lmn_error *err)
{
    struct lmn__buf *path = &external->path;
    bool encoded = uri.len > SCHEME_LEN && memcmp(uri.data, scheme, SCHEME_LEN) == 0;

    lmn__buf_reset(path);
    for (size_t i = encoded ? SCHEME_LEN : 0; i < uri.len; i++) {
        uint8_t c = uri.data[i];

        if (encoded && c == '%' && i + 2 < uri.len && hex_digit(uri.data[i + 1]) >= 0 &&
            hex_digit(uri.data[i + 2]) >= 0) {
            c = (uint8_t)(hex_digit(uri.data[i + 1]) << 4 | hex_digit(uri.data[i + 2]));
            i += 2;
        }
        lmn__buf_put_u8(path, c);
    }
    lmn__buf_put_u8(path, 0);
    if (path->len > 1 && !path->failed && path->data[0] != '/')
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "a blob outside of the table, \"%.*s\", is not in a file of this machine",
                        (int)lmn__min_u64(uri.len, 200), (const char *)uri.data);
    return lmn__buf_status(path, "a blob's uri", err);
}

static enum lmn_status open_file(struct lmn__external *external, struct lmn__span uri,
                                 struct lmn_error *err)
{
    enum lmn_status st;

    if (external->open && external->uri.len == uri.len &&
        memcmp(external->uri.data, uri.data, uri.len) == 0)
        return LMN_OK;
    close_file(external);
    lmn__buf_reset(&external->uri);
    lmn__buf_put(&external->uri, uri.data, uri.len);
    st = lmn__buf_status(&external->uri, "a blob's uri", err);
    if (st == LMN_OK)
        st = set_path(external, uri, err);
    if (st == LMN_OK)
        st = lmn__file_open((const char *)external->path.data, LMN__FILE_READ, &external->file,
                            err);
    external->open = st == LMN_OK;
    return st;
}

enum lmn_status lmn__external_read(struct lmn__external *external, struct lmn__span uri,
                                   uint64_t position, void *data, size_t len, struct lmn_error *err)
{
    enum lmn_status st = open_file(external, uri, err);

    if (st == LMN_OK)
        st = lmn__file_read_at(&external->file, (const char *)external->path.data, position, data,
                               len, err);
    return st != LMN_OK ? lmn__fail_within(err, st, "a blob outside of the table") : LMN_OK;
}
