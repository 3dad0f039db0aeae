/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webdataset.h - a WebDataset as its files share it. After it is opened it does not change.
 */
#ifndef LMN_INGEST_WEBDATASET_H
#define LMN_INGEST_WEBDATASET_H

#include <stdatomic.h>

#include <leman/webdataset.h>

#include "base/arena.h"
#include "ingest/tar.h"

enum lmn__sample_kind {
    LMN__SAMPLE_KEY,
    LMN__SAMPLE_SHARD,
    LMN__SAMPLE_BYTES,     /* the member as it is */
    LMN__SAMPLE_REFERENCE, /* where the member lies */
    LMN__SAMPLE_TEXT,      /* the member read as text */
    LMN__SAMPLE_JSON,      /* the member's value */
    LMN__SAMPLE_JSON_FIELD /* a field of the member, an object */
};

/* What fills a column. */
struct lmn__sample_column {
    const char *name;
    const char *extension; /* of the member; NULL: KEY, SHARD */
    const char *member;    /* JSON_FIELD: the field */
    enum lmn__sample_kind kind;
    bool optional;
    bool typed; /* a type is given; then it stands in `type` */
    struct ArrowSchema type;
};

struct lmn_webdataset {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env;     /* counted */
    struct lmn__arena arena; /* of names and columns */
    const char **shard;
    uint64_t shard_count;
    char *name; /* of the whole */
    struct lmn__sample_column *column;
    uint32_t column_count;
    struct ArrowSchema schema; /* a struct of the columns */
    bool given;                /* the caller named the columns: other fields are no concern */
    struct lmn_webdataset_options options;
};

void lmn__webdataset_release(struct lmn_webdataset *dataset);

/* What a member of a shard is to a sample. */
struct lmn__sample_name {
    struct lmn__span key;
    struct lmn__span extension;
};

/* Part a member's name; false when it has no extension, or is meant for other readers. */
bool lmn__sample_name(struct lmn__span name, struct lmn__sample_name *name_out);

/* What a column of a field is called, which has no dots; in the dataset's arena. NULL: no memory.
 */
const char *lmn__sample_column_name(struct lmn_webdataset *dataset, const char *field);

/*
 * May both be columns of one dataset? A member is read once: for one column, or for several of its
 * JSON fields.
 */
LMN_MUST_USE enum lmn_status lmn__sample_check_pair(const struct lmn__sample_column *a,
                                                    const struct lmn__sample_column *b,
                                                    struct lmn_error *err);

/* Is this the extension `text`, which is in lower case? */
bool lmn__sample_is(struct lmn__span extension, const char *text);

/*
 * Take the columns from the first samples, and make the schema.
 */
LMN_MUST_USE enum lmn_status lmn__webdataset_sample(struct lmn_webdataset *dataset,
                                                    struct lmn_error *err);

/* Does the way a problem is handled allow to go on after this status? */
bool lmn__webdataset_goes_on(const struct lmn_webdataset *dataset, enum lmn_status status);

/* Tell the caller of a problem. */
void lmn__webdataset_report(const struct lmn_webdataset *dataset,
                            const struct lmn_problem *problem);

#endif
