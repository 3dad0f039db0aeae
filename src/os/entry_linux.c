/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "os/entry.h"

enum { NS_PER_S = 1000000000, SEALED = 0444, SEALED_PROGRAM = 0555 };

static enum lmn_status fail_path(struct lmn_error *err, const char *verb, const char *path)
{
    int reason = errno;
    bool missing = reason == ENOENT || reason == ENOTDIR;

    return lmn_fail_os(err, missing ? LMN_E_NOT_FOUND : LMN_E_IO, reason, "cannot %s %s", verb,
                       path);
}

/* What a name in folder `fd` stands for; false when there is nothing of that name. */
static bool look(int fd, const char *name, struct lmn__entry *entry)
{
    struct stat info;
    bool linked;

    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    linked = S_ISLNK(info.st_mode);
    *entry = (struct lmn__entry){ .name = name, .kind = LMN__ENTRY_OTHER };
    if (linked && fstatat(fd, name, &info, 0) != 0)
        return true;
    if (S_ISDIR(info.st_mode))
        entry->kind = linked ? LMN__ENTRY_FOLDER_LINK : LMN__ENTRY_FOLDER;
    else if (S_ISREG(info.st_mode))
        entry->kind = LMN__ENTRY_FILE;
    entry->executable = (info.st_mode & S_IXUSR) != 0;
    entry->bytes = (uint64_t)info.st_size;
    entry->modified_ns = (int64_t)info.st_mtim.tv_sec * NS_PER_S + info.st_mtim.tv_nsec;
    return true;
}

enum lmn_status lmn__entry_list(const char *path, lmn__entry_fn fn, void *context,
                                struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    DIR *dir = opendir(path);

    if (dir == NULL)
        return fail_path(err, "open directory", path);
    while (st == LMN_OK) {
        struct lmn__entry entry;
        struct dirent *item;

        errno = 0;
        item = readdir(dir);
        if (item == NULL) {
            if (errno != 0)
                st = fail_path(err, "read directory", path);
            break;
        }
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
            look(dirfd(dir), item->d_name, &entry))
            st = fn(context, &entry, err);
    }
    closedir(dir);
    return st;
}

enum lmn_status lmn__entry_stat(const char *path, struct lmn__entry *entry_out,
                                struct lmn_error *err)
{
    if (!look(AT_FDCWD, path, entry_out)) {
        *entry_out = (struct lmn__entry){ .kind = LMN__ENTRY_OTHER };
        return fail_path(err, "find", path);
    }
    return LMN_OK;
}

enum lmn_status lmn__entry_make_folder(const char *path, struct lmn_error *err)
{
    struct stat info;

    if (mkdir(path, 0777) == 0)
        return LMN_OK;
    if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return LMN_OK;
    return fail_path(err, "make directory", path);
}

enum lmn_status lmn__entry_make_sealed(const char *path, bool executable,
                                       struct lmn__file *file_out, struct lmn_error *err)
{
    do
        file_out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                            executable ? SEALED_PROGRAM : SEALED);
    while (file_out->fd < 0 && errno == EINTR);
    if (file_out->fd >= 0) {
        lmn__file_count();
        return LMN_OK;
    }
    if (errno == EEXIST)
        return lmn_fail_os(err, LMN_E_EXISTS, errno, "cannot make %s", path);
    return fail_path(err, "make", path);
}
