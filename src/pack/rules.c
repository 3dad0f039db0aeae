/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns are matched in two levels, each with one place to come back to: the names of a path
 * against the names of a pattern ("**" takes any number of them), and the characters of a name
 * ("*"). So a match costs at most the product of the lengths, whatever the pattern.
 */
#include "pack/rules.h"

#include <stdio.h>
#include <string.h>

enum { PATTERN_BYTES_MAX = 1024, RULES_MAX = 10000, REASON_CHARS = 64 };

/* The rules that plans are made with, before those of the user. */
static const struct {
    const char *reason, *lines;
    bool everywhere; /* also in installed packages, whose data is theirs */
} builtin[] = {
    { "cache", "__pycache__/\n*.pyc\n*.pyo\n", true },
    { "cache",
      ".cache/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.hypothesis/\n.tox/\n.nox/\n"
      ".ipynb_checkpoints/\nnode_modules/\n.DS_Store\n*~\n*.swp\n*.tmp\n*.o\n*.a\n",
      false },
    { "version control", ".git\n.hg/\n.svn/\n", false },
    { "editor", ".idea/\n.vscode/\n", false },
    { "notebook", "*.ipynb\n", false },
    { "virtual environment", ".venv/\nvenv/\n.conda/\n", false },
    { "table", "*.lance/\n_leman/\n", false },
    { "data",
      "*.parquet\n*.arrow\n*.feather\n*.csv\n*.tsv\n*.jsonl\n*.npy\n*.npz\n*.h5\n*.hdf5\n*."
      "tfrecord\n"
      "*.array_record\n*.sqlite\n*.sqlite3\n*.db\n*.tar\n*.tar.*\n*.tgz\n*.zip\n*.gz\n*.bz2\n*.xz\n"
      "*.zst\n*.7z\n*.iso\n*.log\n",
      false },
    { "media",
      "*.jpg\n*.jpeg\n*.png\n*.gif\n*.bmp\n*.tif\n*.tiff\n*.webp\n*.mp4\n*.mov\n*.avi\n*.mkv\n"
      "*.webm\n*.wav\n*.mp3\n*.flac\n*.ogg\n*.m4a\n*.pdf\n",
      false },
    { "model weights",
      "*.pt\n*.pth\n*.ckpt\n*.safetensors\n*.onnx\n*.gguf\n*.bin\n*.pkl\n*.pickle\n*.joblib\n",
      false },
};

/* Does `c` lie in the set that starts behind a '['? *end_out: behind its ']', or NULL: no set. */
static bool in_set(const uint8_t *p, const uint8_t *end, uint8_t c, const uint8_t **end_out)
{
    const uint8_t *start;
    bool inverse = p < end && (*p == '!' || *p == '^'), found = false;

    start = p += inverse;
    *end_out = NULL;
    while (p < end && (*p != ']' || p == start)) {
        uint8_t low = *p++, high = low;

        if (end - p > 1 && p[0] == '-' && p[1] != ']') {
            high = p[1];
            p += 2;
        }
        found = found || (low <= c && c <= high);
    }
    if (p < end)
        *end_out = p + 1;
    return found != inverse;
}

/* Does one item of a pattern other than '*' take `c`? *p moves behind the item. */
static bool item_takes(const uint8_t **p, const uint8_t *end, uint8_t c)
{
    const uint8_t *behind;
    uint8_t item = *(*p)++;

    if (item == '?')
        return true;
    if (item == '[') {
        bool found = in_set(*p, end, c, &behind);

        if (behind != NULL) {
            *p = behind;
            return found;
        }
    }
    if (item == '\\' && *p < end)
        item = *(*p)++;
    return item == c;
}

