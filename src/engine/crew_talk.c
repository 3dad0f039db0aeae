/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a job: what they are told, what they say, how they end.
 *
 * A worker that dies is first heard out: what it sent before counts. Then the page tells which call
 * was running in each of its threads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/hub.h"
#include "engine/job.h"
#include "os/clock.h"

enum { VARIABLES_MAX = 16, VARIABLE_CHARS = 128, KEPT_BYTES_MAX = 64 << 20 };

static struct lmn__span text_span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static struct lmn__span *spans_of(struct lmn__arena *arena, const char *const *name, uint32_t count)
{
    struct lmn__span *span = lmn__arena_array(arena, count + 1ull, sizeof *span);

    for (uint32_t i = 0; span != NULL && i < count; i++)
        span[i] = text_span(name[i]);
    return span;
}

static enum lmn_status put_setup(struct lmn_job *job, struct lmn__crew_worker *crew,
                                 uint32_t thread, struct lmn_error *err)
{
    struct lmn__setup_message setup = { .protocol = LMN__PROTOCOL_VERSION,
                                        .engine_pid = (uint64_t)lmn__process_self(),
                                        .slot = thread,
                                        .root = text_span(job->root),
                                        .version = job->read_version,
                                        .unsynced = job->options.unsynced,
                                        .segments = crew->remote != NULL &&
                                                    crew->remote->elsewhere };
    struct lmn__setup_fill *fill;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, job->env, 0);
    fill = lmn__arena_array(&arena, job->fill_count, sizeof *fill);
    for (uint32_t i = 0; fill != NULL && i < job->fill_count; i++) {
        const struct lmn_job_function *function = &job->fill[i].function;

        if (function->memory_bytes > setup.memory_bytes)
            setup.memory_bytes = function->memory_bytes;
        fill[i] = (struct lmn__setup_fill){
            .name = text_span(function->name),
            .code = { function->code, function->code_len },
            .function = job->fill[i].version,
            .output = { spans_of(&arena, function->output, function->output_count),
                        function->output_count },
            .input = { spans_of(&arena, function->input, function->input_count),
                       function->input_count },
            .batch_rows = function->batch_rows,
            .checkpoint_rows = function->checkpoint_rows,
            .dir = text_span(lmn__journal_dir(job->fill[i].journal)),
            .metered = lmn__job_is_metered(job, function),
            .paid = function->paid,
            .lazy_blobs = function->lazy_blobs,
            .again = job->options.recompute,
            .alone = function->gpus > 0 && !function->parallel_setup,
        };
        if (fill[i].output.item == NULL || fill[i].input.item == NULL)
            fill = NULL;
    }
    setup.fill = (struct lmn__pb_list){ fill, job->fill_count };
    st = fill != NULL ? lmn__channel_put(&crew->channel[thread], LMN__MESSAGE_SETUP, &lmn__setup_pb,
                                         &setup, err)
                      : lmn__arena_fail(&arena, "a job's setup", err);
    lmn__arena_deinit(&arena);
    if (crew->remote == NULL)
        crew->channel[thread].pass = lmn__shared_fd(&crew->shared);
    return st;
}

/* What is queued goes as far as it goes; a worker that is gone is learnt of otherwise. */
static void flush(struct lmn__channel *channel)
{
    struct lmn_error ignored;
    enum lmn_status st = lmn__channel_flush(channel, false, &ignored);

    (void)st;
}

/* The environment of worker number `worker`: threads of libraries, GPUs, and what the caller adds.
 */
static const char **make_environment(struct lmn_job *job, uint32_t worker,
                                     char text[VARIABLES_MAX][VARIABLE_CHARS])
{
    static const char *const pools[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                         "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS" };
    const struct lmn_job_function *function = &job->fill[0].function;
    const char *const *added = job->options.worker_env;
    unsigned cpus = function->cpus > 1 ? (unsigned)function->cpus : 1;
    uint32_t count = 0, more = 0;
    const char **environment;

    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        if (lmn__host_variable(pools[i]) == NULL)
            snprintf(text[count++], VARIABLE_CHARS, "%s=%u", pools[i], cpus);
    }
    lmn__places_gpu_text(&job->places, worker, text[count++], VARIABLE_CHARS);
    while (added != NULL && added[more] != NULL)
        more++;
    environment = lmn__calloc(job->env, count + more + 1, sizeof *environment);
    if (environment == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        environment[i] = text[i];
    for (uint32_t i = 0; i < more; i++)
        environment[count + i] = added[i];
    return environment;
}

