/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/function.h"

#include <stdio.h>

#include "expr/text_rows.h"

static const struct lmn__function *const tables[] = {
    lmn__operator_functions,    lmn__text_functions,       lmn__text_make_functions,
    lmn__text_edit_functions,   lmn__number_functions,     lmn__whole_functions,
    lmn__choice_functions,      lmn__time_functions,       lmn__time_make_functions,
    lmn__calendar_functions,    lmn__list_functions,       lmn__list_edit_functions,
    lmn__list_text_functions,   lmn__list_shape_functions, lmn__list_range_functions,
    lmn__list_vector_functions, lmn__digest_functions,     lmn__bits_functions,
    lmn__regex_functions,       lmn__format_functions,     lmn__type_functions,
    lmn__struct_functions,      lmn__random_functions,
};

enum { TABLE_COUNT = sizeof tables / sizeof tables[0], NAMES_MAX = 400 };

static const struct lmn__function *find_exact(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        for (const struct lmn__function *function = tables[i]; function->name != NULL; function++) {
            if (strcmp(function->name, name) == 0)
                return function;
        }
    }
    return NULL;
}

enum { NAME_BYTES = 48 };

/* A name that begins with list_ stands for the one with array_. */
static const char *full_name(const char *name, char text[NAME_BYTES])
{
    if (strncmp(name, "list_", 5) != 0 || strlen(name) >= NAME_BYTES - 1)
        return name;
    snprintf(text, NAME_BYTES, "array_%s", name + 5);
    return text;
}

static const struct lmn__function *find(const char *name)
{
    char text[NAME_BYTES];

    return find_exact(full_name(name, text));
}

const char *lmn__syntax_clock(const struct lmn__syntax *syntax)
{
    const struct lmn__function *function = NULL;
    const char *name = NULL;

    if (syntax->kind == LMN__SYNTAX_CALL)
        function = find(syntax->name);
    if (function != NULL && function->reads_clock)
        return function->name;
    for (uint32_t i = 0; name == NULL && i < syntax->child_count; i++)
        name = lmn__syntax_clock(syntax->child[i]);
    return name;
}

static enum lmn_status no_function(struct lmn__binder *binder, const struct lmn__syntax *syntax)
{
    const char *names[NAMES_MAX], *reason;
    uint32_t count = 0;
    char near[200], text[NAME_BYTES];

    reason = lmn__function_refused(full_name(syntax->name, text));
    if (reason != NULL)
        return lmn__bind_fail(binder, syntax->place, LMN_E_UNSUPPORTED,
                              "there is no function %.64s(): %s", syntax->name, reason);

    for (int i = 0; i < TABLE_COUNT; i++) {
        for (const struct lmn__function *function = tables[i];
             function->name != NULL && count < NAMES_MAX; function++) {
            if (function->name[0] >= 'a' && function->name[0] <= 'z') /* no operators */
                names[count++] = function->name;
        }
    }
    lmn__bind_near(syntax->name, names, count, near, sizeof near);
    return lmn__bind_fail(binder, syntax->place, LMN_E_NOT_FOUND, "there is no function %.64s()%s",
                          syntax->name, near);
}

/* Ask the caller's resolver. LMN_E_NOT_FOUND without a message: it does not know the function. */
static enum lmn_status resolve(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                               bool *known_out, struct lmn__term **term_out)
{
    struct lmn__expr_argument *argument;
    const char *path = NULL, *name[1];
    struct lmn_error err;
    enum lmn_status st;

