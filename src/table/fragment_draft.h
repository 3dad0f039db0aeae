/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment_draft.h - the fragments of a version in the making.
 *
 * Fragments of the newest version are copied as bytes unless the change is about them. Their order
 * is that of their ids when the draft is finished. It lies in the arena of the version.
 */
#ifndef LMN_TABLE_FRAGMENT_DRAFT_H
#define LMN_TABLE_FRAGMENT_DRAFT_H

#include "table/apply.h"

/* A fragment, encoded. */
struct lmn__fragment_entry {
    uint64_t id;
    struct lmn__span bytes;
};

struct lmn__fragment_draft {
    struct lmn__fragment_entry *entry; /* of the next version */
    uint64_t count;
    struct lmn__fragment_entry *base; /* the newest version's, by rising id */
    uint64_t base_count;
    struct lmn__fragment_entry *read; /* the same of the version that the change was made against */
    uint64_t read_count;
    uint64_t *removed; /* ids, for the transaction */
    uint64_t removed_count;
    struct lmn__pb_fragment *updated; /* for the transaction */
    uint64_t updated_count;
};

/* List what is there, and make room for every fragment that the next version could have. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_init(struct lmn__next *next,
                                                      struct lmn__fragment_draft *draft,
                                                      struct lmn_error *err);

/* A fragment as the newest version has it. */
void lmn__fragment_draft_keep(struct lmn__fragment_draft *draft,
                              const struct lmn__fragment_entry *entry);

/* All fragments of the newest version but those in `id`, which is sorted here. */
void lmn__fragment_draft_keep_others(struct lmn__fragment_draft *draft, uint64_t *id,
                                     uint64_t count);

/* A fragment that has its id. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_put(struct lmn__next *next,
                                                     struct lmn__fragment_draft *draft,
                                                     const struct lmn__pb_fragment *fragment,
                                                     struct lmn_error *err);

/* A fragment that gets the next id, and its rows theirs; `changed`: they were there before. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_add(struct lmn__next *next,
                                                     struct lmn__fragment_draft *draft,
                                                     const struct lmn__pb_fragment *added,
                                                     bool changed, struct lmn_error *err);

/* Rows that have no id yet get the next ones; all rows say which version made or changed them. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_number(struct lmn__next *next,
                                                        struct lmn__pb_fragment *fragment,
                                                        bool changed, struct lmn_error *err);

/*
 * The fragment as it is now.
 *
 * LMN_E_CONFLICT  it is gone, or has other files than the change has read
 */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_current(struct lmn__next *next,
                                                         const struct lmn__fragment_draft *draft,
                                                         uint64_t id,
                                                         struct lmn__pb_fragment *fragment_out,
                                                         struct lmn_error *err);

/* LMN_E_CONFLICT when the fragment is not as it was when the change read it, to the byte. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_check(struct lmn__next *next,
                                                       const struct lmn__fragment_draft *draft,
                                                       uint64_t id, struct lmn_error *err);

/*
 * The rows of `touched`, which stay in their fragment, are of the next version.
 *
 * LMN_E_CONFLICT  one of them is deleted
 */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_stamp(struct lmn__next *next,
                                                       const struct lmn__touched *touched,
                                                       struct lmn__pb_fragment *fragment,
                                                       struct lmn_error *err);

/* Delete the rows that the change touches; a fragment without live rows goes. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_touch(struct lmn__next *next,
                                                       struct lmn__fragment_draft *draft,
                                                       struct lmn_error *err);

/* Give the fragments to next->pb. */
LMN_MUST_USE enum lmn_status lmn__fragment_draft_finish(struct lmn__next *next,
                                                        struct lmn__fragment_draft *draft,
                                                        struct lmn_error *err);

/* Leave out the files of a fragment that hold no field of the schema. False: all stay. */
bool lmn__fragment_drop_dead_files(const struct lmn__pb_list *fields,
                                   struct lmn__pb_fragment *fragment);

bool lmn__fragment_same_files(const struct lmn__pb_fragment *a, const struct lmn__pb_fragment *b);

/* LMN_E_CONFLICT: "fragment <id> was <how> since version N"; the change is made again. */
enum lmn_status lmn__fragment_overtaken(struct lmn__next *next, uint64_t id, const char *how,
                                        struct lmn_error *err);

#endif
