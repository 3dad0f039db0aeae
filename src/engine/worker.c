/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of a worker: frames in, frames out. SETUP may come again, for the next job: everything
 * of the one before is closed first; what the operations keep of a function is their business.
 */
#include <leman/worker.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/serving.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "os/lease.h"
#include "os/process.h"
#include "table/field_names.h"

enum { TURN_WAIT_NS = 20000000 };

static void close_fills(struct lmn__serving *serving)
{
    for (uint32_t i = 0; i < serving->fill_count; i++) {
        struct lmn__serving_fill *fill = &serving->fill[i];

        lmn__page_sink_close(fill->sink);
        lmn__kept_close(fill->kept);
        if (fill->kept_schema.release != NULL)
            fill->kept_schema.release(&fill->kept_schema);
        lmn__inputs_close(&fill->inputs);
        lmn__outputs_close(&fill->outputs);
        fill->sink = NULL;
        fill->kept = NULL;
        fill->open = false;
    }
}

static void forget_job(struct lmn__serving *serving)
{
    close_fills(serving);
    serving->fill_count = 0;
    lmn__manifest_release(serving->named);
    serving->named = NULL;
    lmn_table_release(serving->table);
    serving->table = NULL;
    lmn_store_release(serving->store);
    serving->store = NULL;
    serving->loaded = UINT32_MAX;
    lmn__shared_close(&serving->shared);
    serving->page = NULL;
    lmn__arena_deinit(&serving->arena);
    lmn__arena_init(&serving->arena, serving->env, 0);
}

static enum lmn_status open_version(struct lmn__serving *serving, uint64_t version,
                                    struct lmn_error *err)
{
    const struct lmn_table_options options = { .version = version };
    enum lmn_status st;

    if (serving->table != NULL && lmn_table_version(serving->table) == version)
        return LMN_OK;
    close_fills(serving);
    lmn_table_release(serving->table);
    st = lmn_table_open(serving->store, &options, &serving->table, err);
    if (st == LMN_OK && serving->named == NULL)
        serving->named = lmn__table_manifest(serving->table);
    return st;
}

/* A lmn__grant_fn. */
static enum lmn_status ask_for_space(void *context, enum lmn__grant_file file, uint64_t bytes,
                                     uint64_t *position_out, struct lmn_error *err)
{
    struct lmn__serving *serving = context;
    struct lmn__grant_message grant = { .file = file, .bytes = bytes };
    struct lmn__answer_message answer = { 0 };
    struct lmn__arena arena;
    struct lmn__frame frame;
    enum lmn_status st = lmn__channel_put(&serving->channel, LMN__MESSAGE_GRANT, &lmn__grant_pb,
                                          &grant, err);

    *position_out = 0;
    if (st == LMN_OK)
        st = lmn__channel_flush(&serving->channel, true, err);
    if (st == LMN_OK)
        st = lmn__channel_wait(&serving->channel, &frame, err);
    if (st != LMN_OK)
        return st;
    if (frame.body.data == NULL || frame.kind != LMN__MESSAGE_GRANTED)
        return lmn_fail(err, LMN_E_IO, "the engine is gone");
    lmn__arena_init(&arena, serving->env, 0);
    st = lmn__pb_decode(&lmn__answer_pb, frame.body, &arena, &answer, err);
    if (st == LMN_OK)
        st = lmn__answer_error(&answer, err);
    *position_out = answer.position;
    lmn__arena_deinit(&arena);
    return st;
}

/* What the function reads and fills, whatever it is called in the version of the task. */
static enum lmn_status open_columns(struct lmn__serving *serving, struct lmn__serving_fill *fill,
                                    struct lmn_error *err)
{
    const struct lmn__setup_fill *setup = fill->setup;
    uint32_t input_count = (uint32_t)setup->input.count;
    uint32_t output_count = (uint32_t)setup->output.count;
    struct lmn__manifest *manifest = lmn__table_manifest(serving->table);
    const char *const *input, *const *output;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, serving->env, 0);
    st = lmn__field_names_follow(serving->named, manifest, fill->input, input_count, &arena, &input,
                                 err);
    if (st == LMN_OK)
        st = lmn__field_names_follow(serving->named, manifest, fill->output, output_count, &arena,
                                     &output, err);
    if (st == LMN_OK)
        st = lmn__inputs_open(&fill->inputs, serving->table, input, input_count,
                              setup->lazy_blobs ? LMN__INPUT_BLOBS_LAZY : LMN__INPUT_BLOBS_WHOLE,
                              err);
    if (st == LMN_OK)
        st = lmn__outputs_open(&fill->outputs, serving->table, output, output_count,
                               setup->function, err);
    if (st == LMN_OK)
        st = lmn__outputs_rename(&fill->outputs, output, fill->output, err);
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
    return st;
}

