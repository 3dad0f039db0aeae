/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/zone.h"

#include <stdio.h>

#include "base/error.h"
#include "expr/calendar.h"
#include "os/file.h"
#include "os/host.h"

enum { DAY_SECONDS = 86400, NAME_BYTES_MAX = 100, PATH_BYTES = 512, FILE_BYTES_MAX = 1 << 20 };

/* Where systems keep the files of zones. */
static const char *const folders[] = { "/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                       "/usr/share/lib/zoneinfo", "/etc/zoneinfo" };

/* Words between slashes: the name is no way out of the folder. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > NAME_BYTES_MAX || name[0] == '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') &&
            strchr("_+-/", c) == NULL)
            return false;
    }
    return true;
}

static const char *find_folder(void)
{
    const char *given = lmn__host_variable("TZDIR");

    if (given != NULL)
        return lmn__file_is_directory(given) ? given : NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (lmn__file_is_directory(folders[i]))
            return folders[i];
    }
    return NULL;
}

static enum lmn_status read_file(const char *path, struct lmn__arena *arena,
                                 struct lmn__span *bytes_out, struct lmn_error *err)
{
    struct lmn__file file;
    uint64_t bytes = 0;
    uint8_t *data = NULL;
    enum lmn_status st = lmn__file_open(path, LMN__FILE_READ, &file, err);

    if (st != LMN_OK)
        return st;
    st = lmn__file_size(&file, path, &bytes, err);
    if (st == LMN_OK && bytes > FILE_BYTES_MAX)
        st = lmn_fail(err, LMN_E_CORRUPT, "%.200s: %llu bytes are too many for a time zone", path,
                      (unsigned long long)bytes);
    if (st == LMN_OK) {
        data = lmn__arena_alloc(arena, bytes + 1);
        st = data == NULL ? lmn__arena_fail(arena, "a time zone", err)
                          : lmn__file_read_at(&file, path, 0, data, bytes, err);
    }
    lmn__file_close(&file);
    *bytes_out = (struct lmn__span){ data, bytes };
    return st;
}

static enum lmn_status load(const char *name, struct lmn__arena *arena, struct lmn__zone *zone,
                            struct lmn_error *err)
{
    const char *folder = find_folder();
    char path[PATH_BYTES];
    struct lmn__span bytes;
    enum lmn_status st;

    if (!is_name(name))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "\"%.60s\" is no name of a time zone", name);
    if (folder == NULL)
        return lmn_fail(
            err, LMN_E_UNSUPPORTED,
            "the clock of time zone %.60s is not known: this system has no time zones "
            "in %.100s; install tzdata, or set TZDIR to its folder",
            name, lmn__host_variable("TZDIR") != NULL ? lmn__host_variable("TZDIR") : folders[0]);
    snprintf(path, sizeof path, "%.300s/%s", folder, name);
    if (lmn__file_is_directory(path))
        st = LMN_E_NOT_FOUND;
    else
        st = read_file(path, arena, &bytes, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "time zone %.60s is not among those that this system has in %.200s", name,
                        folder);
    return st == LMN_OK ? lmn__zone_decode(bytes, name, arena, zone, err) : st;
}

enum lmn_status lmn__zone_find(const char *name, struct lmn__arena *arena,
                               const struct lmn__zone **zone_out, struct lmn_error *err)
{
    struct lmn__zone *zone = lmn__arena_alloc(arena, sizeof *zone);
    int64_t offset;

    *zone_out = zone;
    if (zone == NULL)
        return lmn__arena_fail(arena, "a time zone", err);
    if (!lmn__zone_offset(name, &offset))
        return load(name, arena, zone, err);
    zone->first = (int32_t)offset;
    return LMN_OK;
}

bool lmn__zone_is_utc(const struct lmn__zone *zone)
{
    return zone->change_count == 0 && !zone->has_rule && zone->first == 0;
}

int64_t lmn__zone_offset_at(const struct lmn__zone *zone, int64_t seconds)
{
    uint32_t low = 0, high = zone->change_count;

    /* The number of changes up to the moment. */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (zone->change[middle] <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->change_count && zone->has_rule)
        return lmn__zone_rule_offset(&zone->rule, seconds);
    return low == 0 ? zone->first : zone->offset[low - 1];
}

int64_t lmn__zone_to_utc(const struct lmn__zone *zone, int64_t local)
{
    int64_t before, after;

    if (local < INT64_MIN + 2 * DAY_SECONDS || local > INT64_MAX - 2 * DAY_SECONDS)
        return local;
    before = lmn__zone_offset_at(zone, local - DAY_SECONDS);
    after = lmn__zone_offset_at(zone, local + DAY_SECONDS);
    /* Of two moments the later one is that of the clock that was set back. */
    if (lmn__zone_offset_at(zone, local - after) == after)
        return local - after;
    return local - before;
}
