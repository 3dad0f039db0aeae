/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is one member or several, one behind the other, each with a checksum at its end; zeros may
 * follow the last. The stream is either inside of a member or between two.
 */
#include "ingest/gzip.h"

#include "base/math.h"
#include "os/library.h"

enum {
    INPUT_BYTES = 64 << 10,
    SCRAP_BYTES = 16 << 10,
    OUTPUT_BYTES_MAX = 1 << 30,
    WINDOW_OF_GZIP = 15 + 16, /* the largest window, and gzip's header */
    Z_DONE = 0,
    Z_MEMBER_END = 1,
    Z_NO_MEMORY = -4,
    Z_NO_FLUSH = 0
};

/* z_stream, as zlib.h lays it out. */
struct stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*alloc)(void *self, unsigned count, unsigned bytes);
    void (*free)(void *self, void *memory);
    void *self;
    int data_type;
    unsigned long checksum, reserved;
};

/* The functions of libz that are used, as zlib.h declares them. */
typedef int (*init_fn)(struct stream *stream, int window, const char *version, int stream_bytes);
typedef int (*inflate_fn)(struct stream *stream, int flush);
typedef int (*stream_fn)(struct stream *stream);

struct lmn__gzip {
    struct lmn_env *env;
    struct lmn__source *source;
    struct stream stream;
    inflate_fn inflate;
    stream_fn reset, end;
    bool inside; /* of a member */
    bool ended;
    uint8_t input[INPUT_BYTES];
};

bool lmn__gzip_starts(struct lmn__span start)
{
    return start.len >= 2 && start.data[0] == 0x1f && start.data[1] == 0x8b;
}

static void *stream_alloc(void *self, unsigned count, unsigned bytes)
{
    return lmn__calloc(self, count, bytes);
}

static void stream_free(void *self, void *memory)
{
    lmn__free(self, memory);
}

static enum lmn_status start_stream(struct lmn__gzip *gzip, struct lmn_error *err)
{
    static const char library[] = "libz.so.1", version[] = "1.2.11"; /* its first digit counts */
    init_fn init = (init_fn)lmn__library_symbol(library, "inflateInit2_");
    stream_fn end = (stream_fn)lmn__library_symbol(library, "inflateEnd");
    int code;

    gzip->inflate = (inflate_fn)lmn__library_symbol(library, "inflate");
    gzip->reset = (stream_fn)lmn__library_symbol(library, "inflateReset");
    if (init == NULL || end == NULL || gzip->inflate == NULL || gzip->reset == NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "%.200s is compressed with gzip, and its library %s is not on this machine",
                        gzip->source->name, library);
    gzip->stream = (struct stream){ .alloc = stream_alloc, .free = stream_free, .self = gzip->env };
    code = init(&gzip->stream, WINDOW_OF_GZIP, version, (int)sizeof gzip->stream);
    if (code == Z_NO_MEMORY)
        return lmn__no_memory(err, "a gzip stream", 0);
    if (code != Z_DONE)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "%s does not start: %d", library, code);
    gzip->end = end;
    return LMN_OK;
}

enum lmn_status lmn__gzip_new(struct lmn_env *env, struct lmn__source *source,
                              struct lmn__gzip **gzip_out, struct lmn_error *err)
{
    struct lmn__gzip *gzip = lmn__calloc(env, 1, sizeof *gzip);
    enum lmn_status st;

    *gzip_out = NULL;
    if (gzip == NULL)
        return lmn__no_memory(err, "a gzip stream", sizeof *gzip);
    gzip->env = env;
    gzip->source = source;
    st = start_stream(gzip, err);
    if (st == LMN_OK)
        *gzip_out = gzip;
    else
        lmn__gzip_free(gzip);
    return st;
}

void lmn__gzip_free(struct lmn__gzip *gzip)
{
    if (gzip == NULL)
        return;
    if (gzip->end != NULL)
        gzip->end(&gzip->stream);
    lmn__free(gzip->env, gzip);
}

static enum lmn_status damaged(const struct lmn__gzip *gzip, const char *what,
                               struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "%.200s: compressed with gzip: %s at offset %llu",
                    gzip->source->name, what,
                    (unsigned long long)(gzip->source->position - gzip->stream.avail_in));
}

/* Have some input; none is left at the end of the source. */
static enum lmn_status refill(struct lmn__gzip *gzip, struct lmn_error *err)
{
    size_t got = 0;
    enum lmn_status st = LMN_OK;

    if (gzip->stream.avail_in != 0)
        return LMN_OK;
    st = lmn__source_read(gzip->source, gzip->input, INPUT_BYTES, &got, err);
    gzip->stream.next_in = gzip->input;
    gzip->stream.avail_in = (unsigned)got;
    return st;
}

/* Between two members: begin the next one, or find that there is none. */
static enum lmn_status start_member(struct lmn__gzip *gzip, struct lmn_error *err)
{
    struct stream *stream = &gzip->stream;

    if (stream->avail_in == 0) {
        gzip->ended = true;
    } else if (*stream->next_in == 0) {
        stream->next_in++;
        stream->avail_in--;
    } else if (*stream->next_in == 0x1f) {
        gzip->inside = true;
        gzip->reset(stream);
    } else {
        return damaged(gzip, "other bytes follow", err);
    }
    return LMN_OK;
}

static enum lmn_status inflate_some(struct lmn__gzip *gzip, uint8_t *data, size_t len,
                                    size_t *got_out, struct lmn_error *err)
{
    struct stream *stream = &gzip->stream;
    unsigned room = (unsigned)lmn__min_u64(len, OUTPUT_BYTES_MAX);
    int code;

    *got_out = 0;
    if (stream->avail_in == 0)
        return damaged(gzip, "the file ends inside of it", err);
    stream->next_out = data;
    stream->avail_out = room;
    code = gzip->inflate(stream, Z_NO_FLUSH);
    *got_out = room - stream->avail_out;
    if (code == Z_MEMBER_END)
        gzip->inside = false;
    else if (code == Z_NO_MEMORY)
        return lmn__no_memory(err, "a gzip stream", 0);
    else if (code != Z_DONE)
        return damaged(gzip, stream->message != NULL ? stream->message : "no such data", err);
    return LMN_OK;
}

enum lmn_status lmn__gzip_read(struct lmn__gzip *gzip, void *data, size_t len, size_t *got_out,
                               struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *got_out = 0;
    while (st == LMN_OK && *got_out < len && !gzip->ended) {
        size_t got = 0;

        st = refill(gzip, err);
        if (st == LMN_OK && gzip->inside)
            st = inflate_some(gzip, (uint8_t *)data + *got_out, len - *got_out, &got, err);
        else if (st == LMN_OK)
            st = start_member(gzip, err);
        *got_out += got;
    }
    /* What came before the damage is good; the next read meets the damage again. */
    return st == LMN_E_CORRUPT && *got_out != 0 ? LMN_OK : st;
}

enum lmn_status lmn__gzip_skip(struct lmn__gzip *gzip, uint64_t len, uint64_t *got_out,
                               struct lmn_error *err)
{
    uint8_t scrap[SCRAP_BYTES];
    enum lmn_status st = LMN_OK;

    *got_out = 0;
    while (st == LMN_OK && *got_out < len && !gzip->ended) {
        size_t got = 0;

        st = lmn__gzip_read(gzip, scrap, lmn__min_u64(len - *got_out, sizeof scrap), &got, err);
        *got_out += got;
    }
    return st;
}
