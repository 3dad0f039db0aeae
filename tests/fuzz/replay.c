/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - main() of a fuzz target in builds without libFuzzer.
 *
 * Runs the target on the empty input, then on each file named on the command line; a directory
 * stands for the files in it, in the order of their names. Prints how many inputs it ran.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t input_count;

static _Noreturn void die(const char *path, const char *what)
{
    fprintf(stderr, "replay: %s: %s: %s\n", path, what, strerror(errno));
    exit(1);
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long len;

    if (file == NULL)
        die(path, "open");
    if (fseek(file, 0, SEEK_END) != 0 || (len = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        die(path, "size");
    /* Exactly as long as the input, so that a read past its end is seen. */
    data = malloc(len > 0 ? (size_t)len : 1);
    if (data == NULL || fread(data, 1, (size_t)len, file) != (size_t)len)
        die(path, "read");
    fclose(file);
    fprintf(stderr, "replay: %s\n", path);
    (void)LLVMFuzzerTestOneInput(data, (size_t)len);
    input_count++;
    free(data);
}

static void run_directory(const char *path)
{
    struct dirent **entry;
    char name[4096];
    int count = scandir(path, &entry, NULL, alphasort);

    if (count < 0)
        die(path, "list");
    for (int i = 0; i < count; i++) {
        if (entry[i]->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);
            run_file(name);
        }
        free(entry[i]);
    }
    free(entry);
}

int main(int argc, char **argv)
{
    struct stat info;

    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    input_count++;
    for (int i = 1; i < argc; i++) {
        if (stat(argv[i], &info) != 0)
            die(argv[i], "open");
        if (S_ISDIR(info.st_mode))
            run_directory(argv[i]);
        else
            run_file(argv[i]);
    }
    printf("%zu inputs\n", input_count);
    return 0;
}
