/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meanwhile.h - a table of keyed rows in whose operations others intervene.
 */
#ifndef LMN_TESTS_MEANWHILE_H
#define LMN_TESTS_MEANWHILE_H

#include "keyed_rows.h"
#include "stores.h"

extern const struct keyed_row base_row[];
enum { BASE_ROWS = 4 };

/* What others do while the manifest of an operation gets its name, once. */
struct meanwhile {
    struct lmn_store *inner;
    void (*others)(struct lmn_table *table);
    enum lmn__store_op op; /* before which they do it, in this folder */
    const char *folder;
    struct lmn_table *same; /* the handle that they do it with; NULL: one of their own */
    uint64_t files;         /* data files that are begun */
};

/* A table whose next commit is overtaken. `others` may be NULL, and be set later. */
struct lmn_table *meanwhile_table(struct meanwhile *meanwhile,
                                  void (*others)(struct lmn_table *table));
/* The same of other rows, as many. */
struct lmn_table *meanwhile_table_of(const struct keyed_row *row, struct meanwhile *meanwhile,
                                     void (*others)(struct lmn_table *table));

/* Fails the test when the others have not had their turn. */
void meanwhile_free(struct lmn_table *table, struct meanwhile *meanwhile);

/* Appends the row 5. */
void append_five(struct lmn_table *table);

/* The next version is made, and one more, and only the last one is left. */
void append_and_clean(struct lmn_table *table);

/* The rows of the version that was read are in other files. */
void compact_and_clean(struct lmn_table *table);

/* Appends the row 6. */
enum lmn_status append_six(struct lmn_table *table, struct lmn_error *err);

#endif
