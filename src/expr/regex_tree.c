/* SPDX-License-Identifier: Apache-2.0 */
/*
 * either := join { "|" join }
 * join   := { one [count] }
 * one    := character | "." | "[" set "]" | "\" escape | "^" | "$" | "(" [kind] either ")"
 * kind   := "?:" | "?<name>" | "?P<name>" | "?flags:"; "(?flags)" holds for what follows
 */
#include "expr/regex_tree.h"

#include "expr/casing.h"

enum { REPEAT_MAX = 1000, DEPTH_MAX = 100 };

enum lmn_status lmn__regex_refuse(const struct lmn__regex_reader *reader, const char *what)
{
    return lmn__bind_fail(reader->binder, reader->place, LMN_E_INVALID,
                          "the regular expression %s (at its byte %zu)", what, reader->at);
}

static bool more(const struct lmn__regex_reader *reader)
{
    return reader->at < reader->text.len;
}

static uint8_t peek(const struct lmn__regex_reader *reader)
{
    return more(reader) ? reader->text.data[reader->at] : 0;
}

static uint32_t take(struct lmn__regex_reader *reader)
{
    struct lmn__span rest = { reader->text.data + reader->at, reader->text.len - reader->at };
    uint32_t bytes, c = lmn__utf8_decode(rest, &bytes);

    reader->at += bytes;
    return c;
}

static enum lmn_status node_new(struct lmn__regex_reader *reader, enum lmn__regex_kind kind,
                                struct lmn__regex_node *left, struct lmn__regex_node *right,
                                struct lmn__regex_node **node_out)
{
    *node_out = lmn__arena_alloc(reader->binder->arena, sizeof **node_out);
    if (*node_out == NULL)
        return lmn__bind_no_memory(reader->binder);
    (*node_out)->kind = kind;
    (*node_out)->left = left;
    (*node_out)->right = right;
    return LMN_OK;
}

static enum lmn_status set_add(struct lmn__regex_reader *reader, struct lmn__regex_set *set,
                               uint32_t first, uint32_t last)
{
    if (set->count == set->room) {
        uint32_t room = set->room != 0 ? set->room * 2 : 4;
        struct lmn__regex_range *grown = lmn__arena_array(reader->binder->arena, room,
                                                          sizeof *grown);

        if (grown == NULL)
            return lmn__bind_no_memory(reader->binder);
        if (set->count != 0)
            memcpy(grown, set->range, set->count * sizeof *grown);
        set->range = grown;
        set->room = room;
    }
    set->mixed = set->mixed || (set->count != 0 && set->range[set->count - 1].last >= first);
    set->range[set->count++] = (struct lmn__regex_range){ first, last };
    return LMN_OK;
}

static bool in_ranges(const struct lmn__regex_set *set, uint32_t c)
{
    if (!set->mixed)
        return lmn__regex_in_sorted(set->range, set->count, c);
    for (uint32_t i = 0; i < set->count; i++) {
        if (c >= set->range[i].first && c <= set->range[i].last)
            return true;
    }
    return false;
}

/* \d and its kin into a set; *known_out is false for other letters. */
static enum lmn_status add_class(struct lmn__regex_reader *reader, uint32_t letter,
                                 struct lmn__regex_set *set, bool *known_out)
{
    bool negated = letter == 'D' || letter == 'W' || letter == 'S';
    uint32_t count, next = 0;
    const struct lmn__regex_range *range = lmn__regex_class(negated ? letter | 0x20 : letter,
                                                            &count);
    enum lmn_status st = LMN_OK;

    *known_out = range != NULL;
    for (uint32_t i = 0; st == LMN_OK && *known_out && i < count; i++) {
        if (!negated)
            st = set_add(reader, set, range[i].first, range[i].last);
        else if (range[i].first > next)
            st = set_add(reader, set, next, range[i].first - 1);
        next = range[i].last + 1;
    }
    if (st == LMN_OK && *known_out && negated && next <= 0x10ffff)
        st = set_add(reader, set, next, 0x10ffff);
    return st;
}

/* Behind "\\x" or "\\u": two or four hex digits, or any between braces. */
static enum lmn_status parse_hex(struct lmn__regex_reader *reader, uint32_t digits, uint32_t *out)
{
    bool braces = peek(reader) == '{';
    uint32_t count = 0;

    *out = 0;
    reader->at += braces;
    for (digits = braces ? 6 : digits; count < digits; count++, reader->at++) {
        uint8_t c = peek(reader), letter = (uint8_t)((c | 0x20) - 'a');

        if ((c < '0' || c > '9') && letter >= 6)
            break;
        *out = *out * 16 + (uint32_t)(c <= '9' ? c - '0' : letter + 10);
    }
    if (braces ? count == 0 || peek(reader) != '}' : count != digits)
        return lmn__regex_refuse(reader, "has an escape without its hex digits");
    reader->at += braces;
    return LMN_OK;
}

