/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_tree.h - a regular expression as the tree that its text stands for.
 *
 * All of it lies in the binder's arena.
 */
#ifndef LMN_EXPR_REGEX_TREE_H
#define LMN_EXPR_REGEX_TREE_H

#include "expr/bind.h"

enum lmn__regex_kind {
    LMN__REGEX_EMPTY,
    LMN__REGEX_SET,
    LMN__REGEX_JOIN,   /* left, then right */
    LMN__REGEX_EITHER, /* left or right */
    LMN__REGEX_REPEAT, /* left, `least` to `most` times; `lazy`: rather fewer */
    LMN__REGEX_GROUP,  /* left, whose place is kept as that of group `group` */
    LMN__REGEX_ASSERT  /* `assertion` holds here */
};

enum { LMN__REGEX_NO_LIMIT = -1 };

/* The whole match is group 0; places and names are kept of groups below this. */
enum { LMN__REGEX_GROUPS_MAX = 32 };

enum {
    LMN__REGEX_START = '^',
    LMN__REGEX_END = '$',
    LMN__REGEX_LINE_START = '<',
    LMN__REGEX_LINE_END = '>',
    LMN__REGEX_WORD = 'b',
    LMN__REGEX_NO_WORD = 'B'
};

struct lmn__regex_range {
    uint32_t first, last;
};

/* Characters: those in any of the ranges, or in none of them; `fold`: whatever their case. */
struct lmn__regex_set {
    bool negated, fold;
    bool mixed; /* the ranges are not sorted */
    uint32_t count, room;
    struct lmn__regex_range *range;
};

struct lmn__regex_node {
    enum lmn__regex_kind kind;
    struct lmn__regex_node *left, *right;
    struct lmn__regex_set set;
    int32_t least, most; /* REPEAT */
    bool lazy;
    uint32_t group;
    int32_t assertion;
};

/* How what follows is read, up to the end of the group. */
struct lmn__regex_flags {
    bool fold;    /* i: letters stand for both cases */
    bool dot_all; /* s: a dot is a line break, too */
    bool lines;   /* m: ^ and $ are those of lines */
};

/* Take the flag `letter`; false: there is none. */
bool lmn__regex_flag(struct lmn__regex_flags *flags, uint8_t letter, bool on);

/* A pattern while it is read. */
struct lmn__regex_reader {
    struct lmn__binder *binder;
    uint32_t place; /* of the call, for messages */
    struct lmn__span text;
    size_t at;
    uint32_t depth;
    uint32_t group_count;                         /* so far */
    struct lmn__span name[LMN__REGEX_GROUPS_MAX]; /* of groups, empty without */
    struct lmn__regex_flags flags;
};

/*
 * Parse reader->text from reader->at on.
 *
 * LMN_E_INVALID  it is no regular expression, or has what is not known here
 */
LMN_MUST_USE enum lmn_status lmn__regex_parse(struct lmn__regex_reader *reader,
                                              struct lmn__regex_node **node_out);

/* "the regular expression <what> (at its byte N)" */
enum lmn_status lmn__regex_refuse(const struct lmn__regex_reader *reader, const char *what);

bool lmn__regex_set_has(const struct lmn__regex_set *set, uint32_t c);

/* The sorted ranges that \d, \s or \w stands for; NULL for other letters. */
const struct lmn__regex_range *lmn__regex_class(uint32_t letter, uint32_t *count_out);

/* Is a character in one of the sorted ranges? */
bool lmn__regex_in_sorted(const struct lmn__regex_range *range, uint32_t count, uint32_t c);

/* Is it a character of \w? */
bool lmn__regex_is_word(uint32_t c);

#endif
