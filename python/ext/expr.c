/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

PyObject *expr_evaluate(PyObject *module, PyObject *args)
{
    struct ArrowSchema type = { 0 };
    struct ArrowArray values = { 0 };
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    PyObject *schema_object, *array_object;
    const char *text;
    struct lmn_error err;
    enum lmn_status st;

    if (!PyArg_ParseTuple(args, "sOO", &text, &schema_object, &array_object))
        return NULL;
    schema = PyCapsule_GetPointer(schema_object, "arrow_schema");
    array = schema != NULL ? PyCapsule_GetPointer(array_object, "arrow_array") : NULL;
    if (array == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        st = lmn_expr_evaluate(NULL, text, schema, array, &type, &values, &err);
    Py_END_ALLOW_THREADS
    if (st != LMN_OK)
        return raise_error(PyModule_GetState(module), &err);
    return pair_capsules(&type, &values);
}