static enum lmn_status open_fill(struct lmn__serving *serving, struct lmn__serving_fill *fill,
                                 struct lmn_error *err)
{
    const struct lmn__setup_fill *setup = fill->setup;
    const char *dir = lmn__arena_strndup(&serving->arena, setup->dir.data, setup->dir.len);
    enum lmn_status st;

    if (dir == NULL)
        return lmn__arena_fail(&serving->arena, "the folder of a fill", err);
    st = open_columns(serving, fill, err);
    if (st == LMN_OK) {
        struct lmn__page_sink_options options = {
            .store = serving->store,
            .dir = dir,
            .schema = &fill->outputs.all,
            .file_version = fill->outputs.file_version,
            .grant = ask_for_space,
            .context = serving,
            .unsynced = serving->setup.unsynced,
            .segments = serving->setup.segments,
        };

        st = lmn__page_sink_open(&options, &fill->sink, err);
    }
    if (st == LMN_OK && setup->paid)
        st = lmn__kept_schema(&fill->outputs.values, &fill->kept_schema, err);
    if (st == LMN_OK && setup->paid) {
        struct lmn__kept_options options = { .store = serving->store,
                                             .dir = dir,
                                             .schema = &fill->kept_schema,
                                             .unsynced = serving->setup.unsynced,
                                             .again = setup->again };

        st = lmn__kept_open(&options, &fill->kept, err);
    }
    fill->open = st == LMN_OK;
    return st;
}

/*
 * Wait until no other worker of this machine sets up a function that takes turns: models that are
 * loaded together need all of their memory together. Without a folder for state there are no turns.
 */
static void take_turn(struct lmn__serving *serving, struct lmn__lease *lease_out)
{
    char state[LMN__HOST_PATH_CHARS], path[LMN__HOST_PATH_CHARS + 16];
    struct lmn_error ignored;
    enum lmn_status st;

    *lease_out = (struct lmn__lease){ -1 };
    lmn__host_state_dir(state);
    if (state[0] == '\0' || lmn__dir_make(state, &ignored) != LMN_OK)
        return;
    snprintf(path, sizeof path, "%s/setup", state);
    atomic_store(&serving->page->phase, LMN__PHASE_TURN);
    do {
        st = lmn__lease_take(path, "setup", lease_out, &ignored);
        if (st == LMN_E_UNAVAILABLE)
            lmn__clock_wait_ns(TURN_WAIT_NS);
    } while (st == LMN_E_UNAVAILABLE);
}

enum lmn_status lmn__serving_load(struct lmn__serving *serving, uint32_t fill,
                                  struct lmn_error *err)
{
    const struct lmn__setup_fill *setup = serving->fill[fill].setup;
    struct lmn__lease turn = { -1 };
    enum lmn_status st;

    if (serving->loaded == fill)
        return LMN_OK;
    serving->loaded = UINT32_MAX;
    if (setup->alone)
        take_turn(serving, &turn);
    atomic_store(&serving->page->phase, LMN__PHASE_SETUP);
    st = serving->ops->setup(serving->ops->context,
                             setup->code.data != NULL ? (const void *)setup->code.data : "",
                             setup->code.len, err);
    lmn__lease_give(&turn, NULL);
    atomic_store(&serving->page->phase, LMN__PHASE_IDLE);
    if (st == LMN_OK)
        serving->loaded = fill;
    else
        lmn__fail_within(err, st, "function \"%.*s\"", (int)setup->name.len,
                         (const char *)setup->name.data);
    return st;
}

enum lmn_status lmn__serving_enter(struct lmn__serving *serving, uint32_t fill, uint64_t version,
                                   struct lmn_error *err)
{
    enum lmn_status st;

