/* SPDX-License-Identifier: Apache-2.0 */
/* Which types a column may be widened to. */
#include "table/wider.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "check.h"

/* A type from its Arrow format; "+w:2f" is a fixed list of the rest, "+lf" a list. */
static void make_type(struct ArrowSchema *schema, const char *format)
{
    ArrowSchemaInit(schema);
    if (strncmp(format, "+w:", 3) == 0) {
        CHECK_EQ(
            ArrowSchemaSetTypeFixedSize(schema, NANOARROW_TYPE_FIXED_SIZE_LIST, format[3] - '0'),
            0);
        CHECK_EQ(ArrowSchemaSetFormat(schema->children[0], format + 4), 0);
        return;
    }
    if (strncmp(format, "+l", 2) == 0) {
        CHECK_EQ(ArrowSchemaSetType(schema, NANOARROW_TYPE_LIST), 0);
        CHECK_EQ(ArrowSchemaSetFormat(schema->children[0], format + 2), 0);
        return;
    }
    CHECK_EQ(ArrowSchemaSetFormat(schema, format), 0);
}

static bool is_wider(const char *from, const char *to)
{
    struct ArrowSchema a, b;
    bool wider;

    make_type(&a, from);
    make_type(&b, to);
    wider = lmn__type_is_wider(&a, &b);
    a.release(&a);
    b.release(&b);
    return wider;
}

/* For every pair of numbers: is each value of the first one of the second? */
static void test_wider__numbers(void **state)
{
    static const char format[] = "csilCSILefg";
    static const char *const wider[] = {
        "silefg", "ilfg", "lg", "", "silSILefg", "ilILfg", "lLg", "", "fg", "g", "",
    };

    (void)state;
    for (size_t i = 0; format[i] != '\0'; i++) {
        for (size_t k = 0; format[k] != '\0'; k++) {
            const char from[8] = { format[i] }, to[8] = { format[k] };

            if (is_wider(from, to) != (strchr(wider[i], format[k]) != NULL))
                check_fail(__FILE__, __LINE__, "%s to %s", from, to);
        }
    }
}

static void test_wider__others(void **state)
{
    static const struct {
        const char *from, *to;
        bool wider;
    } pair[] = {
        { "n", "u", true },
        { "n", "+w:2f", true },
        { "n", "n", false },
        { "n", "nothing", false },
        { "i", "n", false },
        { "+ln", "+lu", true },
        { "+lu", "+ln", false },
        { "u", "U", true },
        { "U", "u", false },
        { "z", "Z", true },
        { "u", "z", false },
        { "u", "i", false },
        { "b", "c", false },
        { "+w:2f", "+w:2g", true },
        { "+w:2f", "+w:3g", false },
        { "+w:2g", "+w:2f", false },
        { "+w:2f", "g", false },
        { "+li", "+ll", true },
        { "+ll", "+li", false },
        { "+li", "+li", false },
        { "+li", "+w:2l", false },
        { "+li", "l", false },
        { "tdD", "tdm", true },
        { "tdm", "tdD", false },
        { "tdD", "tss:", true },
        { "tdD", "tsm:", true },
        { "tdD", "tsu:", false },
        { "tdD", "tsm:UTC", false },
        { "tss:", "tsn:", true },
        { "tsn:", "tss:", false },
        { "tss:UTC", "tsm:", false },
        { "tsm:UTC", "tsu:UTC", true },
        { "tts", "ttm", true },
        { "ttm", "ttu", true },
        { "ttu", "ttn", true },
        { "ttn", "ttu", false },
        { "tDs", "tDm", true },
        { "tDm", "tDs", false },
        { "d:10,2", "d:12,2", true },
        { "d:10,2", "d:12,4", true },
        { "d:10,2", "d:11,4", false },
        { "d:10,2", "d:9,2", false },
        { "d:10,2", "d:12,1", false },
        { "d:10,2", "d:10,2", false },
        { "d:10,2", "d:10,2,256", true },
        { "d:10,2,256", "d:12,2", false },
        { "tDs", "l", false },
        { "d:10,2", "g", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        if (is_wider(pair[i].from, pair[i].to) != pair[i].wider)
            check_fail(__FILE__, __LINE__, "%s to %s", pair[i].from, pair[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_wider__numbers),
        cmocka_unit_test(test_wider__others),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
