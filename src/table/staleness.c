/* SPDX-License-Identifier: Apache-2.0 */
#include "table/staleness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/view.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/math.h"
#include "store/draft.h"
#include "store/object.h"
#include "table/fingerprint.h"
#include "table/fragment_columns.h"
#include "table/fragment_reader.h"
#include "table/ledger.h"
#include "table/row_columns.h"
#include "table/suspects.h"
#include "table/table_fields.h"

enum { NOTE_BYTES_MAX = 4096, PATH_BYTES = 64, CHUNK_ROWS = 8192, CHUNK_BYTES = 32 << 20 };

/* A search in progress. */
struct search {
    const struct lmn__stale_query *query;
    struct lmn__touched_set *stale;
    struct lmn__arena arena;
    const char *const *column; /* that fingerprints are made of */
    int32_t *input;            /* ids of the fields that they consist of */
    uint32_t input_count;
    uint64_t fields;                    /* a hash of these ids */
    struct lmn__projection cells, rows; /* the ledger; the columns, each once */
    struct lmn__projection nothing;
    struct lmn__fingerprint *fingerprint;
    struct lmn__suspects suspects;
    struct lmn__scratch scratch;
};

/* A fragment of it. */
struct part {
    struct search *search;
    struct lmn__fragment_reader *reader;        /* of no column: which rows there are */
    struct lmn__fragment_columns *cells, *rows; /* opened when they are needed */
    uint64_t chunk_rows;
};

static void note_path(const struct search *search, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "_leman/stats/fresh-%d.json", search->query->column->field->id);
}

static bool parse_note(const struct search *search, struct lmn__span text, uint64_t *version_out)
{
    struct lmn__span value;
    char fields[32], wanted[32];

    snprintf(wanted, sizeof wanted, "%016" PRIx64, search->fields);
    return lmn__json_member(text, "fields", &value, NULL) == LMN_OK &&
           lmn__json_to_text(value, fields, sizeof fields) && strcmp(fields, wanted) == 0 &&
           lmn__json_member(text, "version", &value, NULL) == LMN_OK &&
           lmn__json_to_u64(value, version_out);
}

/* The version up to which nothing is stale; 0 when that is not known. */
static enum lmn_status read_note(struct search *search, uint64_t *version_out,
                                 struct lmn_error *err)
{
    struct lmn__object object;
    char path[PATH_BYTES], text[NOTE_BYTES_MAX];
    enum lmn_status st;

    *version_out = 0;
    note_path(search, path);
    st = lmn__object_open(search->query->table->store, path, &object, err);
    if (st == LMN_E_NOT_FOUND)
        return LMN_OK;
    if (st != LMN_OK)
        return st;
    if (object.bytes <= sizeof text)
        st = lmn__object_read(&object, 0, text, object.bytes, err);
    if (st == LMN_OK && object.bytes <= sizeof text &&
        !parse_note(search, (struct lmn__span){ (const uint8_t *)text, object.bytes }, version_out))
        *version_out = 0;
    lmn__object_close(&object);
    return st;
}

/* Not synced: one that is lost or cut reads as none. */
static void write_note(const struct search *search)
{
    char path[PATH_BYTES], text[128];
    struct lmn__draft draft;
    int len;

    note_path(search, path);
    len = snprintf(text, sizeof text,
                   "{\"version\": %" PRIu64 ", \"fields\": \"%016" PRIx64 "\"}\n",
                   search->query->manifest->pb.version, search->fields);
    if (lmn__draft_open(search->query->table->store, path, &draft, NULL) != LMN_OK)
        return;
    if (lmn__draft_write_at(&draft, 0, text, (size_t)len, NULL) != LMN_OK ||
        lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, false, NULL) != LMN_OK)
        lmn__draft_abort(&draft);
}

static uint32_t put_ids(const struct lmn__node *node, int32_t *id)
{
    uint32_t count = 1;

    id[0] = node->field->id;
    for (node = node->child; node != NULL; node = node->next)
        count += put_ids(node, id + count);
    return count;
}

