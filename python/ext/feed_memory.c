/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a feed cannot ask Python for memory: they would wait for its lock, and at the end of
 * the interpreter for ever. So there is a stock of pieces, each a Python object that owns memory:
 * threads take from it, and the thread that asks the feed for a batch fills it up first. A size
 * that was asked for in vain is kept in stock from then on, one piece more each time; so the stock
 * is at most as large as what the threads have taken at once.
 *
 * A piece that was found, by its address, may be used by views of its owner that nobody here knows
 * of. Put back, it is not used again: its owner is let go, and who made it decides when the memory
 * is free, as torch does when a GPU has copied it. Any other piece returns to the stock.
 *
 * The lock guards everything but the object; it is never held while Python runs. In a fork the
 * stock is left alone: its lock may be held, and its memory be that of the parent's GPU.
 */
#include "feed_memory.h"

#include <string.h>
#include <unistd.h>

enum { LOG_MIN = 10, LOG_MAX = 40, ALIGN = 64 };

struct piece {
    struct piece *next; /* in stock, of its size */
    char *data;
    PyObject *owner;
    unsigned log; /* it has 2^log bytes */
    int found;
};

struct stock {
    PyThread_type_lock lock;
    pid_t process;
    size_t reference_count;
    struct piece *first[LOG_MAX + 1];
    size_t count[LOG_MAX + 1], wanted[LOG_MAX + 1];
    struct piece **out; /* those in use, by address; there is room for all */
    size_t out_count, out_room, piece_count;
    int is_spent; /* no more can be made */
};

struct memory_object {
    PyObject_HEAD struct stock *stock;
    PyObject *make;
};

static void stock_lock(struct stock *stock)
{
    PyThread_acquire_lock(stock->lock, WAIT_LOCK);
}

static void stock_unlock(struct stock *stock)
{
    PyThread_release_lock(stock->lock);
}

static unsigned log_of(size_t bytes)
{
    unsigned log = LOG_MIN;

    while (log <= LOG_MAX && (size_t)1 << log < bytes)
        log++;
    return log;
}

/* How many of the pieces in use begin at or before `at`. */
static size_t out_before(const struct stock *stock, const char *at)
{
    size_t low = 0, high = stock->out_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)stock->out[middle]->data <= (uintptr_t)at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void out_add_locked(struct stock *stock, struct piece *piece)
{
    size_t at = out_before(stock, piece->data);

    memmove(stock->out + at + 1, stock->out + at, (stock->out_count - at) * sizeof *stock->out);
    stock->out[at] = piece;
    stock->out_count++;
}

static void stock_add_locked(struct stock *stock, struct piece *piece)
{
    piece->next = stock->first[piece->log];
    stock->first[piece->log] = piece;
    stock->count[piece->log]++;
}

static void piece_free(struct piece *piece)
{
    Py_DECREF(piece->owner);
    PyMem_Free(piece);
}

static void *stock_get(void *self, size_t bytes)
{
    struct stock *stock = self;
    unsigned log = log_of(bytes);
    struct piece *piece;

    if (log > LOG_MAX || stock->process != getpid())
        return NULL;
    stock_lock(stock);
    piece = stock->first[log];
    if (piece == NULL) {
        stock->wanted[log]++;
    } else {
        stock->first[log] = piece->next;
        stock->count[log]--;
        out_add_locked(stock, piece);
    }
    stock_unlock(stock);
    return piece != NULL ? piece->data : NULL;
}

static void stock_put(void *self, void *memory, size_t bytes)
{
    struct stock *stock = self;
    struct piece *piece;
    size_t at;
    int found;

    (void)bytes;
    if (stock->process != getpid())
        return;
    stock_lock(stock);
    at = out_before(stock, memory) - 1;
    piece = stock->out[at];
    stock->out_count--;
    memmove(stock->out + at, stock->out + at + 1, (stock->out_count - at) * sizeof *stock->out);
    found = piece->found;
    if (found)
        stock->piece_count--;
    else
        stock_add_locked(stock, piece);
    stock_unlock(stock);
    if (found) {
        PyGILState_STATE state = PyGILState_Ensure();

        piece_free(piece);
        PyGILState_Release(state);
    }
}

/* Give a reference back; with the last one the stock goes. */
static void stock_close(void *self)
{
    struct stock *stock = self;
    PyGILState_STATE state;
    size_t left;

    if (stock->process != getpid())
        return;
    stock_lock(stock);
    left = --stock->reference_count;
    stock_unlock(stock);
    if (left != 0)
        return;
    state = PyGILState_Ensure();
    for (unsigned log = LOG_MIN; log <= LOG_MAX; log++) {
        for (struct piece *piece = stock->first[log], *next; piece != NULL; piece = next) {
            next = piece->next;
            piece_free(piece);
        }
    }
    PyThread_free_lock(stock->lock);
    PyMem_Free(stock->out);
    PyMem_Free(stock);
    PyGILState_Release(state);
}

struct lmn_memory feed_memory_acquire(PyObject *object)
{
    struct stock *stock = ((struct memory_object *)object)->stock;

    stock_lock(stock);
    stock->reference_count++;
    stock_unlock(stock);
    return (struct lmn_memory){ stock_get, stock_put, stock_close, stock };
}

