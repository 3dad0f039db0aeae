/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "column_info.h"
#include "input.h"
#include "interrupt.h"
#include "json.h"
#include "output.h"
#include "schema.h"
#include "table.h"
#include "value.h"
#include "version.h"

enum { NAME_WIDTH = 32 };

struct arguments {
    const char *path, *version, *info, *join, *schema;
    struct list add, drop, rename, widen, on;
    bool json;
    struct rows_options source;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
    const struct argument options[] = {
        { "add", ARGUMENT_ITEMS, &arguments->add },
        { "drop", ARGUMENT_LIST, &arguments->drop },
        { "rename", ARGUMENT_ITEMS, &arguments->rename },
        { "widen", ARGUMENT_ITEMS, &arguments->widen },
        { "join", ARGUMENT_TEXT, &arguments->join },
        { "on", ARGUMENT_LIST, &arguments->on },
        { "schema", ARGUMENT_TEXT, &arguments->schema },
        { "version", ARGUMENT_TEXT, &arguments->version },
        { "info", ARGUMENT_TEXT, &arguments->info },
        { "json", ARGUMENT_FLAG, &arguments->json },
        ROWS_ARGUMENTS(arguments->source),
        { NULL, ARGUMENT_FLAG, NULL },
    };
    int rest, code = arguments_read(&cmd_columns, options, argc, argv, &rest);
    int kinds = (arguments->add.count != 0) + (arguments->drop.count != 0) +
                (arguments->rename.count != 0) + (arguments->widen.count != 0) +
                (arguments->info != NULL) + (arguments->join != NULL);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_columns, "one table is wanted, not %d", argc - rest);
    if (kinds > 1 || (kinds == 1 && arguments->version != NULL))
        return usage(&cmd_columns,
                     "one of --add, --join, --drop, --rename, --widen, --info and --version, not "
                     "several");
    if (arguments->on.count != 0 && arguments->join == NULL)
        return usage(&cmd_columns, "--on is the key of --join");
    if (arguments->schema != NULL && arguments->join == NULL)
        return usage(&cmd_columns, "--schema has the types of columns of --join");
    arguments->path = argv[rest];
    return EXIT_DONE;
}

static enum lmn_status add(struct lmn_table *table, const struct list *list, struct lmn_error *err)
{
    static struct lmn_assignment column[LIST_MAX];

    for (uint32_t i = 0; i < list->count; i++) {
        if (!assignment_read((char *)list->item[i], &column[i]))
            return lmn_fail(err, LMN_E_INVALID, "--add wants NAME=EXPRESSION, not \"%.100s\"",
                            list->item[i]);
    }
    return lmn_table_add_columns(table, column, list->count, err);
}

/* A column that was given a type has to be in the file. */
static enum lmn_status check_given(const struct ArrowSchema *given, struct ArrowArrayStream *stream,
                                   struct lmn_error *err)
{
    struct ArrowSchema there;
    enum lmn_status st = LMN_OK;
    int rc = stream->get_schema(stream, &there);

    if (rc != 0)
        return stream_failed(stream, rc, err);
    for (int64_t i = 0; st == LMN_OK && i < given->n_children; i++) {
        bool found = false;

        for (int64_t k = 0; !found && k < there.n_children; k++)
            found = strcmp(there.children[k]->name, given->children[i]->name) == 0;
        if (!found)
            st = lmn_fail(err, LMN_E_INVALID, "--schema: the file has no column \"%.100s\"",
                          given->children[i]->name);
    }
    there.release(&there);
    return st;
}

/*
 * Columns of a file, by key or, without one, in the order of the rows. What the table has is of its
 * types, and other columns of those that are given.
 */
static enum lmn_status join(struct lmn_table *table, const struct arguments *arguments,
                            struct lmn_error *err)
{
    static struct input input;
    struct rows_options source = arguments->source;
    struct ArrowSchema given = { 0 };
    enum lmn_status st = LMN_OK;

    if (arguments->schema != NULL) {
        st = schema_read(arguments->schema, &given, err);
        source.ingest.like = &given;
    }
    if (st == LMN_OK)
        st = input_open(&input, arguments->join, &source, table, err);
    if (st != LMN_OK)
        return st;
    if (input.empty)
        return input_refuse_empty(arguments->join, err);
    st = check_given(&given, &input.stream, err);
    if (st != LMN_OK) {
        input.stream.release(&input.stream);
        return st;
    }
    return lmn_table_join_columns(table, &input.stream, arguments->on.item, arguments->on.count,
                                  err);
}

