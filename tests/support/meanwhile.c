/* SPDX-License-Identifier: Apache-2.0 */
#include "meanwhile.h"

#include <string.h>

const struct keyed_row base_row[] = {
    { 1, 10, "one" }, { 2, 20, "two" }, { 3, 30, "three" }, { 4, 40, "four" }
};

static enum lmn__fault_action intervene(void *context, enum lmn__store_op op, const char *path)
{
    struct meanwhile *meanwhile = context;
    void (*others)(struct lmn_table *table) = meanwhile->others;
    struct lmn_table *table;
    struct lmn_error err;

    meanwhile->files += op == LMN__OP_CREATE && strncmp(path, "data/", 5) == 0;
    if (op != meanwhile->op || others == NULL ||
        strncmp(path, meanwhile->folder, strlen(meanwhile->folder)) != 0)
        return LMN__FAULT_NONE;
    meanwhile->others = NULL;
    table = meanwhile->same != NULL ? lmn_table_acquire(meanwhile->same) : NULL;
    if (table == NULL)
        CHECK_STATUS(lmn_table_open(meanwhile->inner, NULL, &table, &err), LMN_OK, &err);
    others(table);
    lmn_table_release(table);
    return LMN__FAULT_NONE;
}

struct lmn_table *meanwhile_table_of(const struct keyed_row *row, struct meanwhile *meanwhile,
                                     void (*others)(struct lmn_table *table))
{
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn_error err;

    *meanwhile = (struct meanwhile){ .inner = test_store_memory(),
                                     .op = LMN__OP_LINK,
                                     .folder = "_versions/" };
    lmn_table_release(keyed_table(meanwhile->inner, row, BASE_ROWS, NULL));
    CHECK_OK(lmn__store_open_fault(meanwhile->inner, intervene, meanwhile, &store, &err));
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    lmn_store_release(store);
    meanwhile->others = others;
    return table;
}

struct lmn_table *meanwhile_table(struct meanwhile *meanwhile,
                                  void (*others)(struct lmn_table *table))
{
    return meanwhile_table_of(base_row, meanwhile, others);
}

void meanwhile_free(struct lmn_table *table, struct meanwhile *meanwhile)
{
    CHECK(meanwhile->others == NULL);
    lmn_table_release(table);
    lmn_store_release(meanwhile->inner);
}

void append_five(struct lmn_table *table)
{
    static const struct keyed_row five = { 5, 50, "five" };
    struct ArrowArrayStream stream;
    struct lmn_error err;

    keyed_stream(KEYED_ALL, &five, 1, 64, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, NULL, &err), LMN_OK, &err);
}

void append_and_clean(struct lmn_table *table)
{
    const struct lmn_cleanup_options all = { .older_than_us = INT64_MAX };
    struct lmn_error err;

    append_five(table);
    append_five(table);
    CHECK_STATUS(lmn_table_cleanup(table, &all, NULL, &err), LMN_OK, &err);
}

void compact_and_clean(struct lmn_table *table)
{
    const struct lmn_cleanup_options all = { .older_than_us = INT64_MAX };
    struct lmn_error err;

    append_five(table);
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_cleanup(table, &all, NULL, &err), LMN_OK, &err);
}

enum lmn_status append_six(struct lmn_table *table, struct lmn_error *err)
{
    static const struct keyed_row six = { 6, 60, "six" };
    struct ArrowArrayStream stream;

    keyed_stream(KEYED_ALL, &six, 1, 64, &stream);
    return lmn_table_append(table, &stream, NULL, err);
}
