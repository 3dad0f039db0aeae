/* SPDX-License-Identifier: Apache-2.0 */
#include "feed_memory.h"
#include "table.h"

struct feed_object {
    PyObject_HEAD struct lmn_feed *feed;
    PyObject *memory; /* where batches lie; None: in the core's own */
};

static struct lmn_feed *feed_of(PyObject *op)
{
    return ((struct feed_object *)op)->feed;
}

/* What to feed, and what keeps its texts alive. */
struct feed_args {
    struct lmn_feed_options options;
    const char **column;
    PyObject *keep;
    PyObject *memory; /* borrowed */
};

static int feed_args_read(PyObject *kwargs, struct feed_args *args_out)
{
    static char *keywords[] = { "columns",      "where",       "blob_bytes", "with_row_id",
                                "shuffle",      "seed",        "block_rows", "window_rows",
                                "batch_rows",   "rank",        "world_size", "worker",
                                "worker_count", "epochs",      "remainder",  "replace",
                                "transform",    "threads",     "prefetch",   "pin",
                                "cache_dir",    "cache_bytes", "memory",     NULL };
    struct lmn_feed_options *options = &args_out->options;
    unsigned long long seed = 0, block = 0, window = 0, epochs = 0, cache_bytes = 0;
    int blob_bytes = 0, row_id = 0, shuffle = 0, remainder = 0, replace = 0, pin = 1, ok;
    PyObject *columns = Py_None, *none = PyTuple_New(0);

    *args_out = (struct feed_args){ .memory = Py_None };
    if (none == NULL)
        return -1;
    ok = PyArg_ParseTupleAndKeywords(
        none, kwargs, "|OzppiKKKIIIIIKipzIIpzKO", keywords, &columns, &options->where, &blob_bytes,
        &row_id, &shuffle, &seed, &block, &window, &options->batch_rows, &options->rank,
        &options->world_size, &options->worker, &options->worker_count, &epochs, &remainder,
        &replace, &options->transform, &options->threads, &options->prefetch, &pin,
        &options->cache_dir, &cache_bytes, &args_out->memory);
    Py_DECREF(none);
    if (!ok || read_names(columns, &args_out->column, &options->column_count, &args_out->keep) < 0)
        return -1;
    options->column = args_out->column;
    options->blobs = blob_bytes ? LMN_BLOB_BYTES : LMN_BLOB_DESCRIPTORS;
    options->with_row_id = row_id;
    options->shuffle = (enum lmn_feed_shuffle)shuffle;
    options->seed = seed;
    options->block_rows = block;
    options->window_rows = window;
    options->epochs = epochs;
    options->remainder = (enum lmn_feed_remainder)remainder;
    options->on_error = replace ? LMN_FEED_REPLACE : LMN_FEED_FAIL;
    options->unpinned = !pin;
    options->cache_bytes_max = cache_bytes;
    return 0;
}

static PyObject *feed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct module_state *state = PyType_GetModuleState(type);
    struct feed_object *self;
    struct feed_args feed_args;
    struct lmn_memory memory = { 0 };
    struct lmn_feed *feed;
    PyObject *table;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "O!", state->table_type, &table) ||
        feed_args_read(kwargs, &feed_args) < 0)
        return NULL;
    if (PyObject_TypeCheck(feed_args.memory, state->feed_memory_type)) {
        memory = feed_memory_acquire(feed_args.memory);
        feed_args.options.memory = &memory;
    }
    Py_BEGIN_ALLOW_THREADS
        st = lmn_feed_open(table_of(table), &feed_args.options, &feed, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(feed_args.column);
    Py_CLEAR(feed_args.keep);
    if (st != LMN_OK && memory.close != NULL)
        memory.close(memory.self);
    if (st != LMN_OK)
        return raise_error(state, &err);
    self = (struct feed_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) {
        lmn_feed_close(feed);
        return NULL;
    }
    self->feed = feed;
    self->memory = Py_NewRef(memory.self != NULL ? feed_args.memory : Py_None);
    return (PyObject *)self;
}

static void feed_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    struct lmn_feed *feed = feed_of(op);

    Py_XDECREF(((struct feed_object *)op)->memory);
    Py_BEGIN_ALLOW_THREADS
        lmn_feed_close(feed);
    Py_END_ALLOW_THREADS((freefunc)PyType_GetSlot(type, Py_tp_free))
    (op);
    Py_DECREF(type);
}