static enum lmn_status take_crew(struct lmn_job *job, uint32_t worker,
                                 struct lmn__crew_worker **crew_out, int *inside_fd_out,
                                 struct lmn_error *err)
{
    char text[VARIABLES_MAX][VARIABLE_CHARS];
    struct lmn__crew_kind kind = { .argument = job->options.worker,
                                   .threads = job->threads,
                                   .logged = true };
    enum lmn_status st;

    if (job->options.hub != NULL)
        return lmn__hub_take(job->options.hub, job->env, crew_out, err);
    if (job->options.in_process)
        return lmn__crew_take_inside(job->env, crew_out, inside_fd_out, err);
    kind.environment = make_environment(job, worker, text);
    if (kind.environment == NULL)
        return lmn__no_memory(err, "an environment", 0);
    st = lmn__crew_take(job->env, &kind, crew_out, err);
    lmn__free(job->env, (void *)(uintptr_t)kind.environment);
    return st;
}

enum lmn_status lmn__job_start_worker(struct lmn_job *job, uint32_t worker, struct lmn_error *err)
{
    struct lmn__job_worker *own = &job->worker[worker];
    struct lmn__crew_worker *crew;
    int inside_fd = -1;
    enum lmn_status st = take_crew(job, worker, &crew, &inside_fd, err);

    own->wanted = st == LMN_OK && crew == NULL;
    if (st != LMN_OK || own->wanted)
        return st;
    own->state = LMN__CREW_LOADING;
    own->answered = 0;
    own->dead = own->killed = false;
    own->began_ns = lmn__clock_monotonic_ns();
    own->memory_bytes = own->look_ns = 0;
    own->log.last[0] = '\0';
    for (uint32_t i = 0; st == LMN_OK && i < job->threads; i++) {
        st = put_setup(job, crew, i, err);
        flush(&crew->channel[i]);
    }
    lmn__mutex_lock(&job->mutex);
    own->crew = crew;
    if (inside_fd >= 0) {
        lmn__socket_close(&job->inside_fd);
        job->inside_fd = inside_fd;
        lmn__cond_wake_all(&job->cond);
    }
    lmn__mutex_unlock(&job->mutex);
    return st;
}

/* Add what the pages of a worker count to what is kept of processes that ended. */
static void keep_counts(struct lmn__job_worker *worker, uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        struct lmn__page *page = &worker->crew->page[i];

        worker->rows_before += atomic_load(&page->rows);
        worker->read_before += atomic_load(&page->read_ns);
        worker->call_before += atomic_load(&page->call_ns);
        worker->write_before += atomic_load(&page->write_ns);
        worker->read_bytes_before += atomic_load(&page->read_bytes);
        worker->used_before.calls += atomic_load(&page->calls);
        worker->used_before.tokens += atomic_load(&page->tokens);
        worker->used_before.cost_nano += atomic_load(&page->cost_nano);
    }
}

void lmn__job_release_worker(struct lmn_job *job, uint32_t worker, bool kill)
{
    struct lmn__job_worker *own = &job->worker[worker];
    struct lmn__crew_worker *crew = own->crew;
    bool stays = own->state == LMN__CREW_READY && !own->dead && !own->killed && !kill;

    own->wanted = false;
    if (crew == NULL)
        return;
    crew->in_task = 0;
    for (uint32_t i = 0; i < job->threads; i++)
        crew->in_task |= (uint64_t)job->slot[worker * job->threads + i].busy << i;
    keep_counts(own, job->threads);
    lmn__job_end_log(job, worker);
    own->crew = NULL;
    own->state = LMN__CREW_NONE;
    own->memory_bytes = 0;
    if (stays && crew->process.pid > 0 && lmn__job_stays_warm(job))
        lmn__job_leave(job, crew);
    else
        lmn__crew_end(crew);
}

