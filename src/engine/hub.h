/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.h - agents of other machines, from their first word until a job takes them.
 *
 * But for lmn_hub_explain(), a hub belongs to the driver's thread once a job has it.
 */
#ifndef LMN_ENGINE_HUB_H
#define LMN_ENGINE_HUB_H

#include <leman/hub.h>

#include "engine/crew.h"
#include "os/socket.h"
#include "store/store.h"

enum { LMN__HUB_GUESTS_MAX = 512, LMN__HUB_WHY_CHARS = 160 };

/*
 * Begin to serve a job: a nonce is written beside its record, and agents that cannot read it are
 * refused. `root` is the table's folder, for messages. `worker_env`, texts NAME=value that end with
 * NULL or NULL itself, is what agents start workers with; borrowed until lmn__hub_end().
 */
LMN_MUST_USE enum lmn_status lmn__hub_begin(struct lmn_hub *hub, struct lmn_store *store,
                                            const char *job_id, const char *root, uint32_t threads,
                                            const char *const *worker_env, struct lmn_error *err);

/* The nonce goes, and those that wait are let go. */
void lmn__hub_end(struct lmn_hub *hub, struct lmn_store *store, const char *job_id);

/* What it waits for: up to LMN__HUB_GUESTS_MAX + 1 entries. */
uint32_t lmn__hub_polls(const struct lmn_hub *hub, struct lmn__poll *poll);

/*
 * Hear who came, with the answers to lmn__hub_polls(). Those that do not know the token are shown
 * the door.
 *
 * LMN_E_UNAVAILABLE  a machine that knows it does not see the table, or is not of this version; the
 *                    message names it
 */
LMN_MUST_USE enum lmn_status lmn__hub_hear(struct lmn_hub *hub, const struct lmn__poll *poll,
                                           uint64_t now_ns, struct lmn_error *err);

/* An agent that waits becomes a worker; *worker_out is NULL when none does. */
LMN_MUST_USE enum lmn_status lmn__hub_take(struct lmn_hub *hub, struct lmn_env *env,
                                           struct lmn__crew_worker **worker_out,
                                           struct lmn_error *err);

/* What lmn_hub_explain() was told last; "" when nothing. */
void lmn__hub_why(struct lmn_hub *hub, char why_out[LMN__HUB_WHY_CHARS]);

#endif