static PyObject *feed_next(PyObject *op, PyObject *unused)
{
    PyObject *memory = ((struct feed_object *)op)->memory;
    struct ArrowSchema schema = { 0 };
    struct ArrowArray array;
    struct lmn_error err;
    enum lmn_status st;

    (void)unused;
    if (memory != Py_None && feed_memory_refill(memory) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_feed_next(feed_of(op), &array, &err);
    Py_END_ALLOW_THREADS
    if (st == LMN_OK && array.release == NULL)
        Py_RETURN_NONE;
    if (st == LMN_OK) {
        st = lmn_feed_schema(feed_of(op), &schema, &err);
        if (st != LMN_OK)
            array.release(&array);
    }
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    return pair_capsules(&schema, &array);
}

static PyObject *feed_schema(PyObject *op, PyObject *unused)
{
    struct ArrowSchema schema;
    struct lmn_error err;

    (void)unused;
    if (lmn_feed_schema(feed_of(op), &schema, &err) != LMN_OK)
        return raise_error(state_of(op), &err);
    return schema_capsule(&schema);
}

static PyObject *feed_state(PyObject *op, PyObject *unused)
{
    const char *text;
    struct lmn_error err;

    (void)unused;
    if (lmn_feed_state(feed_of(op), &text, &err) != LMN_OK)
        return raise_error(state_of(op), &err);
    return PyUnicode_FromString(text);
}

static PyObject *feed_restore(PyObject *op, PyObject *args)
{
    const char *text;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_feed_restore(feed_of(op), text, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

/* Calls that take a number of batches or of an epoch. */
static PyObject *move(PyObject *op, PyObject *args,
                      enum lmn_status (*to)(struct lmn_feed *, uint64_t, struct lmn_error *))
{
    unsigned long long number;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "K", &number))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = to(feed_of(op), number, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    Py_RETURN_NONE;
}

static PyObject *feed_skip(PyObject *op, PyObject *args)
{
    return move(op, args, lmn_feed_skip);
}

static PyObject *feed_seek(PyObject *op, PyObject *args)
{
    return move(op, args, lmn_feed_seek);
}

static PyObject *feed_row_ids(PyObject *op, PyObject *args)
{
    unsigned long long step;
    long long rank = -1;
    uint32_t number;
    struct lmn_id_list list;
    struct lmn_error err;
    enum lmn_status st;
    PyObject *bytes;

    if (!PyArg_ParseTuple(args, "K|L", &step, &rank))
        return NULL;
    number = rank < 0 || rank > UINT32_MAX ? UINT32_MAX : (uint32_t)rank;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_feed_row_ids(feed_of(op), step, rank < 0 ? NULL : &number, &list, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(state_of(op), &err);
    bytes = PyBytes_FromStringAndSize((const char *)list.id,
                                      (Py_ssize_t)(list.count * sizeof *list.id));
    lmn_id_list_free(&list);
    return bytes;
}

static PyObject *feed_info(PyObject *op, PyObject *unused)
{
    struct lmn_feed_info info;

    (void)unused;
    lmn_feed_info(feed_of(op), &info);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O}", "version", (unsigned long long)info.version,
        "num_rows", (unsigned long long)info.row_count, "steps_per_epoch",
        (unsigned long long)info.steps, "epoch", (unsigned long long)info.epoch, "next_epoch",
        (unsigned long long)info.next_epoch, "position", (unsigned long long)info.position, "step",
        (unsigned long long)info.step, "pinned", info.pinned ? Py_True : Py_False);
}

static PyObject *feed_stats(PyObject *op, PyObject *unused)
{
    struct lmn_feed_stats stats;

    (void)unused;
    lmn_feed_stats(feed_of(op), &stats);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "batches",
        (unsigned long long)stats.batches, "rows", (unsigned long long)stats.rows, "bytes",
        (unsigned long long)stats.bytes, "elapsed_ns", (unsigned long long)stats.elapsed_ns,
        "wait_ns", (unsigned long long)stats.wait_ns, "busy_ns", (unsigned long long)stats.busy_ns,
        "store_ns", (unsigned long long)stats.store_ns, "cache_ns",
        (unsigned long long)stats.cache_ns, "store_requests",
        (unsigned long long)stats.store_requests, "store_bytes",
        (unsigned long long)stats.store_bytes, "cache_hit_bytes",
        (unsigned long long)stats.cache_hit_bytes, "replaced", (unsigned long long)stats.replaced,
        "placed", (unsigned long long)stats.placed, "placed_bytes",
        (unsigned long long)stats.placed_bytes, "not_placed", (unsigned long long)stats.not_placed);
}

static PyMethodDef feed_methods[] = {
    { "next", feed_next, METH_NOARGS, "The next batch, as a pair of capsules; None at the end." },
    { "schema", feed_schema, METH_NOARGS, "The Arrow type of the batches, as a capsule." },
    { "state", feed_state, METH_NOARGS, "How far the feed has come, as a text." },
    { "restore", feed_restore, METH_VARARGS, "Go on from a state." },
    { "skip", feed_skip, METH_VARARGS, "Leave out batches." },
    { "seek", feed_seek, METH_VARARGS, "Go to the start of an epoch." },
    { "row_ids", feed_row_ids, METH_VARARGS, "The row ids of a step, as 64-bit numbers." },
    { "info", feed_info, METH_NOARGS, "Where the feed is." },
    { "stats", feed_stats, METH_NOARGS, "What the feed has done." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot feed_slots[] = {
    { Py_tp_doc, "Batches of a table in a shuffled order." },
    { Py_tp_new, feed_new },
    { Py_tp_dealloc, feed_dealloc },
    { Py_tp_methods, feed_methods },
    { 0, NULL },
};

static PyType_Spec feed_spec = { "leman._core.Feed", sizeof(struct feed_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, feed_slots };

PyTypeObject *feed_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &feed_spec, NULL);
}
