/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern is parsed to a tree, compiled to a program of a few instructions, and run on all its
 * threads at once, character by character: a thread is a place in the program, and two threads at
 * one place are one. So the work per character is bounded by the length of the program.
 */
#include "expr/regex.h"

#include "expr/casing.h"

enum { PROGRAM_MAX = 20000, REPEAT_MAX = 1000, DEPTH_MAX = 100, NO_LIMIT = -1 };

enum node_kind { NODE_EMPTY, NODE_SET, NODE_JOIN, NODE_EITHER, NODE_REPEAT, NODE_ASSERT };

enum { ASSERT_START = '^', ASSERT_END = '$', ASSERT_WORD = 'b', ASSERT_NO_WORD = 'B' };

struct range {
    uint32_t first, last;
};

/* Characters: those in any of the ranges, or in none of them. */
struct set {
    bool negated;
    uint32_t count, room;
    struct range *range;
};

struct node {
    enum node_kind kind;
    struct node *left, *right;
    struct set set;
    int32_t least, most; /* REPEAT */
    int32_t assertion;
};

enum op { OP_SET, OP_SPLIT, OP_JUMP, OP_ASSERT, OP_MATCH };

struct instruction {
    enum op op;
    uint32_t x, y; /* where to go on */
    int32_t assertion;
    const struct set *set;
};

struct program {
    bool fold;
    uint32_t count;
    struct instruction *instruction;
};

struct compiler {
    struct lmn__binder *binder;
    uint32_t place;
    struct lmn__span text;
    size_t at;
    uint32_t depth;
    bool dot_all, fold;
    struct program *program;
    uint32_t room;
};

static enum lmn_status refuse(const struct compiler *compiler, const char *what)
{
    return lmn__bind_fail(compiler->binder, compiler->place, LMN_E_INVALID,
                          "the regular expression %s (at its byte %zu)", what, compiler->at);
}

static bool more(const struct compiler *compiler)
{
    return compiler->at < compiler->text.len;
}

static uint8_t peek(const struct compiler *compiler)
{
    return more(compiler) ? compiler->text.data[compiler->at] : 0;
}

static uint32_t take(struct compiler *compiler)
{
    struct lmn__span rest = { compiler->text.data + compiler->at,
                              compiler->text.len - compiler->at };
    uint32_t bytes, c = lmn__utf8_decode(rest, &bytes);

    compiler->at += bytes;
    return c;
}

static enum lmn_status node_new(struct compiler *compiler, enum node_kind kind, struct node *left,
                                struct node *right, struct node **node_out)
{
    *node_out = lmn__arena_alloc(compiler->binder->arena, sizeof **node_out);
    if (*node_out == NULL)
        return lmn__bind_no_memory(compiler->binder);
    (*node_out)->kind = kind;
    (*node_out)->left = left;
    (*node_out)->right = right;
    return LMN_OK;
}