/* Queue a task, with the rows of it that a worker which died had finished. */
static enum lmn_status put_task(struct lmn_job *job, struct lmn__channel *channel,
                                const struct lmn__action *action, struct lmn__task_message *task,
                                struct lmn_error *err)
{
    struct lmn__arena arena;
    uint64_t count, bytes = 0;
    const struct lmn__saved_row *row = lmn__saved_find(
        &job->saved, action->unit, action->rows.first, action->rows.count, &count);
    enum lmn_status st;

    lmn__arena_init(&arena, job->env, 0);
    task->saved_ordinal.item = lmn__arena_array(&arena, count + 1, sizeof(uint64_t));
    task->saved_kind.item = lmn__arena_array(&arena, count + 1, sizeof(uint64_t));
    task->saved.item = lmn__arena_array(&arena, count + 1, sizeof(struct lmn__span));
    if (task->saved_ordinal.item == NULL || task->saved_kind.item == NULL ||
        task->saved.item == NULL)
        count = 0; /* they are computed again */
    for (uint64_t i = 0; i < count && bytes < KEPT_BYTES_MAX; i++) {
        task->saved_ordinal.item[i] = row[i].ordinal;
        task->saved_kind.item[i] = row[i].kind;
        task->saved.item[i] = row[i].bytes;
        bytes += row[i].bytes.len;
        task->saved_ordinal.count = task->saved_kind.count = task->saved.count = i + 1;
    }
    st = lmn__channel_put(channel, LMN__MESSAGE_TASK, &lmn__task_pb, task, err);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__job_send_task(struct lmn_job *job, const struct lmn__action *action,
                                   struct lmn_error *err)
{
    const struct lmn__job_unit *unit = &job->unit[action->unit];
    struct lmn__job_slot *slot = &job->slot[action->slot];
    struct lmn__crew_worker *crew = job->worker[action->slot / job->threads].crew;
    struct lmn__task_message task = {
        .task = action->task,
        .fill = unit->fill,
        .version = unit->version,
        .fragment_id = unit->fragment->id,
        .layout = unit->fragment->layout,
        .ordinal = action->rows.first,
        .batch_rows_max = lmn__job_fit(&job->fill[unit->fill], action->batch_rows_max),
        .gaps_are_dead = unit->fragment->whole,
        .looks = lmn__machine_counts(job->machine).deaths + job->moves,
        .since = unit->since,
        .parts = unit->parts
    };
    struct lmn__channel *channel;
    struct lmn__row_range *range;
    uint64_t room = unit->fragment->todo_count, count;
    enum lmn_status st;

