/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the type Table, whose methods lie in one file per header of the library.
 */
#ifndef LEMAN_PYTHON_TABLE_H
#define LEMAN_PYTHON_TABLE_H

#include "core.h"

struct table_object {
    PyObject_HEAD struct lmn_table *table;
};

static inline struct lmn_table *table_of(PyObject *op)
{
    return ((struct table_object *)op)->table;
}

/* Wrap a table, which is taken over; NULL on failure. */
PyObject *table_wrap(PyTypeObject *type, struct lmn_table *table);

/* The store of a table in the directory `root`, or of table `name` of the database in it. */
enum lmn_status open_table_store(const char *root, const char *name, struct lmn_store **store_out,
                                 struct lmn_error *err);

/* Write options, and what keeps their texts alive. */
struct write_args {
    struct lmn_write_options options;
    const char **key;
    PyObject *keep;
};

/* Read the write options among keyword arguments; the caller calls write_args_free(). -1: failed */
int write_args_read(PyObject *kwargs, struct write_args *args_out);
void write_args_free(struct write_args *args);

/*
 * A tuple of pairs of column and expression, as the library takes them; PyMem_Free() frees the
 * array, the texts live as long as `pairs`. NULL on failure.
 */
struct lmn_assignment *assignments_read(PyObject *pairs, uint32_t *count_out);

/*
 * End a call that wrote: None, or the exception of `err`. One that the producer of the rows has
 * raised comes first.
 */
PyObject *end_write(PyObject *op, enum lmn_status st, const struct lmn_error *err);

/* A method that asks for a text of a column: the text, or None where there is none. */
typedef enum lmn_status (*table_text_fn)(struct lmn_table *table, const char *column,
                                         char **text_out, struct lmn_error *err);
PyObject *table_ask_text(PyObject *op, PyObject *args, table_text_fn ask);

/* Methods: table_read.c */
PyObject *table_scan(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_next(PyObject *op, PyObject *capsule);
PyObject *table_take(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_take_ids(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_count(PyObject *op, PyObject *args);

/* Methods: table_write.c */
PyObject *table_append(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_overwrite(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_delete(PyObject *op, PyObject *args);
PyObject *table_update(PyObject *op, PyObject *args);
PyObject *table_merge(PyObject *op, PyObject *args, PyObject *kwargs);

/* Methods: load.c */
PyObject *table_load(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_load_stage(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_load_commit(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *table_load_new(PyObject *type, PyObject *args, PyObject *kwargs);

/* Methods: table_columns.c */
PyObject *table_add_null_columns(PyObject *op, PyObject *capsule);
PyObject *table_add_columns(PyObject *op, PyObject *pairs);
PyObject *table_join_columns(PyObject *op, PyObject *args);
PyObject *table_drop_columns(PyObject *op, PyObject *names);
PyObject *table_rename_column(PyObject *op, PyObject *args);
PyObject *table_set_read_group(PyObject *op, PyObject *args);
PyObject *table_widen_column(PyObject *op, PyObject *args);

/* Methods: table_fill.c */
PyObject *table_add_function_columns(PyObject *op, PyObject *args);
PyObject *table_set_function(PyObject *op, PyObject *args);
PyObject *table_function(PyObject *op, PyObject *args);
PyObject *table_cells(PyObject *op, PyObject *args);
PyObject *table_put_function(PyObject *op, PyObject *args);
PyObject *table_get_function(PyObject *op, PyObject *args);
PyObject *table_errors(PyObject *op, PyObject *args);

/* Methods: table_refill.c */
PyObject *table_refill_name(PyObject *op, PyObject *args);
PyObject *table_refill_indices(PyObject *op, PyObject *args);
PyObject *table_refill_compare(PyObject *op, PyObject *args);
PyObject *table_refill_swap(PyObject *op, PyObject *columns);
PyObject *table_refill_discard(PyObject *op, PyObject *columns);

/* Methods: table_versions.c */
PyObject *table_versions(PyObject *op, PyObject *unused);
PyObject *table_tags(PyObject *op, PyObject *unused);
PyObject *table_branches(PyObject *op, PyObject *unused);
PyObject *table_tag(PyObject *op, PyObject *args);
PyObject *table_untag(PyObject *op, PyObject *args);
PyObject *table_restore(PyObject *op, PyObject *args);
PyObject *table_compact(PyObject *op, PyObject *args);
PyObject *table_cleanup(PyObject *op, PyObject *args);
PyObject *table_upgrade(PyObject *op, PyObject *unused);
PyObject *table_verify(PyObject *op, PyObject *unused);
PyObject *table_diff(PyObject *op, PyObject *args);

#endif
