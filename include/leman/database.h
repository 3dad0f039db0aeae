/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database.h - a directory of tables, as LanceDB lays them out: `name`.lance each.
 */
#ifndef LEMAN_DATABASE_H
#define LEMAN_DATABASE_H

#include <leman/table.h>

/*
 * The names of the tables in directory `root`, sorted; none when there is no such directory. `env`
 * may be NULL. The caller frees the list.
 *
 * LMN_E_INVALID  `root` is a file
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_database_list(struct lmn_env *env, const char *root,
                                                       struct lmn_name_list *list_out,
                                                       struct lmn_error *err);

/*
 * A store whose root is the directory of table `name`, for lmn_table_open() and
 * lmn_table_create(). The caller releases it.
 *
 * LMN_E_INVALID  a name that is no file name, or an empty root
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_database_store(struct lmn_env *env, const char *root,
                                                        const char *name,
                                                        struct lmn_store **store_out,
                                                        struct lmn_error *err);

/* Remove a table with all its versions. LMN_E_NOT_FOUND when there is none of that name. */
LMN_API LMN_MUST_USE enum lmn_status lmn_database_drop(struct lmn_env *env, const char *root,
                                                       const char *name, struct lmn_error *err);

/* Give a table another name. LMN_E_EXISTS when that is taken. */
LMN_API LMN_MUST_USE enum lmn_status lmn_database_rename(struct lmn_env *env, const char *root,
                                                         const char *from, const char *to,
                                                         struct lmn_error *err);

#endif