/* The size of a piece that is to be made; 0: none is. */
static unsigned lacking(struct stock *stock)
{
    unsigned found = 0;

    stock_lock(stock);
    for (unsigned log = LOG_MIN; log <= LOG_MAX && !stock->is_spent && found == 0; log++) {
        if (stock->count[log] < stock->wanted[log])
            found = log;
    }
    stock_unlock(stock);
    return found;
}

/* Room for one piece more among those in use; -1: there is none. Threads of feeds need none. */
static int make_room(struct stock *stock)
{
    size_t room = stock->out_room * 2 + 64;
    struct piece **out = stock->out;

    stock_lock(stock);
    if (stock->piece_count == stock->out_room) {
        out = PyMem_Realloc(stock->out, room * sizeof *out);
        if (out != NULL) {
            stock->out = out;
            stock->out_room = room;
        }
    }
    stock_unlock(stock);
    return out != NULL ? 0 : -1;
}

/* Keep what make() gave, (owner, address), in stock. -1 and an exception on failure. */
static int keep_piece(struct stock *stock, unsigned log, PyObject *made)
{
    unsigned long long address;
    PyObject *owner;
    struct piece *piece;

    if (!PyTuple_Check(made)) {
        PyErr_SetString(PyExc_TypeError, "memory for batches is a tuple (owner, address)");
        return -1;
    }
    if (!PyArg_ParseTuple(made, "OK", &owner, &address))
        return -1;
    if (address == 0 || address % ALIGN != 0) {
        PyErr_Format(PyExc_ValueError,
                     "memory for batches at address %llu, which is no multiple "
                     "of %d",
                     address, ALIGN);
        return -1;
    }
    piece = PyMem_Calloc(1, sizeof *piece);
    if (piece == NULL || make_room(stock) < 0) {
        PyMem_Free(piece);
        PyErr_NoMemory();
        return -1;
    }
    *piece =
        (struct piece){ .data = (char *)(uintptr_t)address, .owner = Py_NewRef(owner), .log = log };
    stock_lock(stock);
    stock_add_locked(stock, piece);
    stock->piece_count++;
    stock_unlock(stock);
    return 0;
}

int feed_memory_refill(PyObject *object)
{
    struct memory_object *self = (struct memory_object *)object;
    struct stock *stock = self->stock;
    unsigned log;

    if (stock->process != getpid())
        return 0;
    while ((log = lacking(stock)) != 0) {
        PyObject *made = PyObject_CallFunction(self->make, "n", (Py_ssize_t)1 << log);
        int result = made != NULL && made != Py_None ? keep_piece(stock, log, made) : -1;

        if (result < 0) { /* also where None says that there is no more */
            stock_lock(stock);
            stock->is_spent = 1;
            stock_unlock(stock);
        }
        Py_XDECREF(made);
        if (result < 0)
            return made == Py_None ? 0 : -1;
    }
    return 0;
}

/* find(memory): (owner, begin, end) of the piece in which it lies; None: it lies elsewhere. */
static PyObject *memory_find(PyObject *op, PyObject *object)
{
    struct stock *stock = ((struct memory_object *)op)->stock;
    PyObject *owner = NULL;
    Py_ssize_t begin = 0, end = 0;
    Py_buffer view;
    size_t at;

    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    if (stock->process == getpid()) {
        stock_lock(stock);
        at = out_before(stock, view.buf);
        if (at != 0) {
            struct piece *piece = stock->out[at - 1];

            begin = (Py_ssize_t)((uintptr_t)view.buf - (uintptr_t)piece->data);
            end = begin + view.len;
            if (end <= (Py_ssize_t)1 << piece->log) {
                piece->found = 1;
                owner = Py_NewRef(piece->owner);
            }
        }
        stock_unlock(stock);
    }
    PyBuffer_Release(&view);
    if (owner == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(Nnn)", owner, begin, end);
}

static PyObject *memory_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct memory_object *self;
    PyObject *make;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &make))
        return NULL;
    self = (struct memory_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    self->make = Py_NewRef(make);
    self->stock = PyMem_Calloc(1, sizeof *self->stock);
    if (self->stock != NULL)
        self->stock->lock = PyThread_allocate_lock();
    if (self->stock == NULL || self->stock->lock == NULL) {
        PyMem_Free(self->stock);
        self->stock = NULL;
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->stock->process = getpid();
    self->stock->reference_count = 1;
    return (PyObject *)self;
}

static void memory_dealloc(PyObject *op)
{
    struct memory_object *self = (struct memory_object *)op;
    PyTypeObject *type = Py_TYPE(op);

    if (self->stock != NULL)
        stock_close(self->stock);
    Py_XDECREF(self->make);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static PyMethodDef memory_methods[] = {
    { "find", memory_find, METH_O, "Where memory lies: (owner, begin, end), or None: elsewhere." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot memory_slots[] = {
    { Py_tp_doc, "Memory for batches: make(bytes) gives (owner, address), or None at its end." },
    { Py_tp_new, memory_new },
    { Py_tp_dealloc, memory_dealloc },
    { Py_tp_methods, memory_methods },
    { 0, NULL },
};

static PyType_Spec memory_spec = { "leman._core.FeedMemory", sizeof(struct memory_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, memory_slots };

PyTypeObject *feed_memory_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &memory_spec, NULL);
}