/* The character that an escaped one stands for. */
static enum lmn_status escaped(struct lmn__regex_reader *reader, uint32_t c, uint32_t *out)
{
    static const char from[] = "nrtfv0", to[] = "\n\r\t\f\v\0";
    const char *found = c != 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

    *out = c;
    if (c == 'x' || c == 'u')
        return parse_hex(reader, c == 'x' ? 2 : 4, out);
    if (found != NULL)
        *out = (uint8_t)to[found - from];
    else if (c < 0x80 && ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
        return lmn__regex_refuse(reader, "has an escape that is not known here");
    return LMN_OK;
}

/* Behind "[:" in a set: a class of ASCII characters by its name. */
static enum lmn_status parse_class(struct lmn__regex_reader *reader, struct lmn__regex_set *set)
{
    static const struct {
        const char *name, *ranges;
    } classes[] = {
        { "alpha:]", "AZaz" },    { "digit:]", "09" },       { "alnum:]", "09AZaz" },
        { "upper:]", "AZ" },      { "lower:]", "az" },       { "space:]", "\t\r  " },
        { "blank:]", "\t\t  " },  { "punct:]", "!/:@[`{~" }, { "xdigit:]", "09AFaf" },
        { "word:]", "09AZ__az" }, { "graph:]", "!~" },       { "print:]", " ~" },
    };
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        size_t len = strlen(classes[i].name);

        if (reader->text.len - reader->at < len ||
            memcmp(reader->text.data + reader->at, classes[i].name, len) != 0)
            continue;
        reader->at += len;
        for (const char *range = classes[i].ranges; st == LMN_OK && *range != 0; range += 2)
            st = set_add(reader, set, (uint8_t)range[0], (uint8_t)range[1]);
        return st;
    }
    return lmn__regex_refuse(reader, "names a class of characters that is not known here");
}

/* Behind '[' */
static enum lmn_status parse_set(struct lmn__regex_reader *reader, struct lmn__regex_set *set)
{
    enum lmn_status st = LMN_OK;
    bool first = true;

    set->negated = peek(reader) == '^';
    reader->at += set->negated;
    for (; st == LMN_OK && (first || peek(reader) != ']'); first = false) {
        uint32_t low, high;
        bool known = false;

        if (!more(reader))
            return lmn__regex_refuse(reader, "has a '[' without ']'");
        low = take(reader);
        if (low == '[' && peek(reader) == ':') {
            reader->at++;
            st = parse_class(reader, set);
            continue;
        }
        if (low == '\\' && more(reader)) {
            low = take(reader);
            st = add_class(reader, low, set, &known);
            if (st == LMN_OK && !known)
                st = escaped(reader, low, &low);
        }
        if (st != LMN_OK || known)
            continue;
        high = low;
        if (peek(reader) == '-' && reader->at + 1 < reader->text.len &&
            reader->text.data[reader->at + 1] != ']') {
            reader->at++;
            high = take(reader);
            if (high == '\\' && more(reader))
                st = escaped(reader, take(reader), &high);
        }
        if (st == LMN_OK && high < low)
            return lmn__regex_refuse(reader, "has a range that ends before it starts");
        if (st == LMN_OK)
            st = set_add(reader, set, low, high);
    }
    reader->at++;
    return st;
}

static enum lmn_status parse_either(struct lmn__regex_reader *reader,
                                    struct lmn__regex_node **node_out);

bool lmn__regex_flag(struct lmn__regex_flags *flags, uint8_t letter, bool on)
{
    bool *flag = letter == 'i'   ? &flags->fold
                 : letter == 's' ? &flags->dot_all
                 : letter == 'm' ? &flags->lines
                                 : NULL;

    if (flag != NULL)
        *flag = on;
    return flag != NULL;
}

/* Behind "(?<" or "(?P<": the name, and its end. */
static enum lmn_status parse_name(struct lmn__regex_reader *reader, uint32_t group)
{
    size_t from = reader->at;
    struct lmn__span name;

    while (more(reader) && peek(reader) != '>')
        reader->at++;
    name = (struct lmn__span){ reader->text.data + from, reader->at - from };
    if (!more(reader) || name.len == 0)
        return lmn__regex_refuse(reader, "has a group whose name does not end");
    reader->at++;
    for (uint32_t i = 1; i < group && i < LMN__REGEX_GROUPS_MAX; i++) {
        if (reader->name[i].len == name.len &&
            memcmp(reader->name[i].data, name.data, name.len) == 0)
            return lmn__regex_refuse(reader, "has two groups of one name");
    }
    if (group < LMN__REGEX_GROUPS_MAX)
        reader->name[group] = name;
    return LMN_OK;
}

