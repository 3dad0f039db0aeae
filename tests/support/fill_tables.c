/* SPDX-License-Identifier: Apache-2.0 */
#include "fill_tables.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "table/change.h"
#include "table/fingerprint.h"
#include "table/fragment_reader.h"
#include "table/fragment_writer.h"
#include "table/ledger.h"
#include "table/table_fields.h"

uint8_t fill_ok(uint64_t fragment_id, uint64_t row)
{
    (void)fragment_id;
    (void)row;
    return LMN__CELL_OK;
}

uint8_t fill_failed(uint64_t fragment_id, uint64_t row)
{
    (void)fragment_id;
    (void)row;
    return LMN__CELL_FAILED;
}

void fill_add_named(struct lmn_table *table, const char *name, const char *const *input,
                    uint32_t count)
{
    char function[512];
    size_t len = (size_t)snprintf(function, sizeof function, "{\"name\": \"f\", \"inputs\": [");
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };

    for (uint32_t i = 0; i < count; i++)
        len += (size_t)snprintf(function + len, sizeof function - len, "%s\"%s\"", i ? ", " : "",
                                input[i]);
    snprintf(function + len, sizeof function - len, "]}");
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], name), 0);
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, function, &err), LMN_OK, &err);
    schema.release(&schema);
}

void fill_add(struct lmn_table *table, const char *const *input, uint32_t count)
{
    fill_add_named(table, "filled", input, count);
}

/* What is filled, and what it is filled from. */
struct filling {
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;
    const struct lmn__node *node[2]; /* column and ledger */
    struct lmn__projection inputs, output;
    struct lmn__fingerprint *fingerprint;
    fill_state_fn state;
};

static void filling_init(struct filling *filling, struct lmn_table *table, const char *column)
{
    const char *const *input, *const *read;
    uint32_t count;

    filling->table = table;
    filling->manifest = lmn__table_manifest(table);
    lmn__arena_init(&filling->arena, table->env, 0);
    CHECK_OK(
        lmn__ledger_find(filling->manifest, column, &filling->node[0], &filling->node[1], NULL));
    CHECK_OK(lmn__ledger_inputs(&filling->manifest->schema, filling->node[0], &filling->arena,
                                &input, &count, NULL));
    CHECK_OK(
        lmn__fingerprint_columns(filling->manifest, input, count, &filling->arena, &read, NULL));
    CHECK_OK(lmn__projection_init(&filling->inputs, table->env, &filling->manifest->schema, read,
                                  count, true, NULL));
    CHECK_OK(lmn__fingerprint_new(table->env, &filling->inputs.arrow, read, count,
                                  &filling->fingerprint, NULL));
    CHECK_OK(lmn__projection_init_nodes(&filling->output, table->env, &filling->manifest->schema,
                                        filling->node, 2, false, NULL));
}

static void filling_deinit(struct filling *filling)
{
    lmn__projection_deinit(&filling->output);
    lmn__projection_deinit(&filling->inputs);
    lmn__fingerprint_free(filling->fingerprint);
    lmn__arena_deinit(&filling->arena);
    lmn__manifest_release(filling->manifest);
}

/* The numbers of all rows of a fragment. */
static void read_numbers(struct filling *filling, uint64_t index, uint64_t rows, uint64_t *number)
{
    const struct lmn__row_range all = { 0, rows };
    struct lmn__fragment_reader *reader;
    struct lmn__scratch scratch;
    struct ArrowArray batch;

    lmn__scratch_init(&scratch, filling->table->env);
    CHECK_OK(lmn__fragment_reader_open(filling->table->files, filling->manifest, index,
                                       &filling->inputs, &reader, NULL));
    CHECK_OK(lmn__fragment_reader_read(reader, &scratch, &all, 1, &batch, NULL));
    CHECK_OK(lmn__fingerprint_rows(filling->fingerprint, &batch, number, NULL));
    batch.release(&batch);
    lmn__fragment_reader_close(reader);
    lmn__scratch_deinit(&scratch);
}

static void put_cell(struct ArrowArray *ledger, uint8_t state, uint64_t number)
{
    if (state == LMN__CELL_PENDING) {
        CHECK_EQ(ArrowArrayAppendNull(ledger, 1), 0);
        return;
    }
    if ((state & FILL_OTHER_INPUTS) != 0)
        number = ~number;
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[0], state & 0x7f), 0);
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[1], FILL_FUNCTION), 0);
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[2], number), 0);
    CHECK_EQ(ArrowArrayFinishElement(ledger), 0);
}