    if (serving->page == NULL || fill >= serving->fill_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a task of function %u, of which there are %u", fill,
                        serving->fill_count);
    st = open_version(serving, version, err);
    if (st == LMN_OK && !serving->fill[fill].open)
        st = open_fill(serving, &serving->fill[fill], err);
    return st == LMN_OK ? lmn__serving_load(serving, fill, err) : st;
}

static enum lmn_status copy_names(struct lmn__arena *arena, const struct lmn__pb_spans *spans,
                                  const char ***name_out, struct lmn_error *err)
{
    const char **name = lmn__arena_array(arena, spans->count + 1, sizeof *name);

    *name_out = name;
    for (size_t i = 0; name != NULL && i < spans->count; i++) {
        name[i] = lmn__arena_strndup(arena, spans->item[i].data, spans->item[i].len);
        if (name[i] == NULL)
            name = NULL;
    }
    return name != NULL ? LMN_OK : lmn__arena_fail(arena, "names of columns", err);
}

/* Keep what SETUP says; the frame does not last. */
static enum lmn_status keep_setup(struct lmn__serving *serving, struct lmn__span body,
                                  struct lmn_error *err)
{
    uint8_t *copy = lmn__arena_alloc(&serving->arena, body.len + 1);
    const struct lmn__setup_fill *setup;
    enum lmn_status st;

    if (copy == NULL)
        return lmn__arena_fail(&serving->arena, "a job's setup", err);
    memcpy(copy, body.data, body.len);
    st = lmn__setup_decode((struct lmn__span){ copy, body.len }, &serving->arena, &serving->setup,
                           err);
    if (st != LMN_OK)
        return st;
    setup = serving->setup.fill.item;
    serving->fill = lmn__arena_array(&serving->arena, serving->setup.fill.count,
                                     sizeof *serving->fill);
    if (serving->fill == NULL)
        return lmn__arena_fail(&serving->arena, "a job's functions", err);
    serving->fill_count = (uint32_t)serving->setup.fill.count;
    for (uint32_t i = 0; st == LMN_OK && i < serving->fill_count; i++) {
        serving->fill[i].setup = &setup[i];
        st = copy_names(&serving->arena, &setup[i].output, &serving->fill[i].output, err);
        if (st == LMN_OK)
            st = copy_names(&serving->arena, &setup[i].input, &serving->fill[i].input, err);
    }
    return st;
}

static enum lmn_status map_page(struct lmn__serving *serving, struct lmn_error *err)
{
    int fd = serving->channel.pass;
    enum lmn_status st;

    if (fd < 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a setup without a shared page");
    serving->channel.pass = -1;
    if (serving->setup.slot >= LMN__PROCESS_FDS_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "a setup of thread %u", serving->setup.slot);
    st = lmn__shared_open(fd, lmn__shelf_memory_bytes(serving->setup.slot + 1), &serving->shared,
                          err);
    if (st != LMN_OK)
        return st;
    serving->page = (struct lmn__page *)serving->shared.memory + serving->setup.slot;
    for (uint32_t i = 0; i < LMN__BOARDS; i++)
        serving->board[i] = lmn__shelf_board(serving->shared.memory, serving->setup.slot, i);
    serving->keeps = (int64_t)serving->setup.engine_pid != lmn__process_self();
    return LMN_OK;
}

/*
 * The engine's death ends this process, a call in progress too. An engine that died before that was
 * arranged is seen by the changed parent. The first process of a container has none: whatever runs
 * the container ends it.
 */
static enum lmn_status end_with_engine(const struct lmn__serving *serving, struct lmn_error *err)
{
    int64_t engine = (int64_t)serving->setup.engine_pid, parent;

    if (engine == lmn__process_self())
        return LMN_OK;
    lmn__process_end_with_parent();
    parent = lmn__process_parent();
    if (parent != engine && parent != 0)
        return lmn_fail(err, LMN_E_IO, "the engine is gone");
    return LMN_OK;
}

static enum lmn_status set_up(struct lmn__serving *serving, struct lmn__span body,
                              struct lmn_error *err)
{
    const char *root;
    enum lmn_status st;

