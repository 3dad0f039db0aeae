/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - whether a job fits this machine: the sum of what it asks for.
 */
#ifndef LMN_ENGINE_ADMISSION_H
#define LMN_ENGINE_ADMISSION_H

#include <leman/job.h>

#include "base/json_write.h"
#include "engine/places.h"

/* What a job asks for, before other jobs are looked at. */
struct lmn__admission {
    struct lmn__need need; /* of one worker */
    uint32_t threads;
    uint32_t wanted;  /* workers that were asked for; 0: what fits */
    uint32_t workers; /* that the machine has room for; 0: none */
    bool in_process;
    struct lmn__room room;
};

/*
 * Add up what the functions of a job ask for. `rows` are to be computed: there are not more workers
 * than make sense for them.
 *
 * LMN_E_INVALID  more threads than a worker can have
 */
LMN_MUST_USE enum lmn_status lmn__admission_add(const struct lmn_job_function *function,
                                                uint32_t function_count,
                                                const struct lmn_job_options *options,
                                                uint64_t rows, struct lmn__admission *sum_out,
                                                struct lmn_error *err);

/* Why a job never fits; "" when it does. */
void lmn__admission_complaint(const struct lmn__admission *sum, char *text_out, size_t text_bytes);

/* The sum line by line, as members of a JSON object. */
void lmn__admission_write(const struct lmn__admission *sum, struct lmn__json_writer *writer);

#endif
