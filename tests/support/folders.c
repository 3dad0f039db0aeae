/* SPDX-License-Identifier: Apache-2.0 */
#include "folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "os/file.h"

enum { PATH_CHARS = 5000 };

static void write_bytes(const char *root, const char *path, const void *data, size_t len)
{
    char place[PATH_CHARS];
    struct timespec times[2] = { { .tv_sec = time(NULL) - 60 }, { .tv_sec = time(NULL) - 60 } };
    char *slash;
    FILE *file;

    snprintf(place, sizeof place, "%s/%s", root, path);
    slash = strrchr(place, '/');
    *slash = '\0';
    CHECK_OK(lmn__dir_make(place, NULL));
    *slash = '/';
    file = fopen(place, "wb");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(data, 1, len, file), len);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(utimensat(AT_FDCWD, place, times, 0), 0);
}

void folder_write(const char *root, const char *path, const char *text)
{
    write_bytes(root, path, text, strlen(text));
}

void folder_write_random(const char *root, const char *path, size_t bytes, uint64_t seed)
{
    uint8_t *data = malloc(bytes + 8);

    CHECK(data != NULL);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t number = test_random(&seed);

        memcpy(data + i, &number, 8);
    }
    write_bytes(root, path, data, bytes);
    free(data);
}

bool folder_holds(const char *root, const char *path, const char *text)
{
    char place[PATH_CHARS], found[1000];
    size_t len;
    FILE *file;

    snprintf(place, sizeof place, "%s/%s", root, path);
    file = fopen(place, "rb");
    if (file == NULL)
        return false;
    len = fread(found, 1, sizeof found, file);
    fclose(file);
    return len == strlen(text) && memcmp(found, text, len) == 0;
}

struct lmn_pack *folder_pack(const char *root, enum lmn_pack_kind kind, const char *cache)
{
    const struct lmn_pack_path path = { root, kind, false };
    const struct lmn_pack_options options = { .cache_folder = cache };
    struct lmn_pack *pack;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn_pack_scan(test_env(), &path, 1, &options, &pack, &err), LMN_OK, &err);
    return pack;
}

uint64_t folder_number(const char *text, const char *key)
{
    char quoted[100];
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(text, quoted);
    if (at == NULL)
        check_fail(__FILE__, __LINE__, "no %s in %s", key, text);
    return strtoull(at + strlen(quoted), NULL, 10);
}
