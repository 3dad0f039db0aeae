/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of control groups are read from version 2 of their file system: those of the group of
 * this process and of all groups above it, as far as they can be seen. In a container the own group
 * is the root of what can be seen.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/host.h"
#include "os/processor.h"

/* The first line of a small file; "" when it cannot be read. */
static void read_line(const char *path, char *line, int line_bytes)
{
    FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(line, line_bytes, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

/* The first line of a file of a control group; "" when it has none. */
static void read_group_line(const char *group, const char *name, char *line, int line_bytes)
{
    char path[1280];

    snprintf(path, sizeof path, "%s/%s", group, name);
    read_line(path, line, line_bytes);
}

/* Call `take` with the folders of this process's control group and those above it. */
static void each_group(void (*take)(const char *group, void *into), void *into)
{
    char group[1024], path[1280];

    read_line("/proc/self/cgroup", group, sizeof group);
    if (strncmp(group, "0::/", 4) != 0)
        memcpy(group, "0::/", 5);
    for (;;) {
        char *slash = strrchr(group + 3, '/');

        snprintf(path, sizeof path, "/sys/fs/cgroup%s", group[4] != '\0' ? group + 3 : "");
        take(path, into);
        if (group[4] == '\0' || slash == NULL)
            return;
        slash[slash == group + 3] = '\0';
    }
}

static void take_cpus(const char *group, void *into)
{
    double *cpus = into;
    unsigned long long quota, period;
    char line[256];

    read_group_line(group, "cpu.max", line, sizeof line);
    if (sscanf(line, "%llu %llu", &quota, &period) == 2 && period > 0 &&
        (double)quota / (double)period < *cpus)
        *cpus = (double)quota / (double)period;
}

/* The number in a file of a control group; false where it has none, or no limit. */
static bool read_group_number(const char *group, const char *name, uint64_t *number_out)
{
    unsigned long long number = 0;
    char line[256];
    bool found;

    read_group_line(group, name, line, sizeof line);
    found = sscanf(line, "%llu", &number) == 1;
    *number_out = number;
    return found;
}

static void take_memory(const char *group, void *into)
{
    uint64_t *bytes = into, limit;

    if (read_group_number(group, "memory.max", &limit) && limit < *bytes)
        *bytes = limit;
}

/* The number that stands behind `name` in a file of lines with a name and a number. */
static bool find_number(const char *path, const char *name, uint64_t *number_out)
{
    FILE *file = fopen(path, "re");
    size_t len = strlen(name);
    unsigned long long number = 0;
    char line[256];
    bool found = false;

    while (!found && file != NULL && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, name, len) == 0 && sscanf(line + len, "%llu", &number) == 1;
    if (file != NULL)
        fclose(file);
    *number_out = number;
    return found;
}

/* A group's copies of files are given up when it needs memory for other things. */
static void take_free_memory(const char *group, void *into)
{
    uint64_t *bytes = into, limit, used, copies;
    char path[1280];

    if (!read_group_number(group, "memory.max", &limit) ||
        !read_group_number(group, "memory.current", &used))
        return;
    snprintf(path, sizeof path, "%s/memory.stat", group);
    if (find_number(path, "file ", &copies))
        used -= copies < used ? copies : used;
    limit -= used < limit ? used : limit;
    if (limit < *bytes)
        *bytes = limit;
}

double lmn__host_cpus(void)
{
    double cpus = lmn__processor_count();

    each_group(take_cpus, &cpus);
    return cpus;
}

uint64_t lmn__host_idle_ns(void)
{
    char line[512];
    unsigned long long idle;

    read_line("/proc/stat", line, sizeof line);
    if (sscanf(line, "cpu %*u %*u %*u %llu", &idle) != 1)
        return 0;
    return idle * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t lmn__host_memory_bytes(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    each_group(take_memory, &bytes);
    return bytes;
}

uint64_t lmn__host_free_memory_bytes(void)
{
    uint64_t kilobytes, bytes;

    if (!find_number("/proc/meminfo", "MemAvailable:", &kilobytes))
        return 0;
    bytes = kilobytes * 1024;
    each_group(take_free_memory, &bytes);
    return bytes;
}

/* The numbers in "0,2,3"; names of other kinds (UUIDs) are counted in order. */
static uint32_t read_visible(const char *text, uint32_t id_out[LMN__HOST_GPUS_MAX])
{
    uint32_t count = 0;

    while (*text != '\0' && count < LMN__HOST_GPUS_MAX) {
        size_t len = strcspn(text, ",");

        if (len == 0 || *text == '-')
            break;
        id_out[count] = isdigit((unsigned char)*text) ? (uint32_t)strtoul(text, NULL, 10) : count;
        count++;
        text += len + (text[len] == ',');
    }
    return count;
}

uint32_t lmn__host_gpus(uint32_t id_out[LMN__HOST_GPUS_MAX])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct dirent *entry;
    uint32_t count = 0;
    DIR *dir;

    if (visible != NULL)
        return read_visible(visible, id_out);
    dir = opendir("/proc/driver/nvidia/gpus");
    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL && count < LMN__HOST_GPUS_MAX) {
        if (entry->d_name[0] != '.') {
            id_out[count] = count;
            count++;
        }
    }
    closedir(dir);
    return count;
}

void lmn__host_gpu_name(uint32_t index, uint32_t id, char *name_out, size_t name_bytes)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    for (; visible != NULL && index > 0; index--) {
        visible = strchr(visible, ',');
        visible = visible != NULL ? visible + 1 : NULL;
    }
    if (visible == NULL || *visible == '\0')
        snprintf(name_out, name_bytes, "%u", id);
    else
        snprintf(name_out, name_bytes, "%.*s", (int)strcspn(visible, ","), visible);
}

bool lmn__host_disk_free(const char *path, uint64_t *bytes_out)
{
    struct statvfs info;

    *bytes_out = 0;
    if (statvfs(path, &info) != 0)
        return false;
    *bytes_out = (uint64_t)info.f_bavail * info.f_frsize;
    return true;
}

void lmn__host_name(char *name_out, size_t name_bytes)
{
    if (gethostname(name_out, name_bytes) != 0)
        snprintf(name_out, name_bytes, "localhost");
    name_out[name_bytes - 1] = '\0';
}

void lmn__host_state_dir(char path_out[LMN__HOST_PATH_CHARS])
{
    const char *state = lmn__host_variable("XDG_STATE_HOME");
    const char *home = lmn__host_variable("HOME");

    path_out[0] = '\0';
    if (state != NULL && state[0] == '/')
        snprintf(path_out, LMN__HOST_PATH_CHARS, "%s/leman", state);
    else if (home != NULL)
        snprintf(path_out, LMN__HOST_PATH_CHARS, "%s/.local/state/leman", home);
}

const char *lmn__host_variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool lmn__host_whole_path(const char *path, char path_out[LMN__HOST_PATH_CHARS])
{
    char whole[PATH_MAX];

    path_out[0] = '\0';
    if (realpath(path, whole) == NULL)
        return false;
    snprintf(path_out, LMN__HOST_PATH_CHARS, "%s", whole);
    return true;
}
