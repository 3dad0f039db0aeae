/* SPDX-License-Identifier: Apache-2.0 */
#include "table/load_note.h"

#include <stdio.h>

#include "base/utf8.h"

enum { TOKEN_CHARS = 16 };

static const char parts_key[] = "leman.load.parts";
static const char begun_key[] = "leman.load.begun";

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static struct lmn__span find(const struct lmn__pb_list *config, const char *key)
{
    const struct lmn__pb_entry *entry = config->item;

    for (size_t i = 0; i < config->count; i++) {
        if (lmn__span_equal(entry[i].key, key))
            return entry[i].value;
    }
    return (struct lmn__span){ NULL, 0 };
}

static bool has_token(struct lmn__span parts, uint64_t token)
{
    char text[TOKEN_CHARS + 1];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)token);
    for (size_t at = 0; at + TOKEN_CHARS <= parts.len; at += TOKEN_CHARS) {
        if (memcmp(parts.data + at, text, TOKEN_CHARS) == 0)
            return true;
    }
    return false;
}

bool lmn__load_note_has(const struct lmn__manifest *manifest, uint64_t token)
{
    return has_token(find(&manifest->pb.config, parts_key), token);
}

bool lmn__load_note_begun(const struct lmn__manifest *manifest, const char *load)
{
    return lmn__span_equal(find(&manifest->pb.config, begun_key), load);
}

/* The parts of `before`, and those of the note behind them. */
static enum lmn_status add_parts(struct lmn__next *next, struct lmn__span before,
                                 struct lmn__span *parts_out, struct lmn_error *err)
{
    const struct lmn__load_note *note = next->change->note;
    struct lmn__buf parts;

    *parts_out = before;
    if (note == NULL || note->token_count == 0)
        return LMN_OK;
    lmn__buf_init(&parts, next->env, 0);
    lmn__buf_put(&parts, before.data, before.len);
    for (uint64_t i = 0; i < note->token_count; i++) {
        if (!has_token(before, note->token[i])) {
            lmn__buf_printf(&parts, "%016llx", (unsigned long long)note->token[i]);
        } else if (!note->again) {
            lmn__buf_deinit(&parts);
            return lmn_fail(err, LMN_E_CONFLICT,
                            "another process has loaded the same parts in the meantime");
        }
    }
    return lmn__arena_keep(next->arena, &parts, "parts of a load", parts_out, err);
}

enum lmn_status lmn__load_note_apply(struct lmn__next *next, struct lmn_error *err)
{
    const struct lmn__load_note *note = next->change->note;
    const struct lmn__pb_list *config = &next->pb.config;
    const struct lmn__pb_entry *old = config->item;
    struct lmn__span parts = find(config, parts_key), begun = find(config, begun_key);
    struct lmn__pb_entry *entry;
    size_t count = 0;
    enum lmn_status st;

    if (next->change->kind == LMN__CHANGE_OVERWRITE)
        parts = begun = (struct lmn__span){ NULL, 0 };
    else if (note == NULL)
        return LMN_OK;
    if (note != NULL && note->begun != NULL)
        begun = span_of(note->begun);
    st = lmn__utf8_check(begun, "the name of a load", err);
    if (st == LMN_OK)
        st = add_parts(next, parts, &parts, err);
    entry = lmn__arena_array(next->arena, config->count + 2, sizeof *entry);
    if (st == LMN_OK && entry == NULL)
        st = lmn__arena_fail(next->arena, "a table's configuration", err);
    if (st != LMN_OK)
        return st;
    for (size_t i = 0; i < config->count; i++) {
        if (!lmn__span_equal(old[i].key, parts_key) && !lmn__span_equal(old[i].key, begun_key))
            entry[count++] = old[i];
    }
    if (parts.len != 0)
        entry[count++] = (struct lmn__pb_entry){ span_of(parts_key), parts };
    if (begun.len != 0)
        entry[count++] = (struct lmn__pb_entry){ span_of(begun_key), begun };
    next->pb.config = (struct lmn__pb_list){ entry, count };
    if (count != 0) {
        next->pb.reader_flags |= LMN__FLAG_CONFIG;
        next->pb.writer_flags |= LMN__FLAG_CONFIG;
    }
    return LMN_OK;
}
