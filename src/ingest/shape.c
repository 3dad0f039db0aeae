/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/shape.h"

#include <nanoarrow/nanoarrow.h>

#include "base/hash.h"
#include "ingest/text.h"

enum { MICRO_DIGITS = 6, BUCKETS_FIRST = 16 };

static enum lmn__shape_kind join(enum lmn__shape_kind a, enum lmn__shape_kind b)
{
    enum lmn__shape_kind low = a < b ? a : b, high = a < b ? b : a;

    if (low == high || low == LMN__SHAPE_NULL)
        return high;
    if (low == LMN__SHAPE_INT && high == LMN__SHAPE_FLOAT)
        return LMN__SHAPE_FLOAT;
    if (low == LMN__SHAPE_DATE && high == LMN__SHAPE_TIMESTAMP)
        return LMN__SHAPE_TIMESTAMP;
    return LMN__SHAPE_TEXT;
}

bool lmn__shape_join(struct lmn__shape *shape, enum lmn__shape_kind kind)
{
    enum lmn__shape_kind high = shape->kind > kind ? shape->kind : kind;

    if (high >= LMN__SHAPE_LIST && shape->kind != kind && kind != LMN__SHAPE_NULL &&
        shape->kind != LMN__SHAPE_NULL)
        return false;
    shape->kind = join(shape->kind, kind);
    return true;
}

static void join_moment(struct lmn__shape *shape, const struct lmn__moment *moment)
{
    bool first = shape->kind == LMN__SHAPE_NULL;
    bool same = first || (shape->kind == LMN__SHAPE_DATE && !moment->zoned) ||
                (shape->kind == LMN__SHAPE_TIMESTAMP && shape->zoned == moment->zoned);

    shape->kind = same ? LMN__SHAPE_TIMESTAMP : LMN__SHAPE_TEXT;
    shape->zoned = moment->zoned;
    shape->nanos = shape->nanos || moment->digits > MICRO_DIGITS;
}

/* Note an integer of 64 bits. False: the text is none. */
static bool note_integer(struct lmn__shape *shape, struct lmn__span text)
{
    uint64_t large;
    int64_t integer;

    if (lmn__text_int(text, &integer))
        shape->negative |= integer < 0;
    else if (lmn__text_uint(text, &large))
        shape->large = true;
    else
        return false;
    return true;
}

bool lmn__shape_join_number(struct lmn__shape *shape, struct lmn__span text)
{
    bool fits = note_integer(shape, text) && !(shape->negative && shape->large);

    return lmn__shape_join(shape, fits ? LMN__SHAPE_INT : LMN__SHAPE_FLOAT);
}

/* A number of CSV that is no integer; an integer of too many digits would lose some as a float. */
static void join_float(struct lmn__shape *shape, struct lmn__span text)
{
    bool whole = true;

    for (size_t i = 0; i < text.len; i++)
        whole = whole && (text.data[i] == '-' || (text.data[i] >= '0' && text.data[i] <= '9'));
    (void)lmn__shape_join(shape, whole || shape->large ? LMN__SHAPE_TEXT : LMN__SHAPE_FLOAT);
}

static void join_integer(struct lmn__shape *shape)
{
    bool lost = shape->large && (shape->negative || shape->kind == LMN__SHAPE_FLOAT);

    (void)lmn__shape_join(shape, lost ? LMN__SHAPE_TEXT : LMN__SHAPE_INT);
}

void lmn__shape_join_text(struct lmn__shape *shape, struct lmn__span text)
{
    struct lmn__moment moment;
    double real;
    int32_t days;
    bool flag;

    if (shape->kind == LMN__SHAPE_TEXT)
        return;
    text = lmn__text_trim(text);
    if (note_integer(shape, text)) {
        join_integer(shape);
    } else if (lmn__text_moment(text, &moment)) {
        join_moment(shape, &moment);
    } else if (lmn__text_date(text, &days)) {
        (void)lmn__shape_join(shape, shape->kind == LMN__SHAPE_TIMESTAMP && shape->zoned
                                         ? LMN__SHAPE_TEXT
                                         : LMN__SHAPE_DATE);
    } else if (lmn__text_bool(text, &flag)) {
        (void)lmn__shape_join(shape, LMN__SHAPE_BOOL);
    } else if (lmn__text_float(text, &real)) {
        join_float(shape, text);
    } else {
        (void)lmn__shape_join(shape, LMN__SHAPE_TEXT);
    }
}

static struct lmn__shape **bucket_of(const struct lmn__shape *shape, const char *name, size_t len)
{
    return &shape->bucket[lmn__hash64(len != 0 ? name : "", len) & (shape->bucket_count - 1)];
}

