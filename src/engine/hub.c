/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent opens one connection for each thread of its worker. A guest is such a connection: it is
 * unknown until its first frame, HELLO, has come with the token, within HELLO_NS and HELLO_BYTES.
 * An agent is complete when as many known guests bear its name as it has threads.
 */
#include "engine/hub.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/record.h"
#include "os/host.h"
#include "os/random.h"
#include "os/tcp.h"
#include "os/thread.h"
#include "store/draft.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 128, HELLO_BYTES = 4096, AGENT_CHARS = 40, NONCE_CHARS = 40 };

static const uint64_t HELLO_NS = 10000000000ull;

struct guest {
    struct lmn__channel channel;
    uint64_t since_ns;
    bool known, gone;
    uint32_t thread;
    char agent[AGENT_CHARS];
    char node[LMN__CREW_NODE_CHARS];
    bool elsewhere;
};

struct lmn_hub {
    struct lmn_env *env; /* counted */
    int fd;
    uint16_t port;
    char token[TOKEN_MAX + 1];
    char machine[LMN__CREW_NODE_CHARS];
    char nonce[NONCE_CHARS];
    char root[LMN__HOST_PATH_CHARS];
    uint32_t threads;
    const char *const *worker_env; /* borrowed; NULL: nothing */
    struct guest *guest[LMN__HUB_GUESTS_MAX];
    uint32_t guest_count;
    struct lmn__mutex mutex;
    struct {
        char why[LMN__HUB_WHY_CHARS];
    } locked;
};

enum lmn_status lmn_hub_open(const struct lmn_hub_options *options, struct lmn_hub **hub_out,
                             struct lmn_error *err)
{
    size_t len = options->token != NULL ? strlen(options->token) : 0;
    struct lmn_env *env;
    struct lmn_hub *hub;
    enum lmn_status st;

    *hub_out = NULL;
    if (len < TOKEN_MIN || len > TOKEN_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a hub's token has %d to %d characters, not %zu",
                        TOKEN_MIN, TOKEN_MAX, len);
    st = lmn__env_resolve(NULL, &env, err);
    if (st != LMN_OK)
        return st;
    hub = lmn__calloc(env, 1, sizeof *hub);
    if (hub == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a hub", sizeof *hub);
    }
    hub->env = env;
    memcpy(hub->token, options->token, len);
    snprintf(hub->machine, sizeof hub->machine, "%s",
             options->machine != NULL ? options->machine : "");
    st = lmn__mutex_init(&hub->mutex, err);
    if (st == LMN_OK) {
        st = lmn__tcp_listen(options->address, &hub->fd, &hub->port, err);
        if (st != LMN_OK)
            lmn__mutex_deinit(&hub->mutex);
    }
    if (st != LMN_OK) {
        lmn__free(env, hub);
        lmn_env_release(env);
        return st;
    }
    *hub_out = hub;
    return LMN_OK;
}

uint16_t lmn_hub_port(const struct lmn_hub *hub)
{
    return hub->port;
}

const char *lmn_hub_root(const struct lmn_hub *hub)
{
    return hub->root;
}

void lmn_hub_explain(struct lmn_hub *hub, const char *why)
{
    lmn__mutex_lock(&hub->mutex);
    snprintf(hub->locked.why, sizeof hub->locked.why, "%s", why);
    lmn__mutex_unlock(&hub->mutex);
}

void lmn__hub_why(struct lmn_hub *hub, char why_out[LMN__HUB_WHY_CHARS])
{
    lmn__mutex_lock(&hub->mutex);
    memcpy(why_out, hub->locked.why, LMN__HUB_WHY_CHARS);
    lmn__mutex_unlock(&hub->mutex);
}

static void guest_free(struct lmn_hub *hub, struct guest *guest)
{
    lmn__channel_deinit(&guest->channel);
    lmn__free(hub->env, guest);
}

static void drop_all(struct lmn_hub *hub)
{
    for (uint32_t i = 0; i < hub->guest_count; i++)
        guest_free(hub, hub->guest[i]);
    hub->guest_count = 0;
}

void lmn_hub_close(struct lmn_hub *hub)
{
    struct lmn_env *env;

    if (hub == NULL)
        return;
    env = hub->env;
    drop_all(hub);
    lmn__socket_close(&hub->fd);
    lmn__mutex_deinit(&hub->mutex);
    lmn__free(env, hub);
    lmn_env_release(env);
}

enum lmn_status lmn__hub_begin(struct lmn_hub *hub, struct lmn_store *store, const char *job_id,
                               const char *root, uint32_t threads, const char *const *worker_env,
                               struct lmn_error *err)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__draft draft;
    enum lmn_status st = lmn__random_token(hub->nonce, err);

    hub->threads = threads;
    hub->worker_env = worker_env;
    snprintf(hub->root, sizeof hub->root, "%s", root);
    lmn__record_path(job_id, "nonce", path);
    if (st == LMN_OK)
        st = lmn__draft_open(store, path, &draft, err);
    if (st != LMN_OK)
        return st;
    st = lmn__draft_write_at(&draft, 0, hub->nonce, strlen(hub->nonce), err);
    if (st == LMN_OK)
        return lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, true, err);
    lmn__draft_abort(&draft);
    return st;
}