/* The fields that the columns consist of, with those above them. */
static enum lmn_status list_fields(struct search *search, struct lmn_error *err)
{
    const struct lmn__stale_query *query = search->query;
    const struct lmn__schema *schema = &query->manifest->schema;
    enum lmn_status st = LMN_OK;

    search->input = lmn__arena_array(
        &search->arena, (size_t)query->input_count * schema->node_count, sizeof *search->input);
    if (search->input == NULL)
        return lmn__arena_fail(&search->arena, "a list of fields", err);
    for (uint32_t i = 0; st == LMN_OK && i < query->input_count; i++) {
        const struct lmn__node *node;

        st = lmn__fields_find(query->manifest, search->column[i], &node, err);
        if (st != LMN_OK)
            break;
        search->input_count += put_ids(node, search->input + search->input_count);
        for (node = node->parent; node != NULL; node = node->parent)
            search->input[search->input_count++] = node->field->id;
    }
    search->fields = lmn__hash64(search->input, search->input_count * sizeof *search->input);
    return st;
}

/* Is a column there twice, or a part of another? Readers are asked for each once. */
static bool is_covered(const char *const *column, uint32_t count, uint32_t i)
{
    for (uint32_t k = 0; k < count; k++) {
        size_t len = strlen(column[k]);

        if (k != i && strncmp(column[k], column[i], len) == 0 &&
            (column[i][len] == '.' || (column[i][len] == '\0' && k < i)))
            return true;
    }
    return false;
}

static enum lmn_status project(struct search *search, struct lmn_error *err)
{
    const struct lmn__stale_query *query = search->query;
    struct lmn_env *env = query->table->env;
    const struct lmn__schema *schema = &query->manifest->schema;
    const char **name = lmn__arena_array(&search->arena, query->input_count, sizeof *name);
    uint32_t count = 0;
    enum lmn_status st;

    if (name == NULL)
        return lmn__arena_fail(&search->arena, "a list of columns", err);
    for (uint32_t i = 0; i < query->input_count; i++) {
        if (!is_covered(search->column, query->input_count, i))
            name[count++] = search->column[i];
    }
    st = lmn__projection_init_nodes(&search->nothing, env, schema, NULL, 0, false, err);
    if (st == LMN_OK)
        st = lmn__projection_init_nodes(&search->cells, env, schema, &query->ledger, 1, false, err);
    if (st == LMN_OK)
        st = lmn__projection_init(&search->rows, env, schema, name, count,
                                  (enum lmn_blob_mode)LMN__BLOB_SKETCH, err);
    if (st == LMN_OK)
        st = lmn__fingerprint_new(env, &search->rows.arrow, search->column, query->input_count,
                                  &search->fingerprint, err);
    return st;
}

static enum lmn_status open_columns(struct part *part, const struct lmn__projection *projection,
                                    struct lmn__fragment_columns **columns, struct lmn_error *err)
{
    const struct lmn__stale_query *query = part->search->query;
    enum lmn_status st;

    if (*columns != NULL)
        return LMN_OK;
    st = lmn__fragment_columns_open(query->table->files, query->manifest,
                                    lmn__fragment_reader_fragment(part->reader), projection,
                                    columns, err);
    if (st == LMN_OK)
        part->chunk_rows = lmn__min_u64(
            part->chunk_rows,
            lmn__max_u64(1, CHUNK_BYTES / lmn__fragment_columns_row_bytes(*columns)));
    return st;
}