/* Behind "(?": flags up to ':' or ')'. */
static enum lmn_status parse_flags(struct lmn__regex_reader *reader)
{
    bool on = true;

    for (; peek(reader) != ':' && peek(reader) != ')'; reader->at++) {
        if (peek(reader) == '-' && on)
            on = false;
        else if (!lmn__regex_flag(&reader->flags, peek(reader), on))
            return lmn__regex_refuse(reader, "has a group that looks around, or with flags other "
                                             "than i, m and s");
    }
    return LMN_OK;
}

/* What stands behind "(?"; *group_out is 0 for a group without a place. */
static enum lmn_status parse_kind(struct lmn__regex_reader *reader, uint32_t *group_out)
{
    size_t left = reader->text.len - reader->at;
    const uint8_t *at = reader->text.data + reader->at;
    bool named = left > 3 && at[1] == 'P' && at[2] == '<';

    *group_out = 0;
    if (named || (left > 2 && at[1] == '<' && at[2] != '=' && at[2] != '!')) {
        *group_out = ++reader->group_count;
        reader->at += named ? 3 : 2;
        return parse_name(reader, *group_out);
    }
    reader->at++;
    return parse_flags(reader);
}

/* Behind '(' */
static enum lmn_status parse_group(struct lmn__regex_reader *reader,
                                   struct lmn__regex_node **node_out)
{
    struct lmn__regex_flags outside = reader->flags;
    struct lmn__regex_node *inner;
    uint32_t group = 0;
    bool opened = peek(reader) == '?';
    enum lmn_status st = LMN_OK;

    if (opened)
        st = parse_kind(reader, &group);
    else
        group = ++reader->group_count;
    if (st != LMN_OK)
        return st;
    if (opened && group == 0) {
        reader->at++;
        /* Flags alone hold for what follows. */
        if (reader->text.data[reader->at - 1] == ')')
            return node_new(reader, LMN__REGEX_EMPTY, NULL, NULL, node_out);
    }
    if (++reader->depth > DEPTH_MAX)
        return lmn__regex_refuse(reader, "nests too deep");
    st = parse_either(reader, &inner);
    reader->depth--;
    reader->flags = outside;
    if (st != LMN_OK)
        return st;
    if (peek(reader) != ')')
        return lmn__regex_refuse(reader, "has a '(' without ')'");
    reader->at++;
    *node_out = inner;
    if (group == 0 || group >= LMN__REGEX_GROUPS_MAX)
        return LMN_OK;
    st = node_new(reader, LMN__REGEX_GROUP, inner, NULL, node_out);
    if (st == LMN_OK)
        (*node_out)->group = group;
    return st;
}

static enum lmn_status parse_assertion(struct lmn__regex_reader *reader, int32_t assertion,
                                       struct lmn__regex_node **node_out)
{
    enum lmn_status st = node_new(reader, LMN__REGEX_ASSERT, NULL, NULL, node_out);

    if (st == LMN_OK)
        (*node_out)->assertion = assertion;
    return st;
}

static enum lmn_status parse_escape(struct lmn__regex_reader *reader,
                                    struct lmn__regex_node **node_out)
{
    uint32_t c;
    bool known;
    enum lmn_status st;

    if (!more(reader))
        return lmn__regex_refuse(reader, "ends with a backslash");
    c = take(reader);
    if (c == LMN__REGEX_WORD || c == LMN__REGEX_NO_WORD || c == 'A' || c == 'z')
        return parse_assertion(reader,
                               c == 'A'   ? LMN__REGEX_START
                               : c == 'z' ? LMN__REGEX_END
                                          : (int32_t)c,
                               node_out);
    st = node_new(reader, LMN__REGEX_SET, NULL, NULL, node_out);
    if (st != LMN_OK)
        return st;
    (*node_out)->set.fold = reader->flags.fold;
    st = add_class(reader, c, &(*node_out)->set, &known);
    if (st != LMN_OK || known)
        return st;
    st = escaped(reader, c, &c);
    return st == LMN_OK ? set_add(reader, &(*node_out)->set, c, c) : st;
}

static enum lmn_status parse_one(struct lmn__regex_reader *reader,
                                 struct lmn__regex_node **node_out)
{
    uint32_t c = take(reader);
    enum lmn_status st;