void lmn__hub_end(struct lmn_hub *hub, struct lmn_store *store, const char *job_id)
{
    char path[LMN__RECORD_PATH_CHARS];
    enum lmn_status st;

    drop_all(hub);
    hub->worker_env = NULL;
    lmn__socket_close(&hub->fd); /* who comes now finds nobody, and ends */
    lmn__record_path(job_id, "nonce", path);
    st = store->ops->remove(store, path, NULL);
    (void)st; /* it harms nobody */
}

uint32_t lmn__hub_polls(const struct lmn_hub *hub, struct lmn__poll *poll)
{
    poll[0] = (struct lmn__poll){ .fd = hub->fd,
                                  .wants_in = hub->guest_count < LMN__HUB_GUESTS_MAX };
    for (uint32_t i = 0; i < hub->guest_count; i++)
        poll[i + 1] = (struct lmn__poll){ .fd = hub->guest[i]->channel.fd, .wants_in = true };
    return hub->guest_count + 1;
}

/* Not faster for a token that begins right. */
static bool is_token(const struct lmn_hub *hub, struct lmn__span token)
{
    size_t len = strlen(hub->token);
    uint8_t differs = token.len == len ? 0 : 1;

    for (size_t i = 0; i < len && i < token.len; i++)
        differs |= (uint8_t)(token.data[i] ^ (uint8_t)hub->token[i]);
    return differs == 0;
}

static void copy_span(struct lmn__span span, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%.*s", (int)(span.len < text_bytes ? span.len : text_bytes),
             span.data != NULL ? (const char *)span.data : "");
}

static bool span_is(struct lmn__span span, const char *text)
{
    return span.len == strlen(text) && (span.len == 0 || memcmp(span.data, text, span.len) == 0);
}

/* Tell a guest why it cannot stay. */
static void refuse(struct guest *guest, const struct lmn_error *why)
{
    const struct lmn__answer_message answer = lmn__answer_of(why);
    struct lmn_error ignored;

    if (lmn__channel_put(&guest->channel, LMN__MESSAGE_REFUSED, &lmn__answer_pb, &answer,
                         &ignored) != LMN_OK ||
        lmn__channel_flush(&guest->channel, false, &ignored) != LMN_OK)
        guest->gone = true;
    guest->gone = true;
}

/* Tell a guest what its worker is started with. What does not go at once goes with its setup. */
static enum lmn_status welcome(struct lmn_hub *hub, struct guest *guest, struct lmn_error *err)
{
    struct lmn__welcome_message message = { 0 };
    struct lmn__arena arena;
    struct lmn_error ignored;
    size_t count = 0;
    enum lmn_status st;

    while (hub->worker_env != NULL && hub->worker_env[count] != NULL)
        count++;
    lmn__arena_init(&arena, hub->env, 0);
    message.variable.item = lmn__arena_array(&arena, count + 1, sizeof *message.variable.item);
    st = message.variable.item != NULL ? LMN_OK : lmn__arena_fail(&arena, "an environment", err);
    for (size_t i = 0; st == LMN_OK && i < count; i++)
        message.variable.item[message.variable.count++] =
            (struct lmn__span){ (const uint8_t *)hub->worker_env[i], strlen(hub->worker_env[i]) };
    if (st == LMN_OK)
        st = lmn__channel_put(&guest->channel, LMN__MESSAGE_WELCOME, &lmn__welcome_pb, &message,
                              err);
    if (st == LMN_OK && lmn__channel_flush(&guest->channel, false, &ignored) != LMN_OK)
        guest->gone = true;
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status greet(struct lmn_hub *hub, struct guest *guest,
                             const struct lmn__hello_message *hello, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    copy_span(hello->node, guest->node, sizeof guest->node);
    copy_span(hello->agent, guest->agent, sizeof guest->agent);
    guest->elsewhere = !span_is(hello->machine, hub->machine);
    guest->thread = hello->thread;
    if (hello->protocol != LMN__PROTOCOL_VERSION)
        st = lmn_fail(err, LMN_E_UNAVAILABLE,
                      "node %s speaks version %u of the workers' protocol, this job %d: install "
                      "the same version of leman on every node",
                      guest->node, hello->protocol, LMN__PROTOCOL_VERSION);
    else if (hello->threads != hub->threads || hello->thread >= hello->threads)
        st = lmn_fail(err, LMN_E_UNAVAILABLE, "node %s has thread %u of %u for a job of %u each",
                      guest->node, hello->thread, hello->threads, hub->threads);
    else if (!span_is(hello->nonce, hub->nonce))
        st = lmn_fail(
            err, LMN_E_UNAVAILABLE,
            "node %s does not see the table at %.150s: mount its folder there on every node, "
            "or say path_map={\"/path/here\": \"/path/on/nodes\"}",
            guest->node, hub->root);
    guest->known = st == LMN_OK;
    if (st != LMN_OK)
        refuse(guest, err);
    else if (guest->thread == 0)
        st = welcome(hub, guest, err);
    return st;
}

/* Is what has come of a first frame more than one may have? */
static bool is_too_long(const struct lmn__channel *channel)
{
    size_t len = channel->in.len - channel->in_at;

    return len >= LMN__FRAME_HEAD_BYTES &&
           lmn__load_u32(channel->in.data + channel->in_at) > HELLO_BYTES;
}

static enum lmn_status hear_guest(struct lmn_hub *hub, struct guest *guest, struct lmn_error *err)
{
    struct lmn__hello_message hello;
    struct lmn__arena arena;
    struct lmn__frame frame;
    struct lmn_error ignored;
    bool closed;
    enum lmn_status st = lmn__channel_receive(&guest->channel, false, &closed, &ignored);

