/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u8 1 for a folder; a path with its length; then a file of patterns. */
#include "input.h"
#include "pack/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    bool is_folder = (take_number(&input, 1) & 1) != 0;
    struct lmn__span path = take_piece(&input);
    struct lmn__arena arena;
    struct lmn__rules rules = { .arena = &arena };
    char *text;

    lmn__arena_init(&arena, fuzz_env(), 0);
    text = lmn__arena_strndup(&arena, path.data, path.len);
    if (text != NULL && lmn__rules_add(&rules, input, NULL, NULL) == LMN_OK)
        (void)lmn__rules_reason(&rules, text, is_folder);
    lmn__arena_deinit(&arena);
    return 0;
}
