/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - what an engine and its workers say to each other.
 *
 * Each thread of a worker has a stream of bytes of its own. A frame is
 *
 *   u32  bytes of the message
 *   u8   kind
 *   the message, protobuf
 *
 * The engine sends SETUP once per job, with it the descriptor of a shared page (page.h), and gets a
 * READY. Then it sends TASKs, one at a time; the worker answers with RESULTs, each of which is a
 * receipt for rows from the front of what is left of the task, asks for space with GRANT in
 * between, and ends with DONE or FAILED. During a call it asks with PERMIT for calls that limits
 * have to allow, and is answered at once. Both sides are of one version of this library.
 *
 * Where the worker is on another machine its agent stands in between (agent.c). It connects once
 * for each thread, and its first frame is HELLO, which the engine answers with WELCOME on the
 * connection of thread 0, or with REFUSED. It passes frames on, shows its worker's page with PAGE
 * and what the worker prints with LOG, and when the worker has ended sends what lies on its shelf
 * with BOARD, then DIED; STOP and KILL are for it.
 */
#ifndef LMN_ENGINE_PROTOCOL_H
#define LMN_ENGINE_PROTOCOL_H

#include "base/proto.h"

enum { LMN__PROTOCOL_VERSION = 3, LMN__FRAME_HEAD_BYTES = 5, LMN__FRAME_BYTES_MAX = 1 << 28 };

enum lmn__message_kind {
    /* from the engine */
    LMN__MESSAGE_SETUP = 1,
    LMN__MESSAGE_TASK,
    LMN__MESSAGE_GRANTED,
    /* from the worker */
    LMN__MESSAGE_READY,
    LMN__MESSAGE_GRANT,
    LMN__MESSAGE_RESULT,
    LMN__MESSAGE_DONE,
    LMN__MESSAGE_FAILED,
    /* from the engine to an agent */
    LMN__MESSAGE_STOP, /* of an answer: the task to end after the call that runs */
    LMN__MESSAGE_KILL,
    LMN__MESSAGE_REFUSED, /* an answer */
    /* from an agent */
    LMN__MESSAGE_HELLO,
    LMN__MESSAGE_PAGE,
    LMN__MESSAGE_DIED, /* an answer whose message says how */
    /* from the worker, and from the engine */
    LMN__MESSAGE_PERMIT,
    LMN__MESSAGE_PERMITTED,
    /* from the engine to an agent */
    LMN__MESSAGE_WELCOME,
    /* from an agent */
    LMN__MESSAGE_LOG, /* an answer whose message is what was printed */
    LMN__MESSAGE_BOARD,
    LMN__MESSAGE_KINDS
};

/* A function, and the columns that it fills. */
struct lmn__setup_fill {
    struct lmn__span name;
    struct lmn__span code;
    uint64_t function; /* first 8 bytes of the version hash */
    struct lmn__pb_spans output, input;
    uint32_t batch_rows;
    uint64_t checkpoint_rows;
    struct lmn__span dir; /* of the fill, in the table's store */
    bool metered;         /* calls are asked for */
    bool lazy_blobs;
    bool paid;  /* results are kept before the next call */
    bool again; /* finished rows are computed again */
    bool alone; /* it is set up by one worker of the machine at a time */
};

struct lmn__setup_message {
    uint32_t protocol;
    uint64_t engine_pid;
    uint32_t slot;         /* in the shared page */
    struct lmn__span root; /* the table's folder */
    uint64_t version;      /* of the table, for the schemas */
    bool unsynced;
    struct lmn__pb_list fill; /* struct lmn__setup_fill */
    bool segments;            /* results go to objects of their own; see job/sink.h */
    uint64_t memory_bytes;    /* that the worker may have, for its agent; 0: no limit */
};

struct lmn__task_message {
    uint64_t task;
    uint32_t fill;
    uint64_t version; /* of the table that is read */
    uint64_t fragment_id, layout;
    uint64_t ordinal;          /* of the first row in its unit */
    struct lmn__pb_u64s first; /* physical rows ... */
    struct lmn__pb_u64s count; /* ... in ranges */
    uint64_t batch_rows_max;   /* 0: as the function asks */
    bool gaps_are_dead;
    uint64_t looks; /* another number than before: what is kept is to be looked at again */
    uint64_t since; /* of lmn__journal_since() */
    uint64_t parts; /* of the fragment, that are committed: each had a pages file of its own */
    /* Rows that need not be computed, by rising ordinal: kind and bytes, as the worker gave them.
     */
    struct lmn__pb_u64s saved_ordinal, saved_kind;
    struct lmn__pb_spans saved;
};

struct lmn__grant_message {
    uint32_t file; /* enum lmn__grant_file */
    uint64_t bytes;
};