    /* A known guest has nothing to say before it is spoken to. */
    if (st != LMN_OK || closed || guest->known || is_too_long(&guest->channel) ||
        lmn__channel_next(&guest->channel, &frame, &ignored) != LMN_OK ||
        (frame.body.data != NULL && frame.kind != LMN__MESSAGE_HELLO)) {
        guest->gone = true;
        return LMN_OK;
    }
    if (frame.body.data == NULL)
        return LMN_OK;
    lmn__arena_init(&arena, hub->env, HELLO_BYTES * 4);
    st = LMN_OK;
    if (lmn__hello_decode(frame.body, &arena, &hello, &ignored) != LMN_OK ||
        !is_token(hub, hello.token))
        guest->gone = true;
    else
        st = greet(hub, guest, &hello, err);
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status accept_one(struct lmn_hub *hub, uint64_t now_ns, bool *more_out,
                                  struct lmn_error *err)
{
    int fd = hub->guest_count < LMN__HUB_GUESTS_MAX ? lmn__tcp_accept(hub->fd) : -1;
    struct guest *guest;

    *more_out = fd >= 0;
    if (fd < 0)
        return LMN_OK;
    guest = lmn__calloc(hub->env, 1, sizeof *guest);
    if (guest == NULL) {
        lmn__socket_close(&fd);
        return lmn__no_memory(err, "a guest", sizeof *guest);
    }
    lmn__channel_init(&guest->channel, hub->env, fd);
    guest->since_ns = now_ns;
    hub->guest[hub->guest_count++] = guest;
    return LMN_OK;
}

static void drop_gone(struct lmn_hub *hub, uint64_t now_ns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < hub->guest_count; i++) {
        struct guest *guest = hub->guest[i];

        if (guest->gone || (!guest->known && now_ns > guest->since_ns + HELLO_NS))
            guest_free(hub, guest);
        else
            hub->guest[kept++] = guest;
    }
    hub->guest_count = kept;
}

enum lmn_status lmn__hub_hear(struct lmn_hub *hub, const struct lmn__poll *poll, uint64_t now_ns,
                              struct lmn_error *err)
{
    bool more = poll[0].in;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < hub->guest_count; i++) {
        if (poll[i + 1].in)
            st = hear_guest(hub, hub->guest[i], err);
    }
    while (st == LMN_OK && more)
        st = accept_one(hub, now_ns, &more, err);
    drop_gone(hub, now_ns);
    return st;
}

/* How many connections of a guest's agent are here. */
static uint32_t count_of(const struct lmn_hub *hub, const struct guest *guest)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < hub->guest_count; i++)
        count += hub->guest[i]->known && strcmp(hub->guest[i]->agent, guest->agent) == 0;
    return count;
}

enum lmn_status lmn__hub_take(struct lmn_hub *hub, struct lmn_env *env,
                              struct lmn__crew_worker **worker_out, struct lmn_error *err)
{
    const struct guest *found = NULL;
    char agent[AGENT_CHARS];
    enum lmn_status st;

    *worker_out = NULL;
    for (uint32_t i = 0; found == NULL && i < hub->guest_count; i++) {
        if (hub->guest[i]->known && count_of(hub, hub->guest[i]) == hub->threads)
            found = hub->guest[i];
    }
    if (found == NULL)
        return LMN_OK;
    st = lmn__crew_take_remote(env, hub->threads, found->node, found->elsewhere, worker_out, err);
    if (st != LMN_OK)
        return st;
    memcpy(agent, found->agent, sizeof agent);
    for (uint32_t i = 0; i < hub->guest_count; i++) {
        struct guest *guest = hub->guest[i];

        if (!guest->known || strcmp(guest->agent, agent) != 0)
            continue;
        lmn__channel_deinit(&(*worker_out)->channel[guest->thread]);
        (*worker_out)->channel[guest->thread] = guest->channel;
        guest->channel = (struct lmn__channel){ .fd = -1, .pass = -1 };
        guest->gone = true;
    }
    drop_gone(hub, 0);
    return LMN_OK;
}