/* Compare the inputs of finished cells with what the cells say. */
static enum lmn_status compare(struct part *part, const struct lmn__row_list *rows,
                               const uint64_t *said, struct lmn_error *err)
{
    struct search *search = part->search;
    uint64_t fragment = lmn__fragment_reader_fragment(part->reader)->id, at = 0;
    uint64_t *number = lmn__calloc(search->query->table->env, rows->row_count, sizeof *number);
    struct ArrowArray batch = { 0 };
    enum lmn_status st;

    if (number == NULL)
        return lmn__no_memory(err, "fingerprints", rows->row_count * sizeof *number);
    st = lmn__fragment_columns_read(part->rows, &search->scratch, rows->range, rows->count, &batch,
                                    err);
    if (st == LMN_OK)
        st = lmn__fingerprint_rows(search->fingerprint, &batch, number, err);
    for (uint64_t i = 0; st == LMN_OK && i < rows->count; i++) {
        for (uint64_t k = 0; st == LMN_OK && k < rows->range[i].count; k++, at++) {
            uint64_t address = lmn__row_address(fragment, rows->range[i].first + k);

            if (number[at] != said[at])
                st = lmn__touched_add(search->stale, &address, 1, err);
        }
    }
    lmn__array_release(&batch);
    lmn__free(search->query->table->env, number);
    return st;
}

/* Is the cell of slot `i` finished? */
static bool is_ok(const struct ArrowArray *ledger, uint64_t i)
{
    const struct ArrowArray *state = ledger->children[LMN__LEDGER_STATE];
    uint64_t slot = (uint64_t)ledger->offset + i;

    return !lmn__view_is_null(ledger, i) && !lmn__view_is_null(state, slot) &&
           ((const uint8_t *)state->buffers[1])[(uint64_t)state->offset + slot] == LMN__CELL_OK;
}

/* Read the cells of some rows; of the finished ones the inputs, too. */
static enum lmn_status check_rows(struct part *part, const struct lmn__row_list *rows,
                                  struct lmn_error *err)
{
    struct lmn_env *env = part->search->query->table->env;
    uint64_t *said = lmn__calloc(env, rows->row_count, sizeof *said), at = 0, count = 0;
    struct ArrowArray cells = { 0 };
    struct lmn__row_list finished;
    enum lmn_status st;

    if (said == NULL)
        return lmn__no_memory(err, "fingerprints", rows->row_count * sizeof *said);
    lmn__row_list_init(&finished, env);
    st = lmn__fragment_columns_read(part->cells, &part->search->scratch, rows->range, rows->count,
                                    &cells, err);
    for (uint64_t i = 0; st == LMN_OK && i < rows->count; i++) {
        for (uint64_t k = 0; st == LMN_OK && k < rows->range[i].count; k++, at++) {
            const struct ArrowArray *ledger = cells.children[0];
            const struct ArrowArray *inputs = ledger->children[LMN__LEDGER_INPUTS];

            if (!is_ok(ledger, at))
                continue;
            said[count++] = ((const uint64_t *)
                                 inputs->buffers[1])[inputs->offset + ledger->offset + (int64_t)at];
            st = lmn__row_list_add(&finished, rows->range[i].first + k, 1, err);
        }
    }
    if (st == LMN_OK && count != 0)
        st = open_columns(part, &part->search->rows, &part->rows, err);
    if (st == LMN_OK && count != 0)
        st = compare(part, &finished, said, err);
    lmn__row_list_deinit(&finished);
    lmn__array_release(&cells);
    lmn__free(env, said);
    return st;
}

/* Does a file of the fragment hold cells? Otherwise they are pending. */
static bool has_cells(const struct part *part)
{
    const struct lmn__node *state = part->search->query->ledger->child;

    return lmn__fields_place(lmn__fragment_reader_fragment(part->reader), &state->field->id, 1) !=
           0;
}

/* The suspects of a fragment, some at a time. */
static enum lmn_status check_list(struct part *part, const struct lmn__row_list *suspects,
                                  struct lmn_error *err)
{
    struct lmn__row_list some;
    enum lmn_status st = LMN_OK;