    *known_out = false;
    if (binder->resolver == NULL)
        return LMN_OK;
    argument = lmn__arena_array(binder->arena, syntax->child_count + 1, sizeof *argument);
    if (argument == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; i < syntax->child_count; i++) {
        const struct lmn__syntax *child = syntax->child[i];

        argument[i].is_string = child->kind == LMN__SYNTAX_STRING;
        if (child->kind != LMN__SYNTAX_STRING && child->kind != LMN__SYNTAX_NUMBER)
            return LMN_OK;
        argument[i].text = lmn__arena_strndup(binder->arena, child->text.data, child->text.len);
        if (argument[i].text == NULL)
            return lmn__bind_no_memory(binder);
    }
    st = binder->resolver->find(binder->resolver->context, syntax->name, argument,
                                syntax->child_count, &path, &err);
    if (st == LMN_E_NOT_FOUND)
        return LMN_OK;
    *known_out = true;
    if (st != LMN_OK)
        return lmn__bind_fail(binder, syntax->place, st, "%.200s", err.message);
    name[0] = path;
    st = lmn__bind_path(binder, syntax->place, name, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->hidden = true;
    return st;
}

static struct lmn__type type_of_letter(char letter)
{
    switch (letter) {
    case 's':
        return lmn__type_plain(LMN__KIND_STRING);
    case 'i':
        return lmn__type_plain(LMN__KIND_I64);
    case 'd':
        return lmn__type_plain(LMN__KIND_F64);
    default:
        return lmn__type_plain(LMN__KIND_BOOL);
    }
}

/* May an argument of this type be given for the letter? Strings are never numbers by themselves. */
static bool takes(char letter, const struct lmn__type *type)
{
    switch (letter) {
    case 's':
        return type->kind == LMN__KIND_STRING || type->kind == LMN__KIND_NULL;
    case 'i':
        return lmn__type_is_integer(type) || type->kind == LMN__KIND_NULL;
    case 'd':
        return lmn__type_is_number(type) || type->kind == LMN__KIND_NULL;
    default:
        return type->kind == LMN__KIND_BOOL || type->kind == LMN__KIND_NULL;
    }
}

static const char *letter_text(char letter)
{
    return letter == 's'   ? "a string"
           : letter == 'i' ? "a whole number"
           : letter == 'd' ? "a number"
                           : "a condition";
}

static enum lmn_status bind_signature(struct lmn__binder *binder, uint32_t place,
                                      const struct lmn__function *function, struct lmn__term **arg,
                                      uint32_t count, struct lmn__term **term_out)
{
    const char *letter = function->signature;
    struct lmn__type type;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (!takes(*letter, &arg[i]->type))
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "%s() takes %s here, not a value of type %s", function->name,
                                  letter_text(*letter), lmn__type_text(&arg[i]->type, text));
        type = type_of_letter(*letter);
        st = lmn__bind_convert(binder, &arg[i], &type, LMN__CONVERT_CAST);
        if (letter[1] != '>')
            letter++;
    }
    if (st != LMN_OK)
        return st;
    type = type_of_letter(strchr(function->signature, '>')[1]);
    st = lmn__bind_call(binder, place,
                        function->kernel != NULL ? function->kernel : lmn__text_kernel, &type, arg,
                        count, term_out);
    if (st == LMN_OK) {
        (*term_out)->text_of_row = function->text_of_row;
        (*term_out)->choice = function->choice;
        (*term_out)->own_nulls = function->own_nulls;
    }
    return st;
}

static enum lmn_status wrong_count(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                   const struct lmn__function *function)
{
    if (function->count_min == function->count_max)
        return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID,
                              "%s() takes %u argument%s, not %u", function->name,
                              function->count_min, function->count_min == 1 ? "" : "s",
                              syntax->child_count);
    return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID,
                          "%s() takes %u to %u arguments, not %u", function->name,
                          function->count_min, function->count_max, syntax->child_count);
}

enum lmn_status lmn__bind_function(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                   struct lmn__term **term_out)
{
    const struct lmn__function *function = find(syntax->name);
    const struct lmn__meeting around = binder->meeting;
    uint32_t count = syntax->child_count;
    struct lmn__term **arg;
    bool known;
    enum lmn_status st = resolve(binder, syntax, &known, term_out);

    if (st != LMN_OK || known)
        return st;
    if (function == NULL)
        return no_function(binder, syntax);
    if (count < function->count_min || count > function->count_max)
        return wrong_count(binder, syntax, function);
    arg = lmn__arena_array(binder->arena, count + 1, sizeof *arg);
    if (arg == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_syntax(binder, syntax->child[i], &arg[i]);
    if (st != LMN_OK)
        return st;
    binder->meeting = (struct lmn__meeting){ arg, count };
    st = function->bind != NULL
             ? function->bind(binder, syntax->place, function->choice, arg, count, term_out)
             : bind_signature(binder, syntax->place, function, arg, count, term_out);
    binder->meeting = around;
    if (st != LMN_OK)
        return st;
    if ((*term_out)->op == LMN__OP_CALL && (*term_out)->name == NULL)
        (*term_out)->name = function->name;
    return (*term_out)->op == LMN__OP_CALL ? lmn__bind_fold(binder, term_out) : LMN_OK;
}
