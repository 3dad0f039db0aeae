/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs whose workers come from elsewhere: agents in threads of this process connect to the job's
 * hub as those of other machines do, and start workers of their own.
 *
 * labels: threads
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hub.h"
#include "engine/protocol.h"
#include "job_tables.h"
#include "os/tcp.h"
#include "stores.h"

enum { ROWS = 600, FRAGMENT_ROWS = 200, AGENTS_MAX = 4 };

static const char TOKEN[] = "0123456789abcdef";

struct place {
    char *dir;
    char root[4096];
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn_hub *hub;
    pthread_t agent[AGENTS_MAX];
    struct lmn_agent_options options[AGENTS_MAX];
    struct lmn_error end[AGENTS_MAX]; /* of each agent: its status and message */
    uint32_t agent_count;
};

static void open_hub(struct place *place)
{
    const struct lmn_hub_options options = { .address = "127.0.0.1",
                                             .token = TOKEN,
                                             .machine = "here" };
    struct lmn_error err;

    CHECK_STATUS(lmn_hub_open(&options, &place->hub, &err), LMN_OK, &err);
    CHECK(lmn_hub_port(place->hub) != 0);
}

static int make_place(void **state)
{
    static struct place place;
    memset(&place, 0, sizeof place);
    place.dir = test_dir_make();
    setenv("XDG_STATE_HOME", place.dir, 1);
    snprintf(place.root, sizeof place.root, "%s/t.lance", place.dir);
    place.store = test_store_local(place.root);
    place.table = job_table(place.store, ROWS, FRAGMENT_ROWS);
    open_hub(&place);
    *state = &place;
    return 0;
}

static void join_agents(struct place *place)
{
    for (uint32_t i = 0; i < place->agent_count; i++)
        pthread_join(place->agent[i], NULL);
    place->agent_count = 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    lmn_hub_close(place->hub);
    join_agents(place);
    lmn_table_release(place->table);
    lmn_store_release(place->store);
    test_dir_remove(place->dir);
    return 0;
}

struct started {
    struct place *place;
    uint32_t number;
};

static void *run_agent(void *context)
{
    struct started *started = context;
    struct lmn_error err = { 0 };

    err.status = lmn_agent_run(&started->place->options[started->number], &err);
    started->place->end[started->number] = err;
    free(started);
    return NULL;
}

/* Start an agent; zeroed members are what they should be. */
static void start_agent(struct place *place, struct lmn_agent_options options)
{
    struct started *started = malloc(sizeof *started);

    CHECK(started != NULL);
    *started = (struct started){ place, place->agent_count++ };
    options.host = "127.0.0.1";
    options.port = lmn_hub_port(place->hub);
    options.token = options.token != NULL ? options.token : TOKEN;
    options.node = options.node != NULL ? options.node : "n1";
    options.machine = options.machine != NULL ? options.machine : "here";
    options.root = options.root != NULL ? options.root : place->root;
    options.job = "remote";
    options.worker = job_worker_command();
    place->options[started->number] = options;
    CHECK_EQ(pthread_create(&place->agent[started->number], NULL, run_agent, started), 0);
}

static struct lmn_job *begin(struct place *place, const char *code,
                             struct lmn_job_function function, uint32_t workers)
{
    const struct lmn_job_options options = { .id = "remote",
                                             .concurrency = workers,
                                             .hub = place->hub };

    return job_begin_with(place->table, code, function, &options);
}

/* A whole job with two agents, the second on another machine if told so. */
static struct lmn_job_status run(struct place *place, const char *code,
                                 struct lmn_job_function function, const char *machine)
{
    struct lmn_job *job = begin(place, code, function, 2);
    struct lmn_job_status status;

    start_agent(place, (struct lmn_agent_options){ 0 });
    start_agent(place, (struct lmn_agent_options){ .machine = machine, .node = "n2" });
    status = job_end(job);
    join_agents(place);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(place->end[i].status, LMN_OK, &place->end[i]);
    return status;
}

static void test_hub__workers(void **state)
{
    struct place *place = *state;
    struct lmn_job_status status = run(place, "", (struct lmn_job_function){ 0 }, NULL);

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_committed, ROWS);
    CHECK_EQ(status.rows_computed, ROWS);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Workers of another machine write objects of their own; the result is the same. */
