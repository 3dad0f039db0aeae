/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

enum { NS_PER_S = 1000000000 };

static enum lmn_status fail_dir(struct lmn_error *err, int os_errno, const char *verb,
                                const char *path)
{
    bool missing = os_errno == ENOENT || os_errno == ENOTDIR;
    enum lmn_status st = missing ? LMN_E_NOT_FOUND : LMN_E_IO;

    return lmn_fail_os(err, st, os_errno, "cannot %s directory %s", verb, path);
}

/* The directory that `path` lies in; *slash is the last one of `path`, or NULL. */
static enum lmn_status sync_parent(char *path, char *slash, struct lmn_error *err)
{
    enum lmn_status st;

    if (slash == NULL)
        return lmn__dir_sync(".", err);
    if (slash == path)
        return lmn__dir_sync("/", err);
    *slash = '\0';
    st = lmn__dir_sync(path, err);
    *slash = '/';
    return st;
}

/* *made_out: it was not there. */
static enum lmn_status make_one(const char *path, bool *made_out, struct lmn_error *err)
{
    struct stat info;
    int rc = mkdir(path, 0777), reason = errno;

    *made_out = rc == 0;
    if (rc == 0 || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return LMN_OK;
    return fail_dir(err, reason, "make", path);
}

static enum lmn_status sync_made(char *path, struct lmn_error *err)
{
    enum lmn_status st = sync_parent(path, strrchr(path, '/'), err);

    if (st != LMN_OK)
        rmdir(path); /* so that the next attempt does not take it for durable */
    return st;
}

/* *there_out may be NULL: then each directory that is made is durable. */
static enum lmn_status make_all(const char *path, size_t *there_out, struct lmn_error *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path), parent = 0;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0 || len >= sizeof part)
        return fail_dir(err, len == 0 ? ENOENT : ENAMETOOLONG, "make", path);
    memcpy(part, path, len);
    part[len] = '\0';
    for (size_t end = 0; end < len; parent = end) {
        bool made;
        enum lmn_status st;

        end += 1 + strcspn(part + end + 1, "/");
        part[end] = '\0';
        st = make_one(part, &made, err);
        if (st == LMN_OK && made && there_out == NULL)
            st = sync_made(part, err);
        if (st != LMN_OK)
            return st;
        if (made && there_out != NULL && *there_out > parent)
            *there_out = parent;
        part[end] = path[end];
    }
    return LMN_OK;
}

enum lmn_status lmn__dir_make(const char *path, struct lmn_error *err)
{
    return make_all(path, NULL, err);
}

enum lmn_status lmn__dir_make_unsynced(const char *path, size_t *there_out, struct lmn_error *err)
{
    *there_out = strlen(path);
    return make_all(path, there_out, err);
}

enum lmn_status lmn__dir_sync(const char *path, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    int fd, rc;

    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_dir(err, errno, "open", path);
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0 && errno != EINVAL)
        st = fail_dir(err, errno, "sync", path);
    close(fd);
    return st;
}

int64_t lmn__dir_changed_ns(const char *path)
{
    struct stat info;

    /* The time of the inode's change, which nobody can set. */
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return 0;
    return (int64_t)info.st_ctim.tv_sec * NS_PER_S + info.st_ctim.tv_nsec;
}

enum lmn_status lmn__dir_remove(const char *path, struct lmn_error *err)
{
    return rmdir(path) == 0 ? LMN_OK : fail_dir(err, errno, "remove", path);
}

/* Some file systems leave the type out of the entry. */
static bool entry_is_directory(DIR *dir, const struct dirent *entry)
{
    struct stat info;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(info.st_mode);
}

enum lmn_status lmn__dir_list(const char *path, lmn__dir_entry_fn entry, void *context,
                              struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    DIR *dir = opendir(path);

    if (dir == NULL)
        return fail_dir(err, errno, "open", path);
    while (st == LMN_OK) {
        struct dirent *item;

        errno = 0;
        item = readdir(dir);
        if (item == NULL) {
            if (errno != 0)
                st = fail_dir(err, errno, "read", path);
            break;
        }
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
            st = entry(context, item->d_name, entry_is_directory(dir, item), err);
    }
    closedir(dir);
    return st;
}

enum lmn_status lmn__dir_remove_all(const char *path, struct lmn_error *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    enum lmn_status st = LMN_OK;

    if (dir == NULL)
        return fail_dir(err, errno, "open", path);
    while (st == LMN_OK && (entry = readdir(dir)) != NULL) {
        char inner[PATH_MAX];
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner)
            st = fail_dir(err, ENAMETOOLONG, "remove", path);
        else if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            st = lmn__dir_remove_all(inner, err);
        else
            st = lmn__file_remove(inner, err);
    }
    closedir(dir);
    if (st == LMN_OK && rmdir(path) != 0)
        st = fail_dir(err, errno, "remove", path);
    return st;
}