static void make_rows(const struct filling *filling, uint64_t fragment_id, uint64_t rows,
                      const uint64_t *number, struct ArrowArray *array)
{
    CHECK_EQ(ArrowArrayInitFromSchema(array, &filling->output.arrow, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (uint64_t i = 0; i < rows; i++) {
        uint8_t state = filling->state(fragment_id, i);

        if ((state & 0x7f) == LMN__CELL_OK)
            CHECK_EQ(ArrowArrayAppendInt(array->children[0], (int64_t)(fragment_id * 1000 + i)), 0);
        else
            CHECK_EQ(ArrowArrayAppendNull(array->children[0], 1), 0);
        put_cell(array->children[1], state, number[i]);
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

/* Write the file, and put it behind the others of the fragment, which lose the columns. */
static void fill_fragment(struct filling *filling, uint64_t index,
                          struct lmn__pb_fragment *fragment)
{
    const struct lmn_write_options options = { 0 };
    struct lmn__fragment_writer *writer;
    struct lmn__pb_list fields;
    struct lmn__pb_fragment *made;
    struct lmn__pb_data_file *file;
    struct ArrowArray array;
    uint64_t *number, count;

    CHECK_OK(lmn__manifest_fragment(filling->manifest, index, &filling->arena, fragment, NULL));
    number = lmn__arena_array(&filling->arena, fragment->row_count, sizeof *number);
    read_numbers(filling, index, fragment->row_count, number);
    make_rows(filling, fragment->id, fragment->row_count, number, &array);
    CHECK_OK(lmn__fields_of_columns(filling->node, 2, &filling->arena, &fields, NULL));
    CHECK_OK(lmn__fragment_writer_open(filling->table->store, &filling->output.arrow, &fields,
                                       filling->manifest->minor, &options, &writer, NULL));
    CHECK_OK(lmn__fragment_writer_write(writer, &array, NULL));
    CHECK_OK(lmn__fragment_writer_finish(writer, &filling->arena, &made, &count, NULL));
    CHECK_EQ(count, 1);
    array.release(&array);
    file = lmn__arena_array(&filling->arena, fragment->files.count + 1, sizeof *file);
    memcpy(file, fragment->files.item, fragment->files.count * sizeof *file);
    file[fragment->files.count] = *(struct lmn__pb_data_file *)made->files.item;
    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            int32_t id = (int32_t)file[i].fields.item[k];

            if (id >= filling->node[0]->field->id &&
                id <= filling->node[1]->field->id + LMN__LEDGER_FIELDS)
                file[i].fields.item[k] = (uint64_t)(int64_t)-2;
        }
    }
    fragment->files = (struct lmn__pb_list){ file, fragment->files.count + 1 };
}

void fill_cells(struct lmn_table *table, const char *column, fill_state_fn state, uint64_t version)
{
    struct filling filling = { .state = state };
    struct lmn__change change = { .kind = LMN__CHANGE_REPLACE, .inputs_version = version };
    struct lmn_error err = { 0 };
    bool again;

    filling_init(&filling, table, column);
    change.read_version = filling.manifest->pb.version;
    change.replaced_count = lmn__manifest_fragment_count(filling.manifest);
    change.replaced = lmn__arena_array(&filling.arena, change.replaced_count,
                                       sizeof *change.replaced);
    for (uint64_t i = 0; i < change.replaced_count; i++)
        fill_fragment(&filling, i, &change.replaced[i]);
    CHECK_STATUS(lmn__change_commit(table, &change, &again, &err), LMN_OK, &err);
    filling_deinit(&filling);
}

int fill_field_id(struct lmn_table *table, const char *column)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__node *node;
    int id;

    CHECK_OK(lmn__fields_find(manifest, column, &node, NULL));
    id = node->field->id;
    lmn__manifest_release(manifest);
    return id;
}

void check_cells(const char *file, int line, struct lmn_table *table, const char *column,
                 uint64_t pending, uint64_t ok, uint64_t failed, uint64_t stale)
{
    struct lmn_cell_counts counts;
    struct lmn_error err = { 0 };

    check_status(file, line, lmn_table_cells(table, column, &counts, &err), LMN_OK, &err);
    if (counts.pending != pending || counts.ok != ok || counts.failed != failed ||
        counts.stale != stale)
        check_fail(file, line, "%llu pending, %llu ok, %llu failed, %llu stale cells",
                   (unsigned long long)counts.pending, (unsigned long long)counts.ok,
                   (unsigned long long)counts.failed, (unsigned long long)counts.stale);
}