static enum lmn_status set_add(struct compiler *compiler, struct set *set, uint32_t first,
                               uint32_t last)
{
    if (set->count == set->room) {
        uint32_t room = set->room != 0 ? set->room * 2 : 4;
        struct range *grown = lmn__arena_array(compiler->binder->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__bind_no_memory(compiler->binder);
        if (set->count != 0)
            memcpy(grown, set->range, set->count * sizeof *grown);
        set->range = grown;
        set->room = room;
    }
    set->range[set->count++] = (struct range){ first, last };
    return LMN_OK;
}

static const struct range digit_ranges[] = { { '0', '9' } };
static const struct range word_ranges[] = {
    { '0', '9' },      { 'A', 'Z' },       { '_', '_' },        { 'a', 'z' },   { 0xaa, 0xaa },
    { 0xb5, 0xb5 },    { 0xba, 0xba },     { 0xc0, 0xd6 },      { 0xd8, 0xf6 }, { 0xf8, 0x2ff },
    { 0x370, 0x1fff }, { 0x2c00, 0xd7ff }, { 0xf900, 0x10ffff }
};
static const struct range space_ranges[] = { { '\t', '\r' },     { ' ', ' ' },
                                             { 0x85, 0x85 },     { 0xa0, 0xa0 },
                                             { 0x2000, 0x200a }, { 0x2028, 0x2029 },
                                             { 0x3000, 0x3000 } };

static bool in_ranges(const struct range *range, uint32_t count, uint32_t c)
{
    for (uint32_t i = 0; i < count; i++) {
        if (c >= range[i].first && c <= range[i].last)
            return true;
    }
    return false;
}

/* \d and its kin into a set; *known_out is false for other letters. */
static enum lmn_status add_class(struct compiler *compiler, uint32_t letter, struct set *set,
                                 bool *known_out)
{
    const struct range *range = NULL;
    uint32_t count = 0, next = 0;
    bool negated = letter == 'D' || letter == 'W' || letter == 'S';
    enum lmn_status st = LMN_OK;

    switch (letter | 0x20) {
    case 'd':
        range = digit_ranges;
        count = sizeof digit_ranges / sizeof digit_ranges[0];
        break;
    case 'w':
        range = word_ranges;
        count = sizeof word_ranges / sizeof word_ranges[0];
        break;
    case 's':
        range = space_ranges;
        count = sizeof space_ranges / sizeof space_ranges[0];
        break;
    default:
        break;
    }
    *known_out = range != NULL && letter < 0x80;
    for (uint32_t i = 0; st == LMN_OK && *known_out && i < count; i++) {
        if (!negated)
            st = set_add(compiler, set, range[i].first, range[i].last);
        else if (range[i].first > next)
            st = set_add(compiler, set, next, range[i].first - 1);
        next = range[i].last + 1;
    }
    if (st == LMN_OK && *known_out && negated && next <= 0x10ffff)
        st = set_add(compiler, set, next, 0x10ffff);
    return st;
}

/* The character that an escaped one stands for. */
static enum lmn_status escaped(struct compiler *compiler, uint32_t c, uint32_t *out)
{
    static const char from[] = "nrtfv0", to[] = "\n\r\t\f\v\0";
    const char *found = c != 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

    *out = c;
    if (found != NULL)
        *out = (uint8_t)to[found - from];
    else if (c < 0x80 && ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
        return refuse(compiler, "has an escape that is not known here");
    return LMN_OK;
}

/* Behind '[' */
static enum lmn_status parse_set(struct compiler *compiler, struct set *set)
{
    enum lmn_status st = LMN_OK;
    bool first = true;

    set->negated = peek(compiler) == '^';
    compiler->at += set->negated;
    for (; st == LMN_OK && (first || peek(compiler) != ']'); first = false) {
        uint32_t low, high;
        bool known = false;

        if (!more(compiler))
            return refuse(compiler, "has a '[' without ']'");
        low = take(compiler);
        if (low == '[' && peek(compiler) == ':')
            return refuse(compiler, "names a class of characters, which is not known here");
        if (low == '\\' && more(compiler)) {
            low = take(compiler);
            st = add_class(compiler, low, set, &known);
            if (st == LMN_OK && !known)
                st = escaped(compiler, low, &low);
        }
        if (st != LMN_OK || known)
            continue;
        high = low;
        if (peek(compiler) == '-' && compiler->at + 1 < compiler->text.len &&
            compiler->text.data[compiler->at + 1] != ']') {
            compiler->at++;
            high = take(compiler);
            if (high == '\\' && more(compiler))
                st = escaped(compiler, take(compiler), &high);
        }
        if (st == LMN_OK && high < low)
            return refuse(compiler, "has a range that ends before it starts");
        if (st == LMN_OK)
            st = set_add(compiler, set, low, high);
    }
    compiler->at++;
    return st;
}

static enum lmn_status parse_either(struct compiler *compiler, struct node **node_out);

/* Behind '(' */
static enum lmn_status parse_group(struct compiler *compiler, struct node **node_out)
{
    enum lmn_status st;

    if (peek(compiler) == '?') {
        if (compiler->at + 1 >= compiler->text.len || compiler->text.data[compiler->at + 1] != ':')
            return refuse(compiler, "has a group that looks around or has a name or flags");
        compiler->at += 2;
    }
    if (++compiler->depth > DEPTH_MAX)
        return refuse(compiler, "nests too deep");
    st = parse_either(compiler, node_out);
    compiler->depth--;
    if (st != LMN_OK)
        return st;
    if (peek(compiler) != ')')
        return refuse(compiler, "has a '(' without ')'");
    compiler->at++;
    return LMN_OK;
}

static enum lmn_status parse_escape(struct compiler *compiler, struct node **node_out)
{
    uint32_t c;
    bool known;
    enum lmn_status st;

    if (!more(compiler))
        return refuse(compiler, "ends with a backslash");
    c = take(compiler);
    if (c == ASSERT_WORD || c == ASSERT_NO_WORD) {
        st = node_new(compiler, NODE_ASSERT, NULL, NULL, node_out);
        if (st == LMN_OK)
            (*node_out)->assertion = (int32_t)c;
        return st;
    }
    st = node_new(compiler, NODE_SET, NULL, NULL, node_out);
    if (st == LMN_OK)
        st = add_class(compiler, c, &(*node_out)->set, &known);
    if (st != LMN_OK || known)
        return st;
    st = escaped(compiler, c, &c);
    return st == LMN_OK ? set_add(compiler, &(*node_out)->set, c, c) : st;
}

static enum lmn_status parse_one(struct compiler *compiler, struct node **node_out)
{
    uint32_t c = take(compiler);
    enum lmn_status st;

    if (c == '(')
        return parse_group(compiler, node_out);
    if (c == '\\')
        return parse_escape(compiler, node_out);
    if (c == '*' || c == '+' || c == '?')
        return refuse(compiler, "repeats nothing");
    st = node_new(compiler, c == '^' || c == '$' ? NODE_ASSERT : NODE_SET, NULL, NULL, node_out);
    if (st != LMN_OK)
        return st;
    if (c == '^' || c == '$') {
        (*node_out)->assertion = (int32_t)c;
        return LMN_OK;
    }
    if (c == '[')
        return parse_set(compiler, &(*node_out)->set);
    if (c != '.')
        return set_add(compiler, &(*node_out)->set, c, c);
    (*node_out)->set.negated = true;
    return compiler->dot_all ? LMN_OK : set_add(compiler, &(*node_out)->set, '\n', '\n');
}

static bool take_count(struct compiler *compiler, int32_t *out)
{
    bool any = false;

    *out = 0;
    while (peek(compiler) >= '0' && peek(compiler) <= '9' && *out <= REPEAT_MAX) {
        *out = *out * 10 + (peek(compiler) - '0');
        compiler->at++;
        any = true;
    }
    return any;
}

/* * + ? {m} {m,} {m,n}; *there_out is false when none follows. */
static enum lmn_status parse_count(struct compiler *compiler, int32_t *least, int32_t *most,
                                   bool *there_out)
{
    uint8_t c = peek(compiler);

    *there_out = c == '*' || c == '+' || c == '?' || c == '{';
    if (!*there_out)
        return LMN_OK;
    compiler->at++;
    *least = c == '+';
    *most = c == '?' ? 1 : NO_LIMIT;
    if (c == '{') {
        if (!take_count(compiler, least))
            return refuse(compiler, "has a '{' without a number");
        *most = *least;
        if (peek(compiler) == ',') {
            compiler->at++;
            if (!take_count(compiler, most))
                *most = NO_LIMIT;
        }
        if (peek(compiler) != '}')
            return refuse(compiler, "has a '{' without '}'");
        compiler->at++;
    }
    if (*least > REPEAT_MAX || *most > REPEAT_MAX || (*most != NO_LIMIT && *most < *least))
        return refuse(compiler, "has a count that is out of range");
    compiler->at += peek(compiler) == '?'; /* lazy: the same strings match */
    return LMN_OK;
}

static enum lmn_status parse_join(struct compiler *compiler, struct node **node_out)
{
    enum lmn_status st = node_new(compiler, NODE_EMPTY, NULL, NULL, node_out);

    while (st == LMN_OK && more(compiler) && peek(compiler) != '|' && peek(compiler) != ')') {
        struct node *one, *repeated;
        int32_t least, most;
        bool there = true;

        st = parse_one(compiler, &one);
        while (st == LMN_OK && there) {
            st = parse_count(compiler, &least, &most, &there);
            if (st != LMN_OK || !there)
                break;
            if (one->kind == NODE_REPEAT)
                return refuse(compiler, "repeats a repetition");
            st = node_new(compiler, NODE_REPEAT, one, NULL, &repeated);
            if (st != LMN_OK)
                return st;
            repeated->least = least;
            repeated->most = most;
            one = repeated;
        }
        if (st == LMN_OK)
            st = node_new(compiler, NODE_JOIN, *node_out, one, node_out);
    }
    return st;
}

static enum lmn_status parse_either(struct compiler *compiler, struct node **node_out)
{
    enum lmn_status st = parse_join(compiler, node_out);

    while (st == LMN_OK && peek(compiler) == '|') {
        struct node *right;

        compiler->at++;
        st = parse_join(compiler, &right);
        if (st == LMN_OK)
            st = node_new(compiler, NODE_EITHER, *node_out, right, node_out);
    }
    return st;
}

static enum lmn_status emit(struct compiler *compiler, enum op op, uint32_t *at_out)
{
    struct program *program = compiler->program;

    if (program->count == PROGRAM_MAX)
        return refuse(compiler, "is too large");
    if (program->count == compiler->room) {
        uint32_t room = compiler->room != 0 ? compiler->room * 2 : 32;
        struct instruction *grown = lmn__arena_array(compiler->binder->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__bind_no_memory(compiler->binder);
        if (program->count != 0)
            memcpy(grown, program->instruction, program->count * sizeof *grown);
        program->instruction = grown;
        compiler->room = room;
    }
    *at_out = program->count++;
    program->instruction[*at_out] = (struct instruction){ .op = op };
    return LMN_OK;
}

static enum lmn_status compile(struct compiler *compiler, const struct node *node);

/* x{m,n}: m of it, then each further one may be left out; without a limit the last one loops. */
static enum lmn_status compile_repeat(struct compiler *compiler, const struct node *node)
{
    struct program *program = compiler->program;
    uint32_t split, jump;
    enum lmn_status st = LMN_OK;

    for (int32_t i = 0; st == LMN_OK && i < node->least; i++)
        st = compile(compiler, node->left);
    if (st == LMN_OK && node->most == NO_LIMIT) {
        st = emit(compiler, OP_SPLIT, &split);
        if (st == LMN_OK)
            st = compile(compiler, node->left);
        if (st == LMN_OK)
            st = emit(compiler, OP_JUMP, &jump);
        if (st == LMN_OK) {
            program->instruction[jump].x = split;
            program->instruction[split].x = split + 1;
            program->instruction[split].y = program->count;
        }
        return st;
    }
    for (int32_t i = node->least; st == LMN_OK && i < node->most; i++) {
        st = emit(compiler, OP_SPLIT, &split);
        if (st == LMN_OK)
            st = compile(compiler, node->left);
        if (st == LMN_OK) {
            program->instruction[split].x = split + 1;
            program->instruction[split].y = program->count;
        }
    }
    return st;
}

static enum lmn_status compile_either(struct compiler *compiler, const struct node *node)
{
    struct program *program = compiler->program;
    uint32_t split, jump;
    enum lmn_status st = emit(compiler, OP_SPLIT, &split);

    if (st == LMN_OK)
        st = compile(compiler, node->left);
    if (st == LMN_OK)
        st = emit(compiler, OP_JUMP, &jump);
    if (st != LMN_OK)
        return st;
    program->instruction[split].x = split + 1;
    program->instruction[split].y = program->count;
    st = compile(compiler, node->right);
    if (st == LMN_OK)
        program->instruction[jump].x = program->count;
    return st;
}

/* A join leans to the left as far as the pattern is long: its spine is walked, not recursed. */
static enum lmn_status compile_join(struct compiler *compiler, const struct node *node)
{
    uint32_t count = 0;
    const struct node **item;
    enum lmn_status st = LMN_OK;

    for (const struct node *at = node; at->kind == NODE_JOIN; at = at->left)
        count++;
    item = lmn__arena_array(compiler->binder->arena, count + 1, sizeof *item);
    if (item == NULL)
        return lmn__bind_no_memory(compiler->binder);
    for (uint32_t i = count; node->kind == NODE_JOIN; node = node->left)
        item[--i] = node->right;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = compile(compiler, item[i]);
    return st;
}

static enum lmn_status compile(struct compiler *compiler, const struct node *node)
{
    uint32_t at;
    enum lmn_status st;

    switch (node->kind) {
    case NODE_EMPTY:
        return LMN_OK;
    case NODE_JOIN:
        return compile_join(compiler, node);
    case NODE_EITHER:
        return compile_either(compiler, node);
    case NODE_REPEAT:
        return compile_repeat(compiler, node);
    default:
        st = emit(compiler, node->kind == NODE_SET ? OP_SET : OP_ASSERT, &at);
        if (st == LMN_OK) {
            compiler->program->instruction[at].set = &node->set;
            compiler->program->instruction[at].assertion = node->assertion;
        }
        return st;
    }
}

/* Threads: places in the program, each at most once. */
struct threads {
    uint32_t count;
    uint32_t *place;
    uint32_t *index; /* of a place in `place`, when it is there */
};

struct run {
    const struct program *program;
    struct lmn__span text;
    struct threads now, next;
    uint32_t *stack;
};

static bool is_word(uint32_t c)
{
    return in_ranges(word_ranges, sizeof word_ranges / sizeof word_ranges[0], c);
}

static bool asserted(const struct run *run, int32_t assertion, size_t at)
{
    struct lmn__span rest = { run->text.data + at, run->text.len - at };
    size_t before = at;
    uint32_t bytes;
    bool word_before, word_behind;

    if (assertion == ASSERT_START)
        return at == 0;
    if (assertion == ASSERT_END)
        return at == run->text.len;
    while (before > 0 && (run->text.data[--before] & 0xc0) == 0x80)
        ;
    word_before = at > 0 &&
                  is_word(lmn__utf8_decode(
                      (struct lmn__span){ run->text.data + before, at - before }, &bytes));
    word_behind = rest.len != 0 && is_word(lmn__utf8_decode(rest, &bytes));
    return (word_before != word_behind) == (assertion == ASSERT_WORD);
}

/* Follow jumps from `place`; true when the program ends there. */
static bool add_thread(struct run *run, struct threads *threads, uint32_t place, size_t at)
{
    uint32_t used = 0;

    run->stack[used++] = place;
    while (used != 0) {
        uint32_t top = run->stack[--used];
        const struct instruction *instruction = &run->program->instruction[top];

        if (threads->index[top] < threads->count && threads->place[threads->index[top]] == top)
            continue;
        threads->index[top] = threads->count;
        threads->place[threads->count++] = top;
        switch (instruction->op) {
        case OP_MATCH:
            return true;
        case OP_SPLIT:
            run->stack[used++] = instruction->y;
            run->stack[used++] = instruction->x;
            break;
        case OP_JUMP:
            run->stack[used++] = instruction->x;
            break;
        case OP_ASSERT:
            if (asserted(run, instruction->assertion, at))
                run->stack[used++] = top + 1;
            break;
        default:
            break;
        }
    }
    return false;
}

static bool set_has(const struct set *set, bool fold, uint32_t c)
{
    bool found = in_ranges(set->range, set->count, c);

    if (!found && fold)
        found = in_ranges(set->range, set->count, lmn__letter_lower(c)) ||
                in_ranges(set->range, set->count, lmn__letter_upper(c));
    return found != set->negated;
}

static bool matches(struct run *run)
{
    size_t at = 0;

    run->now.count = 0;
    for (;;) {
        struct threads swap;
        uint32_t bytes, c;

        if (add_thread(run, &run->now, 0, at))
            return true;
        if (at == run->text.len)
            return false;
        c = lmn__utf8_decode((struct lmn__span){ run->text.data + at, run->text.len - at }, &bytes);
        at += bytes;
        run->next.count = 0;
        for (uint32_t i = 0; i < run->now.count; i++) {
            uint32_t place = run->now.place[i];
            const struct instruction *instruction = &run->program->instruction[place];

            if (instruction->op == OP_SET && set_has(instruction->set, run->program->fold, c) &&
                add_thread(run, &run->next, place + 1, at))
                return true;
        }
        swap = run->now;
        run->now = run->next;
        run->next = swap;
    }
}

static enum lmn_status regex_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    struct run run = { .program = term->data };
    uint64_t count = run.program->count;
    uint32_t **arrays[] = { &run.now.place, &run.now.index, &run.next.place, &run.next.index };
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    for (int i = 0; st == LMN_OK && i < 4; i++)
        st = lmn__slate_take(frame->slate, count * sizeof(uint32_t), arrays[i], frame->err);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, (2 * count + 2) * sizeof(uint32_t), &run.stack,
                             frame->err);
    if (st != LMN_OK)
        return st;
    memset(run.now.index, 0, count * sizeof(uint32_t));
    memset(run.next.index, 0, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < rows; i++) {
        run.text = lmn__vector_span(arg, i);
        lmn__bit_put(bits, i, !lmn__vector_is_null(arg, i) && matches(&run));
    }
    out->values = bits;
    return LMN_OK;
}

static enum lmn_status take_flags(struct compiler *compiler, const struct lmn__term *flags)
{
    const struct lmn__span *text = flags->constant.values;

    if (flags->op != LMN__OP_CONSTANT || flags->type.kind != LMN__KIND_STRING ||
        lmn__term_is_null(flags))
        return refuse(compiler, "has flags that are no constant string");
    for (size_t i = 0; i < text->len; i++) {
        compiler->fold = compiler->fold || text->data[i] == 'i';
        compiler->dot_all = compiler->dot_all || text->data[i] == 's';
        if (text->data[i] != 'i' && text->data[i] != 's')
            return refuse(compiler, "has flags other than i and s");
    }
    return LMN_OK;
}

static enum lmn_status program_new(struct compiler *compiler, const struct lmn__term *pattern)
{
    struct node *root;
    uint32_t at;
    enum lmn_status st;

    compiler->text = *(const struct lmn__span *)pattern->constant.values;
    if (compiler->text.len >= 4 && memcmp(compiler->text.data, "(?i)", 4) == 0) {
        compiler->fold = true;
        compiler->at = 4;
    }
    st = parse_either(compiler, &root);
    if (st == LMN_OK && more(compiler))
        return refuse(compiler, "has a ')' without '('");
    compiler->program = lmn__arena_alloc(compiler->binder->arena, sizeof *compiler->program);
    if (compiler->program == NULL)
        return lmn__bind_no_memory(compiler->binder);
    compiler->program->fold = compiler->fold;
    if (st == LMN_OK)
        st = compile(compiler, root);
    return st == LMN_OK ? emit(compiler, OP_MATCH, &at) : st;
}

enum lmn_status lmn__bind_regex(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct compiler compiler = { .binder = binder, .place = place };
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    (void)choice;
    if (arg[0]->type.kind != LMN__KIND_STRING && arg[0]->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "expected a string, not a value of type %s",
                              lmn__type_text(&arg[0]->type, text));
    if (arg[1]->op != LMN__OP_CONSTANT || arg[1]->type.kind != LMN__KIND_STRING)
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_UNSUPPORTED,
                              "a regular expression has to be a constant string");
    if (count > 2)
        st = take_flags(&compiler, arg[2]);
    if (st == LMN_OK)
        st = program_new(&compiler, arg[1]);
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, &arg[0], &string, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, regex_kernel, &condition, arg, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = compiler.program;
    return st;
}
