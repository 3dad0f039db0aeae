/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "values.h"

/* Memory of an Arrow array, for as long as its capsule lives. */
struct buffer_object {
    PyObject_HEAD PyObject *owner;
    const void *bytes;
    Py_ssize_t len;
    int read_only;
};

static int buffer_get(PyObject *op, Py_buffer *view, int flags)
{
    struct buffer_object *self = (struct buffer_object *)op;

    return PyBuffer_FillInfo(view, op, (void *)self->bytes, self->len, self->read_only, flags);
}

static void buffer_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    Py_CLEAR(((struct buffer_object *)op)->owner);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(op);
    Py_DECREF(type);
}

static PyType_Slot buffer_slots[] = {
    { Py_tp_doc, "Memory of an Arrow array." },
    { Py_tp_dealloc, buffer_dealloc },
    { Py_bf_getbuffer, buffer_get },
    { 0, NULL },
};

static PyType_Spec buffer_spec = { "leman._core.Buffer", sizeof(struct buffer_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   buffer_slots };

PyTypeObject *buffer_type_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &buffer_spec, NULL);
}

PyObject *buffer_new(PyObject *module, PyObject *owner, const void *bytes, int64_t len,
                     int read_only)
{
    const struct module_state *state = PyModule_GetState(module);
    PyTypeObject *type = state->buffer_type;
    struct buffer_object *self =
        (struct buffer_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);

    if (self == NULL)
        return NULL;
    self->owner = Py_NewRef(owner);
    self->bytes = bytes;
    self->len = (Py_ssize_t)len;
    self->read_only = read_only;
    return (PyObject *)self;
}

int batch_of(PyObject *schema, PyObject *array, const struct ArrowSchema **schema_out,
             const struct ArrowArray **array_out)
{
    *schema_out = PyCapsule_GetPointer(schema, "arrow_schema");
    *array_out = *schema_out != NULL ? PyCapsule_GetPointer(array, "arrow_array") : NULL;
    if (*array_out == NULL)
        return -1;
    if ((*array_out)->release == NULL || strcmp((*schema_out)->format, "+s") != 0 ||
        (*schema_out)->n_children != (*array_out)->n_children) {
        PyErr_SetString(PyExc_ValueError, "the batch is not a struct of columns");
        return -1;
    }
    return 0;
}

PyObject *array_length(PyObject *module, PyObject *capsule)
{
    const struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");

    (void)module;
    return array != NULL ? PyLong_FromLongLong(array->length) : NULL;
}

/* values_columns(schema, array, start, count): rows of each column as a list; a column whose
   number is in `leave` is None. */
PyObject *values_columns(PyObject *module, PyObject *args)
{
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    PyObject *schema_object, *array_object, *columns, *leave = NULL;
    long long start, count;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOLL|O", &schema_object, &array_object, &start, &count, &leave) ||
        batch_of(schema_object, array_object, &schema, &array) < 0)
        return NULL;
    if (start < 0 || count < 0 || start + count > array->length)
        return PyErr_Format(PyExc_IndexError, "rows %lld to %lld of %lld", start, start + count,
                            (long long)array->length);
    columns = PyList_New((Py_ssize_t)schema->n_children);
    for (int64_t c = 0; columns != NULL && c < schema->n_children; c++) {
        PyObject *number = PyLong_FromLongLong(c);
        int left = number == NULL ? -1 : leave == NULL ? 0 : PySequence_Contains(leave, number);
        PyObject *column = NULL;

        Py_XDECREF(number);
        if (left == 0)
            column = values_read(schema->children[c], array->children[c], start + array->offset,
                                 count);
        else if (left > 0)
            column = Py_NewRef(Py_None);
        if (column == NULL)
            Py_CLEAR(columns);
        else
            PyList_SetItem(columns, (Py_ssize_t)c, column);
    }
    return columns;
}

struct wrapped {
    struct ArrowArray column;
    struct ArrowArray *child;
    const void *buffer;
};

static void wrapped_release(struct ArrowArray *array)
{
    struct wrapped *wrapped = array->private_data;
    PyGILState_STATE lock = PyGILState_Ensure();

    if (wrapped->column.release != NULL)
        wrapped->column.release(&wrapped->column);
    PyMem_Free(wrapped);
    array->release = NULL;
    PyGILState_Release(lock);
}

/* A struct array of one column, which is taken over. -1 on failure. */
static int wrap_column(struct ArrowArray *column, struct ArrowArray *array_out)
{
    struct wrapped *wrapped = PyMem_Calloc(1, sizeof *wrapped);

    *array_out = (struct ArrowArray){ 0 };
    if (wrapped == NULL) {
        column->release(column);
        PyErr_NoMemory();
        return -1;
    }
    wrapped->column = *column;
    wrapped->child = &wrapped->column;
    *array_out = (struct ArrowArray){ .length = column->length,
                                      .n_buffers = 1,
                                      .n_children = 1,
                                      .buffers = &wrapped->buffer,
                                      .children = &wrapped->child,
                                      .release = wrapped_release,
                                      .private_data = wrapped };
    return 0;
}