    forget_job(serving);
    st = keep_setup(serving, body, err);
    if (st == LMN_OK)
        st = end_with_engine(serving, err);
    if (st == LMN_OK)
        st = map_page(serving, err);
    if (st != LMN_OK)
        return st;
    root = lmn__arena_strndup(&serving->arena, serving->setup.root.data, serving->setup.root.len);
    if (root == NULL)
        return lmn__arena_fail(&serving->arena, "the folder of a table", err);
    st = lmn_store_open_local(serving->env, root, &serving->store, err);
    return st == LMN_OK ? lmn__serving_enter(serving, 0, serving->setup.version, err) : st;
}

static enum lmn_status send_answer(struct lmn__serving *serving, enum lmn__message_kind kind,
                                   uint64_t task, const struct lmn_error *failure,
                                   struct lmn_error *err)
{
    struct lmn__answer_message answer = { 0 };
    enum lmn_status st;

    if (failure != NULL)
        answer = lmn__answer_of(failure);
    answer.task = task;
    st = lmn__channel_put(&serving->channel, kind, &lmn__answer_pb, &answer, err);
    return st == LMN_OK ? lmn__channel_flush(&serving->channel, true, err) : st;
}

static enum lmn_status run_task(struct lmn__serving *serving, struct lmn__span body,
                                struct lmn_error *err)
{
    struct lmn_error failure = { 0 };
    struct lmn__task_message task = { 0 };
    struct lmn__arena arena;
    uint8_t *copy; /* the frame does not outlast the first grant */
    enum lmn_status st;

    lmn__arena_init(&arena, serving->env, 0);
    copy = lmn__arena_alloc(&arena, body.len + 1);
    st = copy != NULL ? LMN_OK : lmn__arena_fail(&arena, "a task", &failure);
    if (st == LMN_OK) {
        memcpy(copy, body.data, body.len);
        st = lmn__task_decode((struct lmn__span){ copy, body.len }, &arena, &task, &failure);
    }
    if (st == LMN_OK)
        st = lmn__serving_enter(serving, task.fill, task.version, &failure);
    if (st == LMN_OK)
        st = lmn__serving_run(serving, &task, &failure);
    lmn__arena_deinit(&arena);
    if (st == LMN_OK)
        return send_answer(serving, LMN__MESSAGE_DONE, task.task, NULL, err);
    failure.status = st;
    return send_answer(serving, LMN__MESSAGE_FAILED, task.task, &failure, err);
}

static enum lmn_status answer_frame(struct lmn__serving *serving, const struct lmn__frame *frame,
                                    struct lmn_error *err)
{
    struct lmn_error failure = { 0 };
    enum lmn_status st;

    switch (frame->kind) {
    case LMN__MESSAGE_SETUP:
        st = set_up(serving, frame->body, &failure);
        failure.status = st;
        return send_answer(serving, LMN__MESSAGE_READY, 0, st == LMN_OK ? NULL : &failure, err);
    case LMN__MESSAGE_TASK:
        return run_task(serving, frame->body, err);
    default:
        return lmn_fail(err, LMN_E_CORRUPT, "the engine sent a message of kind %d", frame->kind);
    }
}

enum lmn_status lmn_worker_serve(int fd, const struct lmn_worker_ops *ops, struct lmn_error *err)
{
    struct lmn__serving serving = { .ops = ops, .loaded = UINT32_MAX, .shared = { .fd = -1 } };
    struct lmn__frame frame = { 0 };
    enum lmn_status st = lmn__env_resolve(NULL, &serving.env, err);

    if (st != LMN_OK)
        return st;
    lmn__channel_init(&serving.channel, serving.env, fd);
    lmn__arena_init(&serving.arena, serving.env, 0);
    st = lmn__hand_init(&serving.writing, serving.env, err);
    if (st == LMN_OK)
        st = lmn__hand_init(&serving.reading, serving.env, err);
    while (st == LMN_OK) {
        st = lmn__channel_wait(&serving.channel, &frame, err);
        if (st != LMN_OK || frame.body.data == NULL)
            break;
        st = answer_frame(&serving, &frame, err);
    }
    lmn__hand_deinit(&serving.writing);
    lmn__hand_deinit(&serving.reading);
    forget_job(&serving);
    lmn__arena_deinit(&serving.arena);
    lmn__channel_deinit(&serving.channel);
    lmn_env_release(serving.env);
    return st;
}