/* The answer, and that to SETUP: a status, and what comes with it. */
struct lmn__answer_message {
    uint32_t status;
    uint32_t os_errno;
    struct lmn__span message;
    uint64_t position; /* GRANTED */
    uint64_t task;     /* DONE, FAILED */
};

struct lmn__result_message {
    uint64_t task;
    uint64_t ordinal, count;
    uint64_t failed_count;
    uint64_t bytes; /* of the values, about */
    struct lmn__span receipt;
    uint64_t rows_fit; /* see lmn_call_rows_fit(); 0: not said */
};

/* As struct lmn_permit_ask and struct lmn_permit of leman/worker.h. */
struct lmn__permit_message {
    uint64_t calls, tokens, done, charged, used, pause_ms;
};

struct lmn__permitted_message {
    uint64_t calls, tokens_each, wait_ms;
    bool ended;
};

/* Who an agent is, and that it belongs here. */
struct lmn__hello_message {
    uint32_t protocol;
    struct lmn__span token;
    struct lmn__span agent; /* one name on all its connections */
    struct lmn__span node, machine;
    struct lmn__span nonce; /* what it has read beside the job's record */
    uint32_t thread, threads;
};

/* What an agent starts its worker with. */
struct lmn__welcome_message {
    struct lmn__pb_spans variable; /* NAME=value */
};

/* A board of a worker that has ended (shelf.h). */
struct lmn__board_message {
    uint32_t board;
    uint64_t task;
    struct lmn__span items;
};

/* A page (page.h), and its process. */
struct lmn__page_message {
    bool in_call;
    uint64_t in_call_ns; /* since when; clocks of two machines have nothing in common */
    uint64_t call_first, call_count;
    uint64_t rows;
    uint64_t read_ns, call_ns, write_ns;
    uint32_t phase;
    uint64_t memory_bytes, cpu_ns;
    uint64_t calls, tokens, cost_nano;
    uint64_t call_row_id, read_bytes;
    bool warm; /* it has served a job before */
};

extern const struct lmn__pb_message lmn__setup_pb;
extern const struct lmn__pb_message lmn__task_pb;
extern const struct lmn__pb_message lmn__grant_pb;
extern const struct lmn__pb_message lmn__answer_pb;
extern const struct lmn__pb_message lmn__result_pb;
extern const struct lmn__pb_message lmn__permit_pb;
extern const struct lmn__pb_message lmn__permitted_pb;
extern const struct lmn__pb_message lmn__hello_pb;
extern const struct lmn__pb_message lmn__page_pb;
extern const struct lmn__pb_message lmn__welcome_pb;
extern const struct lmn__pb_message lmn__board_pb;

/* A frame that was received; the body is a view. */
struct lmn__frame {
    enum lmn__message_kind kind;
    struct lmn__span body;
};

/*
 * The first frame of `bytes`; frame_out->body.data is NULL when it is not all there yet.
 * *used_out is its length in all.
 *
 * LMN_E_CORRUPT  no frame starts so
 */
LMN_MUST_USE enum lmn_status lmn__frame_parse(struct lmn__span bytes, struct lmn__frame *frame_out,
                                              size_t *used_out, struct lmn_error *err);

/* Append a frame; failure shows in the buffer. */
void lmn__frame_put(struct lmn__buf *buf, enum lmn__message_kind kind,
                    const struct lmn__pb_message *message, const void *in);

/* Append a frame that was received, as it is. */
void lmn__frame_copy(struct lmn__buf *buf, const struct lmn__frame *frame);

/*
 * Decode and check what numbers depend on: a task's ranges are pairs that rise, so are the rows
 * that it need not compute, which are some of its own; the protocol is ours. Views point into the
 * frame.
 */
LMN_MUST_USE enum lmn_status lmn__setup_decode(struct lmn__span body, struct lmn__arena *arena,
                                               struct lmn__setup_message *setup_out,
                                               struct lmn_error *err);
LMN_MUST_USE enum lmn_status lmn__task_decode(struct lmn__span body, struct lmn__arena *arena,
                                              struct lmn__task_message *task_out,
                                              struct lmn_error *err);

/* The version of the protocol is the caller's to check: it has a name to complain with. */
LMN_MUST_USE enum lmn_status lmn__hello_decode(struct lmn__span body, struct lmn__arena *arena,
                                               struct lmn__hello_message *hello_out,
                                               struct lmn_error *err);

/* Each variable has a name, and is a text. */
LMN_MUST_USE enum lmn_status lmn__welcome_decode(struct lmn__span body, struct lmn__arena *arena,
                                                 struct lmn__welcome_message *welcome_out,
                                                 struct lmn_error *err);

/* What an error says, as an answer; views point into *err. And back: the status. */
struct lmn__answer_message lmn__answer_of(const struct lmn_error *err);
enum lmn_status lmn__answer_error(const struct lmn__answer_message *answer, struct lmn_error *err);

#endif
