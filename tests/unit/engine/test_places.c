/* SPDX-License-Identifier: Apache-2.0 */
/* What fits a machine, what others hold of it, and the sum that a plan shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "engine/admission.h"
#include "stores.h"

static struct lmn__room room_of(double cpus, uint64_t memory, uint32_t gpus)
{
    struct lmn__room room = { .cpus = cpus, .memory_bytes = memory, .gpu_count = gpus };

    for (uint32_t i = 0; i < gpus; i++) {
        room.gpu_id[i] = i + 4;
        room.gpu_left[i] = 1;
    }
    return room;
}

static void test_room__fits(void **state)
{
    const struct lmn__room room = room_of(4, 1000, 2);
    const struct lmn__need tenth = { .cpus = 0.1 }, half = { .cpus = 1, .gpus = 0.5 };
    const struct lmn__need two = { .gpus = 2 }, many = { .gpus = 3 },
                           large = { .memory_bytes = 400 };

    (void)state;
    CHECK_EQ(lmn__room_fits(&room, &tenth, 100), 40);
    CHECK_EQ(lmn__room_fits(&room, &tenth, 8), 8);
    CHECK_EQ(lmn__room_fits(&room, &half, 100), 4);
    CHECK_EQ(lmn__room_fits(&room, &two, 100), 1);
    CHECK_EQ(lmn__room_fits(&room, &many, 100), 0);
    CHECK_EQ(lmn__room_fits(&room, &large, 100), 2);
}

static void test_places__others_are_seen(void **state)
{
    char *dir = test_dir_make(), blocker[LMN__PLACES_BLOCKER_CHARS], text[64];
    const struct lmn__room room = room_of(4, 1 << 30, 2);
    const struct lmn__need need = { .cpus = 1, .gpus = 1, .memory_bytes = 100 << 20 };
    const struct lmn__need cpu = { .cpus = 1.5 };
    struct lmn__places first, second, third;
    struct lmn_error err;
    uint32_t count;

    (void)state;
    setenv("XDG_STATE_HOME", dir, 1);
    CHECK_STATUS(
        lmn__places_take(&first, test_env(), &room, &need, 1, "one", &count, blocker, &err), LMN_OK,
        &err);
    CHECK_EQ(count, 1);
    lmn__places_gpu_text(&first, 0, text, sizeof text);
    CHECK_STR(text, "CUDA_VISIBLE_DEVICES=4");
    CHECK_STATUS(
        lmn__places_take(&second, test_env(), &room, &need, 4, "two", &count, blocker, &err),
        LMN_OK, &err);
    CHECK_EQ(count, 1); /* there is one GPU left */
    lmn__places_gpu_text(&second, 0, text, sizeof text);
    CHECK_STR(text, "CUDA_VISIBLE_DEVICES=5");
    CHECK_STATUS(
        lmn__places_take(&third, test_env(), &room, &need, 4, "three", &count, blocker, &err),
        LMN_OK, &err);
    CHECK_EQ(count, 0);
    CHECK_HAS(blocker, "holds 1 CPU, 100 MiB");
    lmn__places_free(&third);
    CHECK_STATUS(
        lmn__places_take(&third, test_env(), &room, &cpu, 4, "three", &count, blocker, &err),
        LMN_OK, &err);
    CHECK_EQ(count, 1); /* 2 of 4 CPUs are left */
    lmn__places_gpu_text(&third, 0, text, sizeof text);
    CHECK_STR(text, "CUDA_VISIBLE_DEVICES="); /* who asks for none sees none */
    lmn__places_free(&third);
    lmn__places_free(&second);
    lmn__places_free(&first);
    CHECK_STATUS(
        lmn__places_take(&third, test_env(), &room, &need, 4, "three", &count, blocker, &err),
        LMN_OK, &err);
    CHECK_EQ(count, 2);
    lmn__places_free(&third);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void check_gpus(const struct lmn__places *places, uint32_t worker, const char *wanted)
{
    char text[128];

    lmn__places_gpu_text(places, worker, text, sizeof text);
    CHECK_STR(text, wanted);
}

