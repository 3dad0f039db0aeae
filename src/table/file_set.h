/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set.h - the open data files of a table, shared by its scans and kept while they are few.
 *
 * Usable from many threads. Data files never change, so one that is open serves every version. What
 * is kept of their pages has one limit for all of them.
 */
#ifndef LMN_TABLE_FILE_SET_H
#define LMN_TABLE_FILE_SET_H

#include "format/file.h"
#include "table/deletion.h"
#include "table/manifest.h"

struct lmn__file_set;

/* `store` is the table's directory. The caller frees the set. */
LMN_MUST_USE enum lmn_status lmn__file_set_new(struct lmn_store *store, uint32_t open_max,
                                               struct lmn__file_set **set_out,
                                               struct lmn_error *err);
/* NULL is ignored. Files that are still referenced live on. */
void lmn__file_set_free(struct lmn__file_set *set);

/*
 * Open a data file of a fragment of `manifest`, whose base paths it may name. The caller releases
 * *file_out.
 *
 * LMN_E_NOT_FOUND  the file is gone with the version, by a cleanup, or with the table
 * LMN_E_CORRUPT    it is gone though the version is there, has another size than the manifest says,
 *                  or does not decode
 */
LMN_MUST_USE enum lmn_status lmn__file_set_open(struct lmn__file_set *set,
                                                const struct lmn__manifest *manifest,
                                                const struct lmn__pb_data_file *data_file,
                                                struct lmn_file **file_out, struct lmn_error *err);

/* The store of a base path, or the table's own; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__file_set_store(struct lmn__file_set *set,
                                                 const struct lmn__manifest *manifest,
                                                 bool has_base, uint32_t base,
                                                 struct lmn_store **store_out,
                                                 bool *is_table_root_out, struct lmn_error *err);

/* Which rows of a fragment of `manifest` are deleted, as lmn__deletion_read(); a file that is gone
 * is answered as above. */
LMN_MUST_USE enum lmn_status lmn__file_set_deletion(struct lmn__file_set *set,
                                                    const struct lmn__manifest *manifest,
                                                    const struct lmn__pb_fragment *fragment,
                                                    struct lmn__deletion *deletion_out,
                                                    struct lmn_error *err);

#endif