static bool name_fits(struct lmn__span pattern, struct lmn__span name)
{
    const uint8_t *p = pattern.data, *p_end = p + pattern.len, *p_back = NULL;
    const uint8_t *n = name.data, *n_end = n + name.len, *n_back = NULL;

    while (n < n_end) {
        const uint8_t *next = p;

        if (p < p_end && *p == '*') {
            p_back = ++p;
            n_back = n;
        } else if (p < p_end && item_takes(&next, p_end, *n)) {
            p = next;
            n++;
        } else if (p_back != NULL) {
            p = p_back; /* the star takes one more */
            n = ++n_back;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}

/* Cut the first name off; false behind the last. */
static bool next_name(struct lmn__span *rest, struct lmn__span *name_out)
{
    const uint8_t *slash;

    if (rest->data == NULL)
        return false;
    slash = rest->len != 0 ? memchr(rest->data, '/', rest->len) : NULL;
    *name_out = (struct lmn__span){ rest->data,
                                    slash != NULL ? (size_t)(slash - rest->data) : rest->len };
    if (slash == NULL)
        *rest = (struct lmn__span){ NULL, 0 };
    else
        *rest = (struct lmn__span){ slash + 1, rest->len - name_out->len - 1 };
    return true;
}

static bool is_any(struct lmn__span name)
{
    return name.len == 2 && name.data[0] == '*' && name.data[1] == '*';
}

static bool path_fits(struct lmn__span pattern, struct lmn__span path)
{
    struct lmn__span p_back = { NULL, 0 }, n_back = { NULL, 0 }, item, name;
    bool can_go_back = false;

    while (path.data != NULL) {
        struct lmn__span p_next = pattern, n_next = path;

        if (next_name(&p_next, &item) && is_any(item)) {
            pattern = p_back = p_next;
            n_back = path;
            can_go_back = true;
            if (pattern.data == NULL)
                return true; /* all that lies below */
            continue;
        }
        if (pattern.data != NULL && next_name(&n_next, &name) && name_fits(item, name)) {
            pattern = p_next;
            path = n_next;
        } else if (can_go_back && next_name(&n_back, &name) && n_back.data != NULL) {
            pattern = p_back;
            path = n_back;
        } else {
            return false;
        }
    }
    return pattern.data == NULL;
}

static bool rule_fits(const struct lmn__rule *rule, const char *path, bool is_folder)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *from = rule->from_top ? path : name;
    struct lmn__span text = { (const uint8_t *)from, strlen(from) };

    if (rule->folders && !is_folder)
        return false;
    return rule->from_top ? path_fits(rule->pattern, text) : name_fits(rule->pattern, text);
}

const char *lmn__rules_reason(const struct lmn__rules *rules, const char *path, bool is_folder)
{
    for (size_t i = rules->count; i > 0; i--) {
        const struct lmn__rule *rule = &rules->rule[i - 1];

        if (rule_fits(rule, path, is_folder))
            return rule->keeps ? NULL : rule->reason;
    }
    return NULL;
}

static enum lmn_status grow(struct lmn__rules *rules, struct lmn_error *err)
{
    size_t cap = rules->cap != 0 ? 2 * rules->cap : 64;
    struct lmn__rule *rule;

    if (rules->count < rules->cap)
        return LMN_OK;
    if (rules->count >= RULES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "more than %d patterns", RULES_MAX);
    rule = lmn__arena_array(rules->arena, cap, sizeof *rule);
    if (rule == NULL)
        return lmn__arena_fail(rules->arena, "patterns", err);
    if (rules->count != 0)
        memcpy(rule, rules->rule, rules->count * sizeof *rule);
    rules->rule = rule;
    rules->cap = cap;
    return LMN_OK;
}

/* What a plan says where a user's own pattern leaves something out. */
static const char *own_reason(struct lmn__rules *rules, struct lmn__span line)
{
    char text[REASON_CHARS];
    int len = snprintf(text, sizeof text, ".lemanignore: %.*s", (int)line.len,
                       (const char *)line.data);

    return lmn__arena_strndup(rules->arena, text,
                              len < REASON_CHARS ? (size_t)len : REASON_CHARS - 1);
}

static enum lmn_status add_line(struct lmn__rules *rules, struct lmn__span line, const char *reason,
                                struct lmn_error *err)
{
    struct lmn__rule rule = { .pattern = line, .reason = reason };
    struct lmn__span *p = &rule.pattern;
    enum lmn_status st;

    if (line.len > PATTERN_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a pattern of %zu bytes; at most %d are read", line.len,
                        PATTERN_BYTES_MAX);
    if (p->data[0] == '!') {
        rule.keeps = true;
        *p = (struct lmn__span){ p->data + 1, p->len - 1 };
    }
    if (p->len != 0 && p->data[p->len - 1] == '/') {
        rule.folders = true;
        p->len--;
    }
    rule.from_top = p->len != 0 && memchr(p->data, '/', p->len) != NULL;
    if (p->len != 0 && p->data[0] == '/')
        *p = (struct lmn__span){ p->data + 1, p->len - 1 };
    if (p->len == 0)
        return LMN_OK;
    if (reason == NULL)
        rule.reason = own_reason(rules, line);
    if (rule.reason == NULL)
        return lmn__arena_fail(rules->arena, "a pattern", err);
    st = grow(rules, err);
    if (st == LMN_OK)
        rules->rule[rules->count++] = rule;
    return st;
}

enum lmn_status lmn__rules_add(struct lmn__rules *rules, struct lmn__span text, const char *reason,
                               struct lmn_error *err)
{
    const char *copy = lmn__arena_strndup(rules->arena, text.data, text.len);
    const uint8_t *at = (const uint8_t *)copy, *end;

    if (copy == NULL)
        return lmn__arena_fail(rules->arena, "patterns", err);
    end = at + text.len;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        struct lmn__span line = { at, (size_t)((stop != NULL ? stop : end) - at) };
        enum lmn_status st = LMN_OK;

        at += line.len + 1;
        while (line.len != 0 && strchr(" \t\r", line.data[line.len - 1]) != NULL)
            line.len--;
        if (line.len != 0 && line.data[0] != '#')
            st = add_line(rules, line, reason, err);
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

enum lmn_status lmn__rules_init(struct lmn__rules *rules, struct lmn__arena *arena,
                                enum lmn_pack_kind kind, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *rules = (struct lmn__rules){ .arena = arena };
    for (size_t i = 0; i < sizeof builtin / sizeof builtin[0] && st == LMN_OK; i++) {
        struct lmn__span lines = { (const uint8_t *)builtin[i].lines, strlen(builtin[i].lines) };

        if (builtin[i].everywhere || kind != LMN_PACK_SITE)
            st = lmn__rules_add(rules, lines, builtin[i].reason, err);
    }
    return st;
}