static void enter(struct lmn__shape *shape, struct lmn__shape *child)
{
    struct lmn__shape **bucket = bucket_of(shape, child->name, strlen(child->name));

    child->same = *bucket;
    *bucket = child;
}

/* Keep as many buckets as fields at least; a few fields need none. */
static bool make_buckets(struct lmn__shape *shape, struct lmn__arena *arena)
{
    uint32_t count = shape->bucket_count != 0 ? shape->bucket_count * 4 : BUCKETS_FIRST;

    if (shape->child_count < BUCKETS_FIRST || shape->child_count <= shape->bucket_count)
        return true;
    shape->bucket = lmn__arena_array(arena, count, sizeof(struct lmn__shape *));
    if (shape->bucket == NULL)
        return false;
    memset(shape->bucket, 0, count * sizeof(struct lmn__shape *));
    shape->bucket_count = count;
    for (struct lmn__shape *child = shape->child; child != NULL; child = child->sibling)
        enter(shape, child);
    return true;
}

struct lmn__shape *lmn__shape_add(struct lmn__shape *shape, struct lmn__arena *arena,
                                  struct lmn__span name)
{
    struct lmn__shape *child = lmn__arena_alloc(arena, sizeof *child);

    if (child == NULL)
        return NULL;
    child->name = lmn__arena_strndup(arena, name.data, name.len);
    if (child->name == NULL)
        return NULL;
    if (shape->last != NULL)
        shape->last->sibling = child;
    else
        shape->child = child;
    shape->last = child;
    child->index = shape->child_count++;
    if (shape->bucket != NULL)
        enter(shape, child);
    return make_buckets(shape, arena) ? child : NULL;
}

struct lmn__shape *lmn__shape_find(const struct lmn__shape *shape, struct lmn__span name)
{
    bool hashed = shape->bucket != NULL;
    struct lmn__shape *child = hashed ? *bucket_of(shape, (const char *)name.data, name.len)
                                      : shape->child;

    while (child != NULL &&
           (strlen(child->name) != name.len || memcmp(child->name, name.data, name.len) != 0))
        child = hashed ? child->same : child->sibling;
    return child;
}

static int set_type(const struct lmn__shape *shape, struct ArrowSchema *schema)
{
    switch (shape->kind) {
    case LMN__SHAPE_NULL:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_NA);
    case LMN__SHAPE_BOOL:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_BOOL);
    case LMN__SHAPE_INT:
        return ArrowSchemaSetType(schema,
                                  shape->large ? NANOARROW_TYPE_UINT64 : NANOARROW_TYPE_INT64);
    case LMN__SHAPE_FLOAT:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_DOUBLE);
    case LMN__SHAPE_DATE:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_DATE32);
    case LMN__SHAPE_TIMESTAMP:
        return ArrowSchemaSetTypeDateTime(schema, NANOARROW_TYPE_TIMESTAMP,
                                          shape->nanos ? NANOARROW_TIME_UNIT_NANO
                                                       : NANOARROW_TIME_UNIT_MICRO,
                                          shape->zoned ? "UTC" : NULL);
    case LMN__SHAPE_TEXT:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_STRING);
    case LMN__SHAPE_LIST:
        return ArrowSchemaSetType(schema, NANOARROW_TYPE_LIST);
    case LMN__SHAPE_STRUCT:
        break;
    }
    return ArrowSchemaSetTypeStruct(schema, shape->child_count);
}

static int schema_fill(const struct lmn__shape *shape, struct ArrowSchema *schema)
{
    struct lmn__shape nothing = { 0 };
    int64_t i = 0;
    int rc = set_type(shape, schema);

    if (rc != NANOARROW_OK)
        return rc;
    if (shape->kind == LMN__SHAPE_LIST)
        return schema_fill(shape->child != NULL ? shape->child : &nothing, schema->children[0]);
    if (shape->kind != LMN__SHAPE_STRUCT)
        return NANOARROW_OK;
    for (const struct lmn__shape *child = shape->child; child != NULL; child = child->sibling) {
        struct ArrowSchema *field = schema->children[i++];

        rc = schema_fill(child, field);
        if (rc == NANOARROW_OK)
            rc = ArrowSchemaSetName(field, child->name);
        if (rc != NANOARROW_OK)
            return rc;
    }
    return NANOARROW_OK;
}

enum lmn_status lmn__shape_schema(const struct lmn__shape *shape, struct ArrowSchema *schema_out,
                                  struct lmn_error *err)
{
    ArrowSchemaInit(schema_out);
    if (schema_fill(shape, schema_out) == NANOARROW_OK &&
        ArrowSchemaSetName(schema_out, "") == NANOARROW_OK)
        return LMN_OK;
    ArrowSchemaRelease(schema_out);
    return lmn__no_memory(err, "a schema", 0);
}
