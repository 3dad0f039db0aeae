/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a pattern is compiled to a program of a few instructions and run on all its threads
 * at once, character by character: a thread is a place in the program, and two threads at one
 * place are one. So the work per character is bounded by the length of the program. Most programs
 * have a table of their states (regex_dfa.c), which is asked first.
 */
#include "expr/regex.h"

#include "expr/casing.h"
#include "expr/regex_dfa.h"

enum { PROGRAM_MAX = 20000 };

struct compiler {
    struct lmn__regex_reader reader;
    struct lmn__regex_program *program;
    uint32_t room;
};

static enum lmn_status emit(struct compiler *compiler, enum lmn__regex_op op, uint32_t *at_out)
{
    struct lmn__regex_program *program = compiler->program;

    if (program->count == PROGRAM_MAX)
        return lmn__regex_refuse(&compiler->reader, "is too large");
    if (program->count == compiler->room) {
        uint32_t room = compiler->room != 0 ? compiler->room * 2 : 32;
        struct lmn__regex_instruction *grown = lmn__arena_array(compiler->reader.binder->arena,
                                                                room, sizeof *grown);

        if (grown == NULL)
            return lmn__bind_no_memory(compiler->reader.binder);
        if (program->count != 0)
            memcpy(grown, program->instruction, program->count * sizeof *grown);
        program->instruction = grown;
        compiler->room = room;
    }
    *at_out = program->count++;
    program->instruction[*at_out] = (struct lmn__regex_instruction){ .op = op };
    return LMN_OK;
}

static enum lmn_status compile(struct compiler *compiler, const struct lmn__regex_node *node);

/* A split goes into what follows it, or behind all that is there; `lazy`: rather behind it. */
static void set_split(struct lmn__regex_program *program, uint32_t split, bool lazy)
{
    program->instruction[split].x = lazy ? program->count : split + 1;
    program->instruction[split].y = lazy ? split + 1 : program->count;
}

/*
 * x{m,}: m of it, the last of which loops. An x that is empty leaves the loop and does not end
 * there, because its way back has been taken already.
 */
static enum lmn_status compile_loop(struct compiler *compiler, const struct lmn__regex_node *node)
{
    struct lmn__regex_program *program = compiler->program;
    uint32_t skip = 0, body, back;
    enum lmn_status st = LMN_OK;

    if (node->least == 0)
        st = emit(compiler, LMN__REGEX_OP_SPLIT, &skip);
    for (int32_t i = 1; st == LMN_OK && i < node->least; i++)
        st = compile(compiler, node->left);
    body = program->count;
    if (st == LMN_OK)
        st = compile(compiler, node->left);
    if (st == LMN_OK)
        st = emit(compiler, LMN__REGEX_OP_SPLIT, &back);
    if (st != LMN_OK)
        return st;
    program->instruction[back].x = node->lazy ? program->count : body;
    program->instruction[back].y = node->lazy ? body : program->count;
    if (node->least == 0)
        set_split(program, skip, node->lazy);
    return LMN_OK;
}

/* x{m,n}: m of it, then each further one may be left out. */
static enum lmn_status compile_repeat(struct compiler *compiler, const struct lmn__regex_node *node)
{
    uint32_t split;
    enum lmn_status st = LMN_OK;

    if (node->most == LMN__REGEX_NO_LIMIT)
        return compile_loop(compiler, node);
    for (int32_t i = 0; st == LMN_OK && i < node->least; i++)
        st = compile(compiler, node->left);
    for (int32_t i = node->least; st == LMN_OK && i < node->most; i++) {
        st = emit(compiler, LMN__REGEX_OP_SPLIT, &split);
        if (st == LMN_OK)
            st = compile(compiler, node->left);
        if (st == LMN_OK)
            set_split(compiler->program, split, node->lazy);
    }
    return st;
}

static enum lmn_status compile_either(struct compiler *compiler, const struct lmn__regex_node *node)
{
    struct lmn__regex_program *program = compiler->program;
    uint32_t split, jump;
    enum lmn_status st = emit(compiler, LMN__REGEX_OP_SPLIT, &split);

    if (st == LMN_OK)
        st = compile(compiler, node->left);
    if (st == LMN_OK)
        st = emit(compiler, LMN__REGEX_OP_JUMP, &jump);
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
static enum lmn_status compile_join(struct compiler *compiler, const struct lmn__regex_node *node)
{
    uint32_t count = 0;
    const struct lmn__regex_node **item;
    enum lmn_status st = LMN_OK;

