/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

enum lmn_status lmn__file_glob(const char *pattern, lmn__file_name_fn name, void *context,
                               struct lmn_error *err)
{
    glob_t found = { 0 };
    int rc = glob(pattern, 0, NULL, &found);
    enum lmn_status st = LMN_OK;

    if (rc == GLOB_NOSPACE)
        st = lmn__no_memory(err, "a list of files", 0);
    else if (rc == GLOB_ABORTED)
        st = lmn_fail_os(err, LMN_E_IO, errno, "cannot read the folders of %.200s", pattern);
    for (size_t i = 0; st == LMN_OK && rc == 0 && i < found.gl_pathc; i++)
        st = name(context, found.gl_pathv[i], err);
    globfree(&found);
    return st;
}

bool lmn__file_is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Make "//" and "/./" one slash. What ".." leads to depends on links, so it stays. */
static void tidy(char *path)
{
    char *to = path;

    for (const char *at = path; *at != '\0'; at++) {
        bool behind = to != path && to[-1] == '/';

        if (behind && *at == '/')
            continue;
        if (behind && *at == '.' && (at[1] == '/' || at[1] == '\0'))
            continue;
        *to++ = *at;
    }
    *to = '\0';
}

enum lmn_status lmn__file_absolute(struct lmn_env *env, const char *path, char **absolute_out,
                                   struct lmn_error *err)
{
    char folder[4096];
    size_t len = 0, tail;
    char *text;

    if (path[0] != '/') {
        if (getcwd(folder, sizeof folder) == NULL)
            return lmn_fail_os(err, LMN_E_IO, errno, "the current folder is not known");
        len = strlen(folder);
    }
    tail = strlen(path);
    *absolute_out = text = lmn__alloc(env, len + tail + 2);
    if (text == NULL)
        return lmn__no_memory(err, "a path", len + tail + 2);
    if (len != 0) {
        memcpy(text, folder, len);
        text[len++] = '/';
    }
    memcpy(text + len, path, tail + 1);
    tidy(text);
    return LMN_OK;
}