    *slot = (struct lmn__job_slot){ .busy = true,
                                    .task = action->task,
                                    .unit = action->unit,
                                    .rows = action->rows,
                                    .began_ns = lmn__clock_monotonic_ns() };
    if (crew == NULL)
        return LMN_OK;
    channel = &crew->channel[action->slot % job->threads];
    range = lmn__alloc(job->env, room * 2 * sizeof *range);
    if (range == NULL)
        return lmn__no_memory(err, "the rows of a task", room * sizeof *range);
    count = lmn__job_rows(unit, action->rows, range);
    task.first = (struct lmn__pb_u64s){ (uint64_t *)(range + room), count };
    task.count = (struct lmn__pb_u64s){ (uint64_t *)(range + room) + count, count };
    for (uint64_t i = 0; i < count; i++) {
        task.first.item[i] = range[i].first;
        task.count.item[i] = range[i].count;
    }
    st = put_task(job, channel, action, &task, err);
    lmn__free(job->env, range);
    flush(channel);
    return st;
}

/* What a worker keeps of jobs before is in the way of this one: another takes its place. */
static enum lmn_status replace_worker(struct lmn_job *job, uint32_t worker, struct lmn_error *err)
{
    lmn__job_note(job, "worker %u is replaced: %s", worker, job->worker[worker].failure.message);
    lmn__crew_kill(job->worker[worker].crew);
    lmn__job_release_worker(job, worker, true);
    return lmn__job_start_worker(job, worker, err);
}

static enum lmn_status hear_ready(struct lmn_job *job, uint32_t worker,
                                  const struct lmn__answer_message *answer, struct lmn_error *err)
{
    struct lmn__job_worker *own = &job->worker[worker];
    struct lmn__event event = { .now_ns = lmn__clock_monotonic_ns(), .worker = worker };
    enum lmn_status st;

    if (own->state != LMN__CREW_LOADING)
        return LMN_OK;
    st = lmn__answer_error(answer, &own->failure);
    if (st == LMN_E_CONFLICT && own->crew->warm)
        return replace_worker(job, worker, err);
    if (st != LMN_OK) {
        if (job->error.status == LMN_OK)
            job->error = own->failure;
        event.kind = LMN__EVENT_WORKER_FAILED;
        return lmn__job_tell(job, event, err);
    }
    if (++own->answered < job->threads)
        return LMN_OK;
    own->state = LMN__CREW_READY;
    event.kind = LMN__EVENT_WORKER_READY;
    return lmn__job_tell(job, event, err);
}

static enum lmn_status hear_grant(struct lmn_job *job, uint32_t number,
                                  struct lmn__channel *channel,
                                  const struct lmn__grant_message *grant, struct lmn_error *err)
{
    const struct lmn__job_slot *slot = &job->slot[number];
    const struct lmn__job_unit *unit;
    struct lmn__answer_message answer = { 0 };
    struct lmn_error failure = { 0 };
    uint64_t position = 0;
    enum lmn_status st;

    if (!slot->busy || grant->file > LMN__GRANT_PAGES)
        return lmn_fail(err, LMN_E_CORRUPT, "a worker without a task asks for space");
    unit = &job->unit[slot->unit];
    st = lmn__journal_grant(job->fill[unit->fill].journal, (enum lmn__grant_file)grant->file,
                            unit->fragment->id, unit->fragment->layout, grant->bytes, &position,
                            &failure);
    if (st != LMN_OK) {
        failure.status = st;
        answer = lmn__answer_of(&failure);
    }
    answer.position = position;
    st = lmn__channel_put(channel, LMN__MESSAGE_GRANTED, &lmn__answer_pb, &answer, err);
    flush(channel);
    return st;
}

static enum lmn_status hear_result(struct lmn_job *job, uint32_t number,
                                   const struct lmn__result_message *result, struct lmn_error *err)
{
    struct lmn__job_slot *slot = &job->slot[number];
    struct lmn__event event = { .kind = LMN__EVENT_RESULT,
                                .now_ns = lmn__clock_monotonic_ns(),
                                .slot = number,
                                .task = result->task,
                                .rows = { result->ordinal, result->count },
                                .failed_count = result->failed_count,
                                .bytes = result->bytes };

    if (!slot->busy || slot->task != result->task)
        return LMN_OK;
    job->offered.fill = job->unit[slot->unit].fill;
    job->offered.bytes = result->receipt;
    job->bytes_written += result->bytes;
    slot->bytes += result->bytes;
    lmn__job_take_fit(job, &job->fill[job->offered.fill], result->rows_fit);
    return lmn__job_tell(job, event, err);
}

/* Stop the job: a task that ends early is no surprise then. */
static enum lmn_status stop_first(struct lmn_job *job, struct lmn_error *err)
{
    struct lmn__event event = { .kind = LMN__EVENT_STOP, .now_ns = lmn__clock_monotonic_ns() };