/* The rows of a struct are never null: its columns are what is kept. */
static void drop_validity(struct ArrowArray *array)
{
    array->null_count = 0;
    PyMem_Free((void *)array->buffers[0]);
    array->buffers[0] = NULL;
}

/*
 * values_array(schema, results, single): results as rows of the struct `schema`; with `single` as
 * those of its only column. Returns (array, [(row, what is wrong)]).
 */
PyObject *values_array(PyObject *module, PyObject *args)
{
    const struct ArrowSchema *schema;
    struct ArrowArray array = { 0 }, column;
    PyObject *capsule, *results, *wrong, *made;
    int single, failed;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!p", &capsule, &PyList_Type, &results, &single))
        return NULL;
    schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    wrong = schema != NULL ? PyList_New(0) : NULL;
    if (wrong == NULL)
        return NULL;
    if (single && schema->n_children != 1) {
        Py_DECREF(wrong);
        return PyErr_Format(PyExc_ValueError, "one value for %lld columns",
                            (long long)schema->n_children);
    }
    if (single) {
        failed = values_build(schema->children[0], results, wrong, &column);
        if (failed == 0)
            failed = wrap_column(&column, &array);
    } else {
        failed = values_build(schema, results, wrong, &array);
        if (failed == 0)
            drop_validity(&array);
    }
    made = failed == 0 ? array_capsule(&array) : NULL;
    if (made == NULL) {
        Py_DECREF(wrong);
        return NULL;
    }
    return Py_BuildValue("(NN)", made, wrong);
}

/* The number of each row where its list is not null, -1 where it is, in `offsets`. */
static PyObject *list_offsets(const struct value_type *type, const struct ArrowArray *array,
                              int64_t start, int64_t count)
{
    const uint8_t *valid = array->buffers[0];
    PyObject *offsets = PyList_New((Py_ssize_t)count);

    for (int64_t i = 0; offsets != NULL && i < count; i++) {
        int64_t at = start + i, from, to;
        PyObject *pair;

        if (type->kind == VALUE_FIXED_LIST) {
            from = at * type->count;
            to = from + type->count;
        } else if (type->width == 4) {
            from = ((const int32_t *)array->buffers[1])[at];
            to = ((const int32_t *)array->buffers[1])[at + 1];
        } else {
            from = ((const int64_t *)array->buffers[1])[at];
            to = ((const int64_t *)array->buffers[1])[at + 1];
        }
        pair = value_is_valid(valid, at) ? Py_BuildValue("(LL)", (long long)from, (long long)to)
                                         : Py_NewRef(Py_None);
        if (pair == NULL)
            Py_CLEAR(offsets);
        else
            PyList_SetItem(offsets, (Py_ssize_t)i, pair);
    }
    return offsets;
}

/*
 * values_lists(schema, array, column, start, count): a column of lists of numbers without copying
 * them: (memory of the items, their format letter, (from, to) or None for each row).
 */
PyObject *values_lists(PyObject *module, PyObject *args)
{
    const struct ArrowSchema *schema;
    const struct ArrowArray *array, *items;
    struct value_type type, item;
    PyObject *schema_object, *array_object, *memory, *offsets;
    long long column, start, count;

    if (!PyArg_ParseTuple(args, "OOLLL", &schema_object, &array_object, &column, &start, &count) ||
        batch_of(schema_object, array_object, &schema, &array) < 0)
        return NULL;
    if (column < 0 || column >= schema->n_children || start < 0 || count < 0 ||
        start + count > array->length)
        return PyErr_Format(PyExc_IndexError, "column %lld, rows %lld to %lld", column, start,
                            start + count);
    start += array->offset;
    schema = schema->children[column];
    array = array->children[column];
    if (value_type_of(schema, &type) < 0)
        return NULL;
    if ((type.kind != VALUE_LIST && type.kind != VALUE_FIXED_LIST) ||
        value_type_of(schema->children[0], &item) < 0 || item.width == 0 || item.kind > VALUE_FLOAT)
        return PyErr_Format(PyExc_TypeError, "column \"%s\" has no lists of numbers", schema->name);
    items = array->children[0];
    memory = buffer_new(module, array_object,
                        (const char *)items->buffers[1] + items->offset * item.width,
                        items->length * item.width, 1);
    offsets = memory != NULL ? list_offsets(&type, array, start + array->offset, count) : NULL;
    if (offsets == NULL) {
        Py_XDECREF(memory);
        return NULL;
    }
    return Py_BuildValue("(NsN)", memory, schema->children[0]->format, offsets);
}
