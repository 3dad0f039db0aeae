/* SPDX-License-Identifier: Apache-2.0 */
/* Names that users of DataFusion know and that are no functions here, with the reason. */
#include "expr/function.h"

static const char lambda[] = LMN__NO_LAMBDA;
static const char maps[] = "maps are neither made nor searched in expressions; a UDF does it";
static const char zip[] = "lists are not put together item by item in expressions; a UDF does it";
static const char unions[] = "tables have no unions";
static const char metadata[] = "the metadata of a column is read from the schema";
static const char files[] = "a row is known by its row id, not by its file";

static const struct {
    const char *name, *reason;
} refused[] = {
    { "array_transform", lambda },
    { "array_filter", lambda },
    { "array_first", lambda },
    { "array_any_match", lambda },
    { "any_match", lambda },
    { "map", maps },
    { "make_map", maps },
    { "map_keys", maps },
    { "map_values", maps },
    { "map_entries", maps },
    { "map_extract", maps },
    { "element_at", maps },
    { "union_extract", unions },
    { "union_tag", unions },
    { "arrow_metadata", metadata },
    { "arrow_field", metadata },
    { "with_metadata", metadata },
    { "input_file_name", files },
    { "file_row_index", files },
    { "arrays_zip", zip },
    { "array_zip", zip },
    { "version", "the version is that of the library: leman --version" },
};

const char *lmn__function_refused(const char *name)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i].name, name) == 0)
            return refused[i].reason;
    }
    return NULL;
}