    for (const struct lmn__regex_node *at = node; at->kind == LMN__REGEX_JOIN; at = at->left)
        count++;
    item = lmn__arena_array(compiler->reader.binder->arena, count + 1, sizeof *item);
    if (item == NULL)
        return lmn__bind_no_memory(compiler->reader.binder);
    for (uint32_t i = count; node->kind == LMN__REGEX_JOIN; node = node->left)
        item[--i] = node->right;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = compile(compiler, item[i]);
    return st;
}

/* Both ends of a group are kept: places 2n and 2n + 1. */
static enum lmn_status compile_group(struct compiler *compiler, const struct lmn__regex_node *node)
{
    uint32_t at;
    enum lmn_status st = emit(compiler, LMN__REGEX_OP_KEEP, &at);

    if (st == LMN_OK) {
        compiler->program->instruction[at].x = 2 * node->group;
        st = compile(compiler, node->left);
    }
    if (st == LMN_OK)
        st = emit(compiler, LMN__REGEX_OP_KEEP, &at);
    if (st == LMN_OK)
        compiler->program->instruction[at].x = 2 * node->group + 1;
    return st;
}

static enum lmn_status compile(struct compiler *compiler, const struct lmn__regex_node *node)
{
    uint32_t at;
    enum lmn_status st;

    switch (node->kind) {
    case LMN__REGEX_EMPTY:
        return LMN_OK;
    case LMN__REGEX_JOIN:
        return compile_join(compiler, node);
    case LMN__REGEX_EITHER:
        return compile_either(compiler, node);
    case LMN__REGEX_REPEAT:
        return compile_repeat(compiler, node);
    case LMN__REGEX_GROUP:
        return compile_group(compiler, node);
    default:
        st = emit(compiler, node->kind == LMN__REGEX_SET ? LMN__REGEX_OP_SET : LMN__REGEX_OP_ASSERT,
                  &at);
        if (st == LMN_OK) {
            compiler->program->instruction[at].set = &node->set;
            compiler->program->instruction[at].assertion = node->assertion;
        }
        return st;
    }
}

/* What regexp_like() was bound to. */
struct condition {
    const struct lmn__regex_program *program;
    const struct lmn__regex_dfa *dfa; /* NULL: there is none */
};

/* Threads: places in the program, each at most once. */
struct threads {
    uint32_t count;
    uint32_t *place;
    uint32_t *index; /* of a place in `place`, when it is there */
};

struct run {
    const struct lmn__regex_program *program;
    struct lmn__span text;
    struct threads now, next;
    uint32_t *stack;
};

bool lmn__regex_asserted(struct lmn__span text, int32_t assertion, size_t at)
{
    struct lmn__span rest = { text.data + at, text.len - at };
    size_t before = at;
    uint32_t bytes;
    bool word_before, word_behind;

    if (assertion == LMN__REGEX_START)
        return at == 0;
    if (assertion == LMN__REGEX_END)
        return at == text.len;
    if (assertion == LMN__REGEX_LINE_START)
        return at == 0 || text.data[at - 1] == '\n';
    if (assertion == LMN__REGEX_LINE_END)
        return at == text.len || text.data[at] == '\n';
    while (before > 0 && (text.data[--before] & 0xc0) == 0x80)
        ;
    word_before = at > 0 && lmn__regex_is_word(lmn__utf8_decode(
                                (struct lmn__span){ text.data + before, at - before }, &bytes));
    word_behind = rest.len != 0 && lmn__regex_is_word(lmn__utf8_decode(rest, &bytes));
    return (word_before != word_behind) == (assertion == LMN__REGEX_WORD);
}

/* Follow jumps from `place`; true when the program ends there. */
static bool add_thread(struct run *run, struct threads *threads, uint32_t place, size_t at)
{
    uint32_t used = 0;

    run->stack[used++] = place;
    while (used != 0) {
        uint32_t top = run->stack[--used];
        const struct lmn__regex_instruction *instruction = &run->program->instruction[top];

        if (threads->index[top] < threads->count && threads->place[threads->index[top]] == top)
            continue;
        threads->index[top] = threads->count;
        threads->place[threads->count++] = top;
        switch (instruction->op) {
        case LMN__REGEX_OP_MATCH:
            return true;
        case LMN__REGEX_OP_SPLIT:
            run->stack[used++] = instruction->y;
            run->stack[used++] = instruction->x;
            break;
        case LMN__REGEX_OP_JUMP:
            run->stack[used++] = instruction->x;
            break;
        case LMN__REGEX_OP_KEEP:
            run->stack[used++] = top + 1;
            break;
        case LMN__REGEX_OP_ASSERT:
            if (lmn__regex_asserted(run->text, instruction->assertion, at))
                run->stack[used++] = top + 1;
            break;
        default:
            break;
        }
    }
    return false;
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
            const struct lmn__regex_instruction *instruction = &run->program->instruction[place];

            if (instruction->op == LMN__REGEX_OP_SET && lmn__regex_set_has(instruction->set, c) &&
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
    const struct condition *condition = term->data;
    struct run run = { .program = condition->program };
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
        bool match = false, is_null = lmn__vector_is_null(arg, i);

        run.text = lmn__vector_span(arg, i);
        if (!is_null &&
            (condition->dfa == NULL || !lmn__regex_dfa_search(condition->dfa, run.text, &match)))
            match = matches(&run);
        lmn__bit_put(bits, i, match);
    }
    out->values = bits;
    return LMN_OK;
}

static enum lmn_status take_flags(struct compiler *compiler, const struct lmn__term *flags,
                                  bool *global_out)
{
    const struct lmn__span *text = flags->constant.values;

    if (flags->op != LMN__OP_CONSTANT || flags->type.kind != LMN__KIND_STRING ||
        lmn__term_is_null(flags))
        return lmn__regex_refuse(&compiler->reader, "has flags that are no constant string");
    for (size_t i = 0; i < text->len; i++) {
        if (text->data[i] == 'g' && global_out != NULL)
            *global_out = true;
        else if (!lmn__regex_flag(&compiler->reader.flags, text->data[i], true))
            return lmn__regex_refuse(&compiler->reader, global_out != NULL
                                                            ? "has flags other than g, i, m and s"
                                                            : "has flags other than i, m and s");
    }
    return LMN_OK;
}

static enum lmn_status program_new(struct compiler *compiler, const struct lmn__term *pattern)
{
    struct lmn__regex_node *root;
    uint32_t at;
    enum lmn_status st;

