/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

bool python_knows(const char *kind)
{
    static const char *const kinds[] = { "parquet", "files", "space" };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i], kind) == 0)
            return true;
    }
    return false;
}

static const char *find_python(char *path, size_t path_bytes)
{
    const char *named = getenv("LEMAN_PYTHON");
    const char *self = (const char *)(uintptr_t)getauxval(AT_EXECFN); /* links not followed */
    const char *slash = self != NULL ? strrchr(self, '/') : NULL;
    struct stat info;

    if (named != NULL && named[0] != '\0')
        return named;
    if (slash != NULL) {
        snprintf(path, path_bytes, "%.*s/python", (int)(slash - self), self);
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0)
            return path;
    }
    return "python3";
}

int python_run(const char *module, const char *what, int argc, char **argv)
{
    char path[4096];
    const char *program = find_python(path, sizeof path);
    const char **words = calloc((size_t)argc + 5, sizeof *words);
    int count = 0;

    if (words != NULL) {
        words[count++] = program;
        words[count++] = "-m";
        words[count++] = module;
        if (what != NULL)
            words[count++] = what;
        for (int i = 0; i < argc; i++)
            words[count++] = argv[i];
        execvp(program, (char *const *)(uintptr_t)words);
    }
    fprintf(stderr, "leman: %s cannot be started: %s; $LEMAN_PYTHON names the interpreter\n",
            program, strerror(errno));
    free(words);
    return EXIT_FAILED;
}