    if (c == '(')
        return parse_group(reader, node_out);
    if (c == '\\')
        return parse_escape(reader, node_out);
    if (c == '*' || c == '+' || c == '?')
        return lmn__regex_refuse(reader, "repeats nothing");
    if (c == '^' || c == '$')
        return parse_assertion(reader,
                               !reader->flags.lines ? (int32_t)c
                               : c == '^'           ? LMN__REGEX_LINE_START
                                                    : LMN__REGEX_LINE_END,
                               node_out);
    st = node_new(reader, LMN__REGEX_SET, NULL, NULL, node_out);
    if (st != LMN_OK)
        return st;
    (*node_out)->set.fold = reader->flags.fold;
    if (c == '[')
        return parse_set(reader, &(*node_out)->set);
    if (c != '.')
        return set_add(reader, &(*node_out)->set, c, c);
    (*node_out)->set.negated = true;
    return reader->flags.dot_all ? LMN_OK : set_add(reader, &(*node_out)->set, '\n', '\n');
}

static bool take_count(struct lmn__regex_reader *reader, int32_t *out)
{
    bool any = false;

    *out = 0;
    while (peek(reader) >= '0' && peek(reader) <= '9' && *out <= REPEAT_MAX) {
        *out = *out * 10 + (peek(reader) - '0');
        reader->at++;
        any = true;
    }
    return any;
}

/* * + ? {m} {m,} {m,n}; *there_out is false when none follows. */
static enum lmn_status parse_count(struct lmn__regex_reader *reader, int32_t *least, int32_t *most,
                                   bool *lazy, bool *there_out)
{
    uint8_t c = peek(reader);

    *there_out = c == '*' || c == '+' || c == '?' || c == '{';
    if (!*there_out)
        return LMN_OK;
    reader->at++;
    *least = c == '+';
    *most = c == '?' ? 1 : LMN__REGEX_NO_LIMIT;
    if (c == '{') {
        if (!take_count(reader, least))
            return lmn__regex_refuse(reader, "has a '{' without a number");
        *most = *least;
        if (peek(reader) == ',') {
            reader->at++;
            if (!take_count(reader, most))
                *most = LMN__REGEX_NO_LIMIT;
        }
        if (peek(reader) != '}')
            return lmn__regex_refuse(reader, "has a '{' without '}'");
        reader->at++;
    }
    if (*least > REPEAT_MAX || *most > REPEAT_MAX ||
        (*most != LMN__REGEX_NO_LIMIT && *most < *least))
        return lmn__regex_refuse(reader, "has a count that is out of range");
    *lazy = peek(reader) == '?';
    reader->at += *lazy;
    return LMN_OK;
}

static enum lmn_status parse_join(struct lmn__regex_reader *reader,
                                  struct lmn__regex_node **node_out)
{
    enum lmn_status st = node_new(reader, LMN__REGEX_EMPTY, NULL, NULL, node_out);

    while (st == LMN_OK && more(reader) && peek(reader) != '|' && peek(reader) != ')') {
        struct lmn__regex_node *one = NULL, *repeated;
        int32_t least, most;
        bool there = true, lazy = false;

        st = parse_one(reader, &one);
        while (st == LMN_OK && there) {
            st = parse_count(reader, &least, &most, &lazy, &there);
            if (st != LMN_OK || !there)
                break;
            if (one->kind == LMN__REGEX_REPEAT)
                return lmn__regex_refuse(reader, "repeats a repetition");
            st = node_new(reader, LMN__REGEX_REPEAT, one, NULL, &repeated);
            if (st != LMN_OK)
                return st;
            repeated->least = least;
            repeated->most = most;
            repeated->lazy = lazy;
            one = repeated;
        }
        if (st == LMN_OK)
            st = node_new(reader, LMN__REGEX_JOIN, *node_out, one, node_out);
    }
    return st;
}

static enum lmn_status parse_either(struct lmn__regex_reader *reader,
                                    struct lmn__regex_node **node_out)
{
    enum lmn_status st = parse_join(reader, node_out);

    while (st == LMN_OK && peek(reader) == '|') {
        struct lmn__regex_node *right;

        reader->at++;
        st = parse_join(reader, &right);
        if (st == LMN_OK)
            st = node_new(reader, LMN__REGEX_EITHER, *node_out, right, node_out);
    }
    return st;
}

bool lmn__regex_set_has(const struct lmn__regex_set *set, uint32_t c)
{
    bool found = in_ranges(set, c);

    if (!found && set->fold)
        found = in_ranges(set, lmn__letter_lower(c)) || in_ranges(set, lmn__letter_upper(c));
    return found != set->negated;
}

enum lmn_status lmn__regex_parse(struct lmn__regex_reader *reader,
                                 struct lmn__regex_node **node_out)
{
    enum lmn_status st = parse_either(reader, node_out);

    return st == LMN_OK && more(reader) ? lmn__regex_refuse(reader, "has a ')' without '('") : st;
}