    compiler->reader.text = *(const struct lmn__span *)pattern->constant.values;
    st = lmn__regex_parse(&compiler->reader, &root);
    compiler->program = lmn__arena_alloc(compiler->reader.binder->arena, sizeof *compiler->program);
    if (compiler->program == NULL)
        return lmn__bind_no_memory(compiler->reader.binder);
    compiler->program->group_count = compiler->reader.group_count;
    compiler->program->place_count = 2 * (compiler->reader.group_count < LMN__REGEX_GROUPS_MAX
                                              ? compiler->reader.group_count + 1
                                              : LMN__REGEX_GROUPS_MAX);
    memcpy(compiler->program->name, compiler->reader.name, sizeof compiler->reader.name);
    if (st == LMN_OK)
        st = compile(compiler, root);
    return st == LMN_OK ? emit(compiler, LMN__REGEX_OP_MATCH, &at) : st;
}

enum lmn_status lmn__regex_compile(struct lmn__binder *binder, uint32_t place,
                                   struct lmn__term **text, const struct lmn__term *pattern,
                                   const struct lmn__term *flags, bool *global_out,
                                   const struct lmn__regex_program **program_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct compiler compiler = { .reader = { .binder = binder, .place = place } };
    char type[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    *program_out = NULL;
    if ((*text)->type.kind != LMN__KIND_STRING && (*text)->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, (*text)->place, LMN_E_INVALID,
                              "expected a string, not a value of type %s",
                              lmn__type_text(&(*text)->type, type));
    if (pattern->op != LMN__OP_CONSTANT || pattern->type.kind != LMN__KIND_STRING)
        return lmn__bind_fail(binder, pattern->place, LMN_E_UNSUPPORTED,
                              "a regular expression has to be a constant string");
    if (flags != NULL)
        st = take_flags(&compiler, flags, global_out);
    if (st == LMN_OK)
        st = program_new(&compiler, pattern);
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, text, &string, LMN__CONVERT_CAST);
    *program_out = compiler.program;
    return st;
}

enum lmn_status lmn__bind_regex(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    struct condition *made = lmn__arena_alloc(binder->arena, sizeof *made);
    enum lmn_status st = made == NULL
                             ? lmn__bind_no_memory(binder)
                             : lmn__regex_compile(binder, place, &arg[0], arg[1],
                                                  count > 2 ? arg[2] : NULL, NULL, &made->program);

    (void)choice;
    if (st == LMN_OK)
        st = lmn__regex_dfa_new(binder, made->program, &made->dfa);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, regex_kernel, &condition, arg, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = made;
    return st;
}
