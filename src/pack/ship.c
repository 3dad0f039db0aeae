/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"
#include "base/text.h"
#include "ingest/crew.h"
#include "pack/archive.h"
#include "pack/pack.h"

enum { NS_PER_MS = 1000000 };

struct shipping {
    const struct lmn_pack *pack;
    struct lmn_store *store;
    struct lmn__archive_result *result; /* one per archive */
};

static enum lmn_status ship_one(void *context, uint32_t worker, uint64_t item,
                                struct lmn_error *err)
{
    const struct shipping *shipping = context;

    (void)worker;
    return lmn__archive_write(&shipping->pack->archives.archive[item], shipping->store,
                              &shipping->result[item], err);
}

static void write_shipped(const struct lmn__archive *archive,
                          const struct lmn__archive_result *result, struct lmn__json_writer *json)
{
    lmn__json_open(json, NULL, '{');
    lmn__json_text(json, "hash", archive->hash);
    lmn__json_text(json, "path", archive->tree->root);
    lmn__json_number(json, "files", archive->count);
    lmn__json_number(json, "bytes", archive->bytes);
    lmn__json_number(json, "stored_bytes", result->stored_bytes);
    lmn__json_close(json, '}');
}

/* Times are those of all threads together, over their number: what a clock on the wall shows. */
static enum lmn_status result_text(const struct shipping *shipping, char **text_out,
                                   struct lmn_error *err)
{
    const struct lmn_pack *pack = shipping->pack;
    uint64_t archive_ns = 0, upload_ns = 0, bytes = 0, there = 0;
    struct lmn__buf buf;
    struct lmn__json_writer json = { .buf = &buf };
    enum lmn_status st;

    lmn__buf_init(&buf, pack->env, 0);
    lmn__json_open(&json, NULL, '{');
    lmn__json_open(&json, "shipped", '[');
    for (size_t i = 0; i < pack->archives.count; i++) {
        const struct lmn__archive_result *result = &shipping->result[i];

        archive_ns += result->archive_ns;
        upload_ns += result->upload_ns;
        there += !result->written;
        if (!result->written)
            continue;
        bytes += result->stored_bytes;
        write_shipped(&pack->archives.archive[i], result, &json);
    }
    lmn__json_close(&json, ']');
    lmn__json_number(&json, "shipped_bytes", bytes);
    lmn__json_number(&json, "there", there);
    lmn__json_number(&json, "archive_ms", archive_ns / pack->threads / NS_PER_MS);
    lmn__json_number(&json, "upload_ms", upload_ns / pack->threads / NS_PER_MS);
    lmn__json_close(&json, '}');
    st = lmn__buf_status(&buf, "what was shipped", err);
    if (st == LMN_OK) {
        *text_out = lmn__text_new(pack->env, buf.data, buf.len);
        if (*text_out == NULL)
            st = lmn__no_memory(err, "what was shipped", buf.len);
    }
    lmn__buf_deinit(&buf);
    return st;
}

enum lmn_status lmn_pack_ship(struct lmn_pack *pack, struct lmn_store *store, char **text_out,
                              struct lmn_error *err)
{
    struct shipping shipping = { .pack = pack, .store = store };
    enum lmn_status st;

    *text_out = NULL;
    if (lmn_pack_is_over(pack))
        return lmn_fail(err, LMN_E_INVALID, "%llu bytes to ship; more than %llu are not",
                        (unsigned long long)pack->bytes, (unsigned long long)pack->bytes_max);
    shipping.result = lmn__arena_array(&pack->arena, pack->archives.count, sizeof *shipping.result);
    if (shipping.result == NULL)
        return lmn__arena_fail(&pack->arena, "what was shipped", err);
    st = lmn__crew_run(pack->env, pack->threads, pack->archives.count, ship_one, &shipping, err);
    return st == LMN_OK ? result_text(&shipping, text_out, err) : st;
}
