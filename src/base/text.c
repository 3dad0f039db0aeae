/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdalign.h>
#include <string.h>

/* What stands before the bytes. */
struct head {
    alignas(16) struct lmn_env *env; /* counted */
};

char *lmn__text_new(struct lmn_env *env, const void *data, size_t len)
{
    struct head *head = len < SIZE_MAX - sizeof *head ? lmn__calloc(env, 1, sizeof *head + len + 1)
                                                      : NULL;
    char *text;

    if (head == NULL)
        return NULL;
    text = (char *)(head + 1);
    head->env = lmn_env_acquire(env);
    if (data != NULL && len != 0)
        memcpy(text, data, len);
    return text;
}

void lmn_text_free(char *text)
{
    struct head *head = (struct head *)(void *)text;
    struct lmn_env *env;

    if (text == NULL)
        return;
    head--;
    env = head->env;
    lmn__free(env, head);
    lmn_env_release(env);
}
