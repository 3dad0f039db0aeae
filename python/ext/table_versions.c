/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "table.h"

static PyObject *version_item(const struct lmn_version_entry *entry)
{
    return Py_BuildValue("{s:K,s:L,s:s,s:s,s:K,s:K}", "version", (unsigned long long)entry->version,
                         "timestamp_us", (long long)entry->timestamp_us, "operation",
                         entry->operation, "message", entry->message, "num_rows",
                         (unsigned long long)entry->row_count, "num_fragments",
                         (unsigned long long)entry->fragment_count);
}

PyObject *table_versions(PyObject *op, PyObject *unused)
{
    struct lmn_version_list list;
    PyObject *items;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_versions(table_of(op), &list, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    items = PyList_New((Py_ssize_t)list.count);
    for (uint64_t i = 0; items != NULL && i < list.count; i++) {
        PyObject *item = version_item(&list.entry[i]);

        if (item == NULL)
            Py_CLEAR(items);
        else
            PyList_SetItem(items, (Py_ssize_t)i, item);
    }
    lmn_version_list_free(&list);
    return items;
}

/* Tags and branches: (name, branch, version) each. */
static PyObject *list_names(PyObject *op, bool branches)
{
    struct lmn_tag_list list;
    PyObject *items;
    struct lmn_error err;
    enum lmn_status st;

    Py_BEGIN_ALLOW_THREADS
        st = branches ? lmn_table_branches(table_of(op), &list, &err)
                      : lmn_table_tags(table_of(op), &list, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    items = PyList_New((Py_ssize_t)list.count);
    for (uint64_t i = 0; items != NULL && i < list.count; i++) {
        PyObject *item = Py_BuildValue("(ssK)", list.entry[i].name, list.entry[i].branch,
                                       (unsigned long long)list.entry[i].version);

        if (item == NULL)
            Py_CLEAR(items);
        else
            PyList_SetItem(items, (Py_ssize_t)i, item);
    }
    lmn_tag_list_free(&list);
    return items;
}

PyObject *table_tags(PyObject *op, PyObject *unused)
{
    (void)unused;
    return list_names(op, false);
}

PyObject *table_branches(PyObject *op, PyObject *unused)
{
    (void)unused;
    return list_names(op, true);
}

PyObject *table_tag(PyObject *op, PyObject *args)
{
    unsigned long long version;
    const char *name;
    int move;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sKp", &name, &version, &move))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_tag(table_of(op), name, version, move, &err);
    Py_END_ALLOW_THREADS
    return end_write(op, st, &err);
}

PyObject *table_untag(PyObject *op, PyObject *args)
{
    const char *name;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_untag(table_of(op), name, &err);
    Py_END_ALLOW_THREADS
    return end_write(op, st, &err);
}

PyObject *table_restore(PyObject *op, PyObject *args)
{
    unsigned long long version;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "K", &version))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_restore(table_of(op), version, &err);
    Py_END_ALLOW_THREADS
    return end_write(op, st, &err);
}

/* compact(target_rows, deleted_share): (fragments removed, fragments added, rows rewritten) */
PyObject *table_compact(PyObject *op, PyObject *args)
{
    struct lmn_compact_options options = { 0 };
    struct lmn_compact_result result;
    unsigned long long rows;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "Kd", &rows, &options.deleted_share))
        return NULL;
    options.target_rows_per_fragment = rows;
    long_call_begin(&call);
    st = lmn_table_compact(table_of(op), &options, &result, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue("(KKK)", (unsigned long long)result.fragments_removed,
                         (unsigned long long)result.fragments_added,
                         (unsigned long long)result.rows_rewritten);
}

/* cleanup(older_than_us, ignore_tags, remove_unverified, dry_run): (versions, files, bytes) */
PyObject *table_cleanup(PyObject *op, PyObject *args)
{
    struct lmn_cleanup_options options = { 0 };
    struct lmn_cleanup_result result;
    long long older_than_us;
    int ignore_tags, remove_unverified, dry_run;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "Lppp", &older_than_us, &ignore_tags, &remove_unverified, &dry_run))
        return NULL;
    options.older_than_us = older_than_us;
    options.ignore_tags = ignore_tags;
    options.remove_unverified = remove_unverified;
    options.dry_run = dry_run;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_table_cleanup(table_of(op), &options, &result, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return Py_BuildValue("(KKK)", (unsigned long long)result.versions_removed,
                         (unsigned long long)result.files_removed,
                         (unsigned long long)result.bytes_removed);
}

PyObject *table_diff(PyObject *op, PyObject *args)
{
    struct ArrowArrayStream stream;
    unsigned long long from, to;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "KK", &from, &to))
        return NULL;
    long_call_begin(&call);
    st = lmn_table_diff(table_of(op), from, to, &stream, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK) {
        if (stream.release != NULL)
            stream.release(&stream);
        return raise_error(state_of(op), &err);
    }
    return stream_capsule(&stream);
}

PyObject *table_upgrade(PyObject *op, PyObject *unused)
{
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    long_call_begin(&call);
    st = lmn_table_upgrade(table_of(op), &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

/* Called without the interpreter lock, by the thread that verifies. */
static void keep_finding(void *context, const char *finding)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *text = PyUnicode_DecodeUTF8(finding, (Py_ssize_t)strlen(finding), "replace");

    if (text == NULL || PyList_Append(context, text) != 0)
        PyErr_Clear();
    Py_XDECREF(text);
    PyGILState_Release(lock);
}

/* verify(): (findings, files, pages, bytes) */
PyObject *table_verify(PyObject *op, PyObject *unused)
{
    PyObject *findings = PyList_New(0);
    struct lmn_verify_result result;
    struct long_call call;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    if (findings == NULL)
        return NULL;
    long_call_begin(&call);
    st = lmn_table_verify(table_of(op), keep_finding, findings, &result, &err);
    st = long_call_end(&call, st);
    if (st != LMN_OK) {
        Py_DECREF(findings);
        return raise_error(state_of(op), &err);
    }
    return Py_BuildValue("(NKKK)", findings, (unsigned long long)result.files,
                         (unsigned long long)result.pages, (unsigned long long)result.bytes);
}