    lmn__row_list_init(&some, part->search->query->table->env);
    for (uint64_t i = 0; st == LMN_OK && i < suspects->count; i++) {
        struct lmn__row_range rest = suspects->range[i];

        while (st == LMN_OK && rest.count != 0) {
            uint64_t count = lmn__min_u64(rest.count, part->chunk_rows - some.row_count);

            st = lmn__row_list_add(&some, rest.first, count, err);
            rest = (struct lmn__row_range){ rest.first + count, rest.count - count };
            if (st == LMN_OK && some.row_count >= part->chunk_rows) {
                st = check_rows(part, &some, err);
                lmn__row_list_deinit(&some);
            }
        }
    }
    if (st == LMN_OK && some.row_count != 0)
        st = check_rows(part, &some, err);
    lmn__row_list_deinit(&some);
    return st;
}

static enum lmn_status check_fragment(struct search *search, uint64_t index, struct lmn_error *err)
{
    const struct lmn__stale_query *query = search->query;
    struct part part = { .search = search, .chunk_rows = CHUNK_ROWS };
    struct lmn__row_list suspects;
    enum lmn_status st;

    lmn__row_list_init(&suspects, query->table->env);
    st = lmn__fragment_reader_open(query->table->files, query->manifest, index, &search->nothing,
                                   &part.reader, err);
    if (st == LMN_OK)
        st = lmn__suspects_list(&search->suspects, lmn__fragment_reader_fragment(part.reader),
                                lmn__fragment_reader_ids(part.reader),
                                lmn__fragment_reader_deletion(part.reader), &suspects, err);
    if (st == LMN_OK && suspects.count != 0 && has_cells(&part)) {
        st = open_columns(&part, &search->cells, &part.cells, err);
        if (st == LMN_OK)
            st = check_list(&part, &suspects, err);
    }
    lmn__row_list_deinit(&suspects);
    lmn__fragment_columns_close(part.rows);
    lmn__fragment_columns_close(part.cells);
    lmn__fragment_reader_close(part.reader);
    return st;
}

static enum lmn_status check_suspects(struct search *search, struct lmn_error *err)
{
    enum lmn_status st = project(search, err);

    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(search->query->manifest);
         i++)
        st = check_fragment(search, i, err);
    return st;
}

enum lmn_status lmn__stale_find(const struct lmn__stale_query *query,
                                struct lmn__touched_set *stale, struct lmn_error *err)
{
    struct search search = { .query = query, .stale = stale };
    struct lmn__suspects_query suspects = { .ledger = query->ledger };
    struct lmn_env *env = query->table->env;
    uint64_t before = stale->row_count;
    enum lmn_status st;

    lmn__arena_init(&search.arena, env, 0);
    lmn__arena_init(&search.nothing.arena, env, 0);
    lmn__arena_init(&search.cells.arena, env, 0);
    lmn__arena_init(&search.rows.arena, env, 0);
    lmn__scratch_init(&search.scratch, env);
    st = lmn__fingerprint_columns(query->manifest, query->input, query->input_count, &search.arena,
                                  &search.column, err);
    if (st == LMN_OK)
        st = list_fields(&search, err);
    if (st == LMN_OK)
        st = read_note(&search, &suspects.since, err);
    suspects.input = search.input;
    suspects.input_count = search.input_count;
    if (st == LMN_OK)
        st = lmn__suspects_find(query->table, query->manifest, &suspects, &search.suspects, err);
    if (st == LMN_OK && !lmn__suspects_none(&search.suspects))
        st = check_suspects(&search, err);
    if (st == LMN_OK && query->note && stale->row_count == before &&
        suspects.since < query->manifest->pb.version)
        write_note(&search);
    lmn__fingerprint_free(search.fingerprint);
    lmn__suspects_deinit(&search.suspects);
    lmn__scratch_deinit(&search.scratch);
    lmn__projection_deinit(&search.rows);
    lmn__projection_deinit(&search.cells);
    lmn__projection_deinit(&search.nothing);
    lmn__arena_deinit(&search.arena);
    return st;
}