static enum lmn_status rename_columns(struct lmn_table *table, const struct list *list,
                                      struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < list->count; i++) {
        struct lmn_assignment name;
        char *rest;

        if (!assignment_read((char *)list->item[i], &name) ||
            !name_read((char *)name.expression, '\0', &rest))
            return lmn_fail(err, LMN_E_INVALID, "--rename wants OLD=NEW, not \"%.100s\"",
                            list->item[i]);
        st = lmn_table_rename_column(table, name.column, name.expression, err);
    }
    return st;
}

static enum lmn_status widen(struct lmn_table *table, const struct list *list,
                             struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < list->count; i++) {
        struct lmn_assignment type;
        struct ArrowSchema schema;

        if (!assignment_read((char *)list->item[i], &type))
            return lmn_fail(err, LMN_E_INVALID, "--widen wants NAME=TYPE, not \"%.100s\"",
                            list->item[i]);
        st = type_read(type.expression, &schema, err);
        if (st == LMN_OK)
            st = lmn_table_widen_column(table, type.column, &schema, err);
    }
    return st;
}

static enum lmn_status print_columns(struct lmn_table *table, bool json, struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st = lmn_table_schema(table, &schema, err);

    if (st != LMN_OK)
        return st;
    for (int64_t i = 0; i < schema.n_children; i++) {
        const struct ArrowSchema *column = schema.children[i];
        bool nullable = (column->flags & ARROW_FLAG_NULLABLE) != 0;
        struct text type = { 0 }, shown = { 0 };

        type_put(&type, column);
        if (json) {
            json_open(NULL, '{');
            json_text("name", column->name);
            json_text("type", type.data);
            json_bool("nullable", nullable);
            json_close('}');
            json_end();
        } else {
            printf("%s ", people_column(&shown, column->name, NAME_WIDTH));
            printf("%s%s\n", people_text(&shown, type.data), nullable ? "" : " not null");
        }
        text_free(&type);
        text_free(&shown);
    }
    schema.release(&schema);
    return LMN_OK;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    struct lmn_table *table;
    struct lmn_error err;
    int code = parse(argc, argv, &arguments);
    enum lmn_status st;

    if (code != EXIT_DONE)
        return code;
    interrupt_calls();
    st = open_table(arguments.path, arguments.version, &table, &err);
    if (st == LMN_OK && arguments.add.count != 0)
        st = add(table, &arguments.add, &err);
    if (st == LMN_OK && arguments.join != NULL)
        st = join(table, &arguments, &err);
    if (st == LMN_OK && arguments.drop.count != 0)
        st = lmn_table_drop_columns(table, arguments.drop.item, arguments.drop.count, &err);
    if (st == LMN_OK && arguments.rename.count != 0)
        st = rename_columns(table, &arguments.rename, &err);
    if (st == LMN_OK && arguments.widen.count != 0)
        st = widen(table, &arguments.widen, &err);
    if (st == LMN_OK && arguments.info != NULL)
        st = column_info_print(table, arguments.info, arguments.json, &err);
    else if (st == LMN_OK)
        st = print_columns(table, arguments.json, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_columns = {
    "columns", "list, add, drop, rename and widen columns of a table",
    "usage: leman columns TABLE [--add NAME=EXPRESSION ...\n"
    "                           | --join FILE [--on NAME,...] [--schema COLUMNS]\n"
    "                           | --drop NAME,... | --rename OLD=NEW ...\n"
    "                           | --widen NAME=TYPE ... | --info NAME | --version V] [--json]\n"
    "\n"
    "Lists the columns of a table with their types, after changing them if told. Columns that a\n"
    "change is not about are not rewritten.\n"
    "\n"
    "  --add N=E      a column computed from the row: \"area=width * height\"; of nulls:\n"
    "                 \"note=cast(null as string)\"\n"
    "  --join FILE    the columns of an Arrow IPC, CSV or JSON lines file, whose rows are those "
    "of\n"
    "                 the table in its order\n"
    "  --on A,B       of --join: its rows are found by this key; rows without one become null\n"
    "  --schema C     of --join: types of columns that it adds: \"legs int8, seen date32\"\n"
    "  --drop A,B     these columns go; also fields: info.width\n"
    "  --rename O=N   column O gets the name N; each is a version of its own\n"
    "  --widen N=T    column or field N gets the wider type T: \"width=int64\"; each is a version\n"
    "                 of its own\n"
    "  --info N       say what fills column N: function, source, commit, packages, job\n"
    "  --version V    those of another version: " VERSION_HELP
    "  --json         print every column as a JSON object, one per line\n"
    "\n" ROWS_HELP "\n" NAMES_HELP,
    run
};