static void test_hub__segments(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function function = { .checkpoint_rows = 20 };
    struct lmn_job_status status = run(place, "slow=100", function, "elsewhere");

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Calls are asked for, counted and kept over the network. */
static void test_hub__calls(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function function = { .batch_rows = 10, .paid = true };
    const struct lmn_job_options options = {
        .id = "remote", .concurrency = 1, .calls_max = 7, .hub = place->hub
    };
    struct lmn_job *job = job_begin_with(place->table, "", function, &options);
    struct lmn_job_status status;

    start_agent(place, (struct lmn_agent_options){ .machine = "elsewhere" });
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    CHECK_HAS(status.error.message, "7 calls");
    CHECK_STR(status.message, ""); /* that it waited is not said any more */
    CHECK_EQ(status.calls, 7);
    CHECK_EQ(status.rows_checkpointed, 70);
    CHECK_EQ(job_run(place->table, "", NULL).state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Workers have the variables of the job, and what they print is kept, but for its secrets. */
static void test_hub__prints(void **state)
{
    struct place *place = *state;
    const char *const environment[] = { "LEMAN_TEST=hush hush", NULL };
    const struct lmn_job_options options = { .id = "remote",
                                             .concurrency = 1,
                                             .worker_env = environment,
                                             .secret = environment,
                                             .hub = place->hub };
    struct lmn_job *job = job_begin_with(place->table, "say=599",
                                         (struct lmn_job_function){ .batch_rows = 10 }, &options);
    struct lmn_job_status status;
    struct lmn_error err;
    char *logs;

    start_agent(place, (struct lmn_agent_options){ .machine = "elsewhere" });
    status = job_end(job);
    join_agents(place);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.log_lines, 1);
    CHECK_STATUS(lmn_job_logs(place->table, "remote", NULL, &logs, &err), LMN_OK, &err);
    CHECK_HAS(logs, "value 599, [LEMAN_TEST]");
    CHECK(strstr(logs, "hush") == NULL);
    lmn_text_free(logs);
}

/* The workers of a job that is done serve the next; one that the next cannot use is replaced. */
static void test_hub__the_next_job(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options[] = {
        { .id = "remote", .concurrency = 1, .where = "value < 300" },
        { .id = "remote", .concurrency = 1 },
    };

    for (int i = 0; i < 2; i++) {
        struct lmn_job_options own = options[i];
        struct lmn_job_status status;
        struct lmn_job *job;

        own.hub = place->hub;
        job = job_begin(place->table, i == 0 ? "" : "stale=1", &own);
        start_agent(place, (struct lmn_agent_options){ .machine = "elsewhere" });
        status = job_end(job);
        join_agents(place);
        CHECK_STR(status.error.message, "");
        CHECK_EQ(status.state, LMN_JOB_DONE);
        lmn_hub_close(place->hub);
        open_hub(place);
    }
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Rows that end their worker are found as on one machine. */
static void check_poison(struct place *place, const char *code, struct lmn_job_function function)
{
    const int64_t failed[] = { 300 };
    struct lmn_job_status status = run(place, code, function, "elsewhere");

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK_EQ(status.rows_committed, ROWS);
    CHECK_EQ(status.rows_failed, 1);
    CHECK(status.worker_deaths >= 2);
    CHECK_EQ(job_check(place->store, failed, 1), 0);
}

static void test_hub__crash(void **state)
{
    check_poison(*state, "crash=300", (struct lmn_job_function){ 0 });
}

static void test_hub__hang(void **state)
{
    check_poison(*state, "hang=300", (struct lmn_job_function){ .call_timeout_ms = 200 });
}

static void test_hub__hog(void **state)
{
    check_poison(*state, "hog=300", (struct lmn_job_function){ .memory_bytes = 200 << 20 });
}

static void test_hub__setup_fails(void **state)
{
    struct lmn_job_status status = run(*state, "setup=1", (struct lmn_job_function){ 0 }, NULL);

    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_HAS(status.error.message, "the model is not there");
}

/* A machine that does not see the table is refused by its name. */
static void test_hub__blind_node(void **state)
{
    struct place *place = *state;
    struct lmn_job *job = begin(place, "", (struct lmn_job_function){ 0 }, 1);
    struct lmn_job_status status;

    start_agent(place, (struct lmn_agent_options){ .root = "/nowhere/t.lance", .node = "blind" });
    status = job_end(job);
    join_agents(place);
    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_EQ(status.error.status, LMN_E_UNAVAILABLE);
    CHECK_HAS(status.error.message, "node blind does not see the table at ");
    CHECK_HAS(status.error.message, "path_map");
    CHECK_EQ(place->end[0].status, LMN_E_INVALID);
    CHECK_HAS(place->end[0].message, "node blind");
}

/* Who does not know the token is let in nowhere; the job waits for others, and not for ever. */
static void test_hub__wrong_token(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = {
        .id = "remote", .concurrency = 1, .wait_ms = 1500, .hub = place->hub
    };
    struct lmn_job *job = job_begin(place->table, "", &options);
    struct lmn_job_status status;

    lmn_hub_explain(place->hub, "the cluster is asleep");
    start_agent(place, (struct lmn_agent_options){ .token = "fedcba9876543210" });
    do {
        CHECK(!lmn_job_wait(job, 5));
        lmn_job_status(job, &status);
    } while (status.state != LMN_JOB_WAITING);
    CHECK_HAS(status.message, "for a worker: the cluster is asleep");
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_HAS(status.error.message, "waited 1 s for a worker: the cluster is asleep");
}

/* A stop ends a job that waits for workers, too. */
static void test_hub__stop_while_waiting(void **state)
{
    struct place *place = *state;
    struct lmn_job *job = begin(place, "", (struct lmn_job_function){ 0 }, 2);
    struct lmn_job_status status;

    do {
        CHECK(!lmn_job_wait(job, 5));
        lmn_job_status(job, &status);
    } while (status.state != LMN_JOB_WAITING);
    lmn_job_stop(job, false);
    CHECK_EQ(job_end(job).state, LMN_JOB_STOPPED);
}

/* What workers of other machines have checkpointed, a job of this one goes on from. */
static void test_hub__stop_and_resume(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function function = { .batch_rows = 4 };
    const struct lmn_job_options local = { .concurrency = 1 };
    struct lmn_job *job = begin(place, "slow=2000", function, 1);
    struct lmn_job_status status;

    start_agent(place, (struct lmn_agent_options){ .machine = "elsewhere" });
    do {
        CHECK(!lmn_job_wait(job, 5));
        lmn_job_status(job, &status);
    } while (status.rows_computed < 40);
    lmn_job_stop(job, false);
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    CHECK(status.rows_checkpointed >= 40 && status.rows_checkpointed < ROWS);
    status = job_run(place->table, "", &local);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK(status.rows_resumed > 0);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Bytes of no agent are shown the door, and harm nobody. */
static void send_noise(struct place *place, const void *bytes, size_t len)
{
    struct lmn_error err;
    size_t got;
    char answer;
    bool closed = false;
    int fd;

    CHECK_STATUS(lmn__tcp_connect("127.0.0.1", lmn_hub_port(place->hub), &fd, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__socket_send(fd, bytes, len, -1, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__socket_receive(fd, true, &answer, 1, &got, NULL, &closed, &err), LMN_OK,
                 &err);
    CHECK(closed);
    lmn__socket_close(&fd);
}

static void test_hub__noise(void **state)
{
    struct place *place = *state;
    const uint8_t huge[] = { 0xff, 0xff, 0xff, 0x0f, LMN__MESSAGE_HELLO, 0, 0 };
    const uint8_t other[] = { 2, 0, 0, 0, LMN__MESSAGE_TASK, 8, 1 };
    const uint8_t empty[] = { 0, 0, 0, 0, LMN__MESSAGE_HELLO };
    struct lmn_job *job = begin(place, "", (struct lmn_job_function){ 0 }, 1);
    struct lmn_job_status status;

    send_noise(place, huge, sizeof huge);
    send_noise(place, other, sizeof other);
    send_noise(place, empty, sizeof empty);
    send_noise(place, "GET / HTTP/1.1\r\n\r\n", 18);
    start_agent(place, (struct lmn_agent_options){ 0 });
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

static void test_hub__bad_options(void **state)
{
    const struct lmn_hub_options no_token = { .address = "127.0.0.1", .token = "short" };
    const struct lmn_hub_options no_address = { .address = "192.0.2.1", .token = TOKEN };
    const struct lmn_agent_options nothing = { 0 };
    struct lmn_hub *hub;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_hub_open(&no_token, &hub, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "16 to 128 characters, not 5");
    CHECK_STATUS(lmn_hub_open(&no_address, &hub, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "192.0.2.1");
    CHECK_STATUS(lmn_agent_run(&nothing, &err), LMN_E_INVALID, &err);
}

/* An agent of a job that is over says so, instead of waiting. */
static void test_hub__nobody_answers(void **state)
{
    struct place *place = *state;
    struct lmn_agent_options options = { .host = "127.0.0.1",
                                         .port = lmn_hub_port(place->hub),
                                         .token = TOKEN,
                                         .root = place->root,
                                         .job = "remote",
                                         .worker = job_worker_command() };
    struct lmn_error err;

    lmn_hub_close(place->hub);
    place->hub = NULL;
    CHECK_STATUS(lmn_agent_run(&options, &err), LMN_E_UNAVAILABLE, &err);
    CHECK_HAS(err.message, "nobody answers at 127.0.0.1, port");
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_hub__##name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(workers),
        CASE(segments),
        CASE(calls),
        CASE(prints),
        CASE(the_next_job),
        CASE(crash),
        CASE(hang),
        CASE(hog),
        CASE(setup_fails),
        CASE(blind_node),
        CASE(wrong_token),
        CASE(noise),
        CASE(stop_while_waiting),
        CASE(bad_options),
        CASE(stop_and_resume),
        CASE(nobody_answers),
    };

    job_worker_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