/* Parts of a GPU share it; several are several; names are those that the process was given. */
static void test_places__gpus_of_workers(void **state)
{
    struct lmn__places places = { .need = { .gpus = 0.5 }, .room = room_of(4, 1 << 30, 2) };
    struct lmn__room room;

    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    check_gpus(&places, 0, "CUDA_VISIBLE_DEVICES=4");
    check_gpus(&places, 1, "CUDA_VISIBLE_DEVICES=4");
    check_gpus(&places, 2, "CUDA_VISIBLE_DEVICES=5");
    places.need.gpus = 2;
    check_gpus(&places, 0, "CUDA_VISIBLE_DEVICES=4,5");
    setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937,MIG-4", 1);
    lmn__room_of_host(&room);
    CHECK_EQ(room.gpu_count, 2);
    places = (struct lmn__places){ .need = { .gpus = 1 }, .room = room };
    check_gpus(&places, 0, "CUDA_VISIBLE_DEVICES=GPU-8932f937");
    check_gpus(&places, 1, "CUDA_VISIBLE_DEVICES=MIG-4");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    lmn__room_of_host(&room);
    CHECK_EQ(room.gpu_count, 0);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* Without a state directory a job goes on as if it were alone. */
static void test_places__no_state_directory(void **state)
{
    char blocker[LMN__PLACES_BLOCKER_CHARS];
    const struct lmn__room room = room_of(2, 1 << 30, 0);
    const struct lmn__need need = { .cpus = 1 };
    struct lmn__places places;
    struct lmn_error err;
    uint32_t count;

    (void)state;
    setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
    CHECK_STATUS(
        lmn__places_take(&places, test_env(), &room, &need, 8, "one", &count, blocker, &err),
        LMN_OK, &err);
    CHECK_EQ(count, 2);
    lmn__places_free(&places);
}

static void test_admission__sum(void **state)
{
    const struct lmn_job_function function[] = { { .cpus = 1, .memory_bytes = 1 << 20 },
                                                 { .cpus = 0.5, .gpus = 0.25 } };
    struct lmn_job_options options = { .concurrency = 4, .threads = 2 };
    struct lmn__json_writer writer;
    struct lmn__admission sum;
    struct lmn_error err;
    struct lmn__buf buf;
    char text[400];

    (void)state;
    CHECK_STATUS(lmn__admission_add(function, 2, &options, 1000, &sum, &err), LMN_OK, &err);
    CHECK_EQ(sum.need.cpus * 10, 20);
    CHECK_EQ(sum.need.gpus * 100, 25);
    CHECK_EQ(sum.need.memory_bytes, 1 << 20);
    lmn__buf_init(&buf, test_env(), 0);
    writer = (struct lmn__json_writer){ &buf, false };
    lmn__json_open(&writer, NULL, '{');
    lmn__admission_write(&sum, &writer);
    lmn__json_close(&writer, '}');
    lmn__buf_put_u8(&buf, 0);
    CHECK_HAS((const char *)buf.data, "{\"what\": \"driver\", \"count\": 1, \"cpus_each\": 0");
    CHECK_HAS((const char *)buf.data,
              "{\"what\": \"workers\", \"count\": 4, \"cpus_each\": 2, \"cpus\": 8, \"gpus\": 1,");
    CHECK_HAS((const char *)buf.data, "\"what\": \"writers\", \"count\": 0");
    CHECK_HAS((const char *)buf.data, "\"total\": {\"cpus\": 8, \"gpus\": 1,");
    lmn__buf_deinit(&buf);
    sum.workers = 0;
    lmn__admission_complaint(&sum, text, sizeof text);
    CHECK_HAS(text, "one worker needs 2 CPU, 0.25 GPU, 1 MiB");
    options.threads = 1000;
    CHECK_STATUS(lmn__admission_add(function, 2, &options, 1000, &sum, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "1000 threads");
}

/* Few rows do not make many workers. */
static void test_admission__follows_rows(void **state)
{
    const struct lmn_job_function function = { .cpus = 0.01 };
    const struct lmn_job_options options = { 0 };
    struct lmn__admission sum;

    (void)state;
    CHECK_OK(lmn__admission_add(&function, 1, &options, 10, &sum, NULL));
    CHECK_EQ(sum.workers, 1);
    CHECK_OK(lmn__admission_add(&function, 1, &options, 1000000, &sum, NULL));
    CHECK_EQ(sum.workers, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room__fits),
        cmocka_unit_test(test_places__others_are_seen),
        cmocka_unit_test(test_places__gpus_of_workers),
        cmocka_unit_test(test_places__no_state_directory),
        cmocka_unit_test(test_admission__sum),
        cmocka_unit_test(test_admission__follows_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