    if (job->stop_told)
        return LMN_OK;
    job->stop_told = true;
    return lmn__job_tell(job, event, err);
}

/* A disk that is full stops the job; whatever else fails a task fails it. */
static enum lmn_status hear_end(struct lmn_job *job, uint32_t number, bool failed,
                                const struct lmn__answer_message *answer, struct lmn_error *err)
{
    struct lmn__job_slot *slot = &job->slot[number];
    struct lmn__event event = { .kind = failed ? LMN__EVENT_TASK_FAILED : LMN__EVENT_TASK_DONE,
                                .now_ns = lmn__clock_monotonic_ns(),
                                .slot = number,
                                .task = answer->task };
    struct lmn_error failure = { 0 };
    enum lmn_status st;

    if (!slot->busy || slot->task != answer->task)
        return LMN_OK;
    if (failed) {
        failure.status = lmn__answer_error(answer, &failure);
        if (failure.os_errno == ENOSPC) {
            job->blocker = failure;
            event.kind = LMN__EVENT_TASK_DONE;
            st = stop_first(job, err);
            if (st != LMN_OK)
                return st;
        } else if (job->error.status == LMN_OK) {
            job->error = failure;
        }
    }
    lmn__stats_task_end(job, number);
    slot->busy = false;
    return lmn__job_tell(job, event, err);
}

static enum lmn_status hear_frame(struct lmn_job *job, uint32_t worker, uint32_t thread,
                                  const struct lmn__frame *frame, struct lmn__arena *arena,
                                  struct lmn_error *err)
{
    uint32_t slot = worker * job->threads + thread;
    struct lmn__answer_message answer = { 0 };
    struct lmn__result_message result = { 0 };
    struct lmn__permit_message permit = { 0 };
    struct lmn__grant_message grant = { 0 };
    enum lmn_status st;

    switch (frame->kind) {
    case LMN__MESSAGE_PERMIT:
        st = lmn__pb_decode(&lmn__permit_pb, frame->body, arena, &permit, err);
        return st == LMN_OK ? lmn__job_permit(job, slot, &job->worker[worker].crew->channel[thread],
                                              &permit, err)
                            : st;
    case LMN__MESSAGE_GRANT:
        st = lmn__pb_decode(&lmn__grant_pb, frame->body, arena, &grant, err);
        return st == LMN_OK
                   ? hear_grant(job, slot, &job->worker[worker].crew->channel[thread], &grant, err)
                   : st;
    case LMN__MESSAGE_RESULT:
        st = lmn__pb_decode(&lmn__result_pb, frame->body, arena, &result, err);
        return st == LMN_OK ? hear_result(job, slot, &result, err) : st;
    case LMN__MESSAGE_READY:
    case LMN__MESSAGE_DONE:
    case LMN__MESSAGE_FAILED:
        st = lmn__pb_decode(&lmn__answer_pb, frame->body, arena, &answer, err);
        if (st == LMN_OK && frame->kind == LMN__MESSAGE_READY)
            return hear_ready(job, worker, &answer, err);
        return st == LMN_OK ? hear_end(job, slot, frame->kind == LMN__MESSAGE_FAILED, &answer, err)
                            : st;
    case LMN__MESSAGE_LOG:
        st = lmn__pb_decode(&lmn__answer_pb, frame->body, arena, &answer, err);
        if (st == LMN_OK)
            lmn__job_keep_log(job, worker, answer.message);
        return st;
    case LMN__MESSAGE_PAGE:
    case LMN__MESSAGE_BOARD:
    case LMN__MESSAGE_DIED:
        return lmn__crew_hear_remote(job->worker[worker].crew, thread, frame, arena, err);
    default:
        return lmn_fail(err, LMN_E_CORRUPT, "a worker sent a message of kind %d", frame->kind);
    }
}

/* Is what a thread works on with the committer? */
static bool is_held(const struct lmn_job *job, uint32_t slot)
{
    return job->slot[slot].busy && job->fill[job->unit[job->slot[slot].unit].fill].busy;
}

enum lmn_status lmn__job_hear(struct lmn_job *job, uint32_t worker, uint32_t thread,
                              struct lmn_error *err)
{
    struct lmn__job_worker *own = &job->worker[worker];
    struct lmn__arena arena;
    bool closed = false;
    enum lmn_status st = LMN_OK;

