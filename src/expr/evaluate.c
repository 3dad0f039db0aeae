/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/expr.h>

#include "arrow/view.h"
#include "expr/expr.h"

enum lmn_status lmn_expr_evaluate(struct lmn_env *env, const char *text,
                                  const struct ArrowSchema *schema, const struct ArrowArray *array,
                                  struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    struct lmn__expr *expr = NULL;
    struct lmn_env *resolved;
    enum lmn_status st;

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    st = lmn__env_resolve(env, &resolved, err);
    if (st != LMN_OK)
        return st;
    st = lmn__expr_parse(resolved, text, &expr, err);
    if (st == LMN_OK)
        st = lmn__view_check_columns(schema, array, err);
    if (st == LMN_OK)
        st = lmn__expr_bind(expr, schema, NULL, NULL, err);
    if (st == LMN_OK)
        st = lmn__expr_type(expr, schema_out, err);
    if (st == LMN_OK) {
        st = lmn__expr_eval(expr, array, array_out, err);
        if (st != LMN_OK) {
            schema_out->release(schema_out);
            *schema_out = (struct ArrowSchema){ 0 };
        }
    }
    lmn__expr_free(expr);
    lmn_env_release(resolved);
    return st;
}