    lmn__arena_init(&arena, job->env, 0);
    while (st == LMN_OK && !job->finished && own->crew != NULL) {
        struct lmn__channel *channel = &own->crew->channel[thread];
        struct lmn__frame frame;
        size_t before = channel->in.len - channel->in_at;

        if (is_held(job, worker * job->threads + thread))
            break;
        st = lmn__channel_next(channel, &frame, err);
        if (st == LMN_OK && frame.body.data != NULL) {
            st = hear_frame(job, worker, thread, &frame, &arena, err);
            lmn__arena_deinit(&arena);
            lmn__arena_init(&arena, job->env, 0);
            continue;
        }
        if (st != LMN_OK || channel->fd < 0)
            break;
        st = lmn__channel_receive(channel, false, &closed, err);
        if (st == LMN_OK && channel->in.len == before)
            break;
    }
    if (closed && own->crew != NULL)
        own->dead = lmn__crew_closed(own->crew, thread) || own->dead;
    lmn__arena_deinit(&arena);
    return st;
}

/* How it ended, for people. */
static void describe_death(struct lmn__job_worker *worker)
{
    char text[sizeof worker->death];

    lmn__crew_describe_end(worker->crew, worker->memory_peak, text, sizeof text);
    if (!worker->killed)
        memcpy(worker->death, text, sizeof text);
    if (!worker->killed && worker->state == LMN__CREW_LOADING && worker->log.last[0] != '\0') {
        text[strcspn(text, ",")] = '\0';
        snprintf(worker->death, sizeof worker->death, "%.40s before it was loaded: %.90s", text,
                 worker->log.last);
    }
}

/* Has the committer the fill of one of the worker's tasks? */
static bool holds_any(const struct lmn_job *job, uint32_t worker)
{
    for (uint32_t i = 0; i < job->threads; i++) {
        if (is_held(job, worker * job->threads + i))
            return true;
    }
    return false;
}

/*
 * Keep what a thread had finished. The rows of a call that was about many when the worker died are
 * suspects: what is known of them is left.
 */
static void save_rows(struct lmn_job *job, struct lmn__crew_worker *crew, uint32_t thread,
                      const struct lmn__job_slot *slot, struct lmn__ordinals in_call)
{
    for (uint32_t i = 0; i < LMN__BOARDS; i++) {
        struct lmn__board *board = lmn__shelf_board(crew->shared.memory, thread, i);

        if (atomic_load(&board->task) == slot->task)
            lmn__saved_take(&job->saved, slot->unit, board, in_call.first, in_call.count);
    }
}

/* Tell the machine of a death, unless the committer has something that it needs for it. */
enum lmn_status lmn__job_bury(struct lmn_job *job, uint32_t worker, struct lmn_error *err)
{
    struct lmn__job_worker *own = &job->worker[worker];
    struct lmn__event event = { .kind = LMN__EVENT_WORKER_DIED, .worker = worker };
    enum lmn_status st = LMN_OK;

    if (holds_any(job, worker))
        return LMN_OK;
    for (uint32_t i = 0; st == LMN_OK && i < job->threads; i++)
        st = lmn__job_hear(job, worker, i, err);
    if (st != LMN_OK || own->crew == NULL)
        return st;
    if (holds_any(job, worker)) /* what it said last has begun a commit */
        return LMN_OK;
    lmn__job_hear_log(job, worker);
    describe_death(own);
    for (uint32_t i = 0; i < job->threads; i++) {
        struct lmn__page *page = &own->crew->page[i];
        struct lmn__job_slot *slot = &job->slot[worker * job->threads + i];
        struct lmn__ordinals rows = { atomic_load(&page->call_first), 0 };

        if (!slot->busy)
            continue;
        if (atomic_load(&page->call_began_ns) != 0)
            rows.count = atomic_load(&page->call_count);
        save_rows(job, own->crew, i, slot, rows);
        lmn__machine_died(job->machine, worker * job->threads + i, rows);
        slot->busy = false;
    }
    if (own->state == LMN__CREW_LOADING && own->killed)
        event.kind = LMN__EVENT_WORKER_FAILED; /* it would not load the next time either */
    lmn__job_note(job, "worker %u: %s", worker, own->death);
    lmn__job_release_worker(job, worker, true);
    event.now_ns = lmn__clock_monotonic_ns();
    return lmn__job_tell(job, event, err);
}
