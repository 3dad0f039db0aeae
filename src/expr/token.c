/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/token.h"

#include <stdarg.h>
#include <stdio.h>

enum { QUOTE_CHARACTERS = 24 };

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of other scripts are letters: UTF-8 is checked before. */
static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static uint8_t peek(const struct lmn__lexer *lexer, size_t ahead)
{
    return lexer->at + ahead < lexer->text.len ? lexer->text.data[lexer->at + ahead] : 0;
}

/* First byte of the character that holds byte `at`. */
static size_t character_start(struct lmn__span text, size_t at)
{
    while (at > 0 && at < text.len && (text.data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

enum lmn_status lmn__text_fail(struct lmn__span text, uint32_t place, struct lmn_error *err,
                               enum lmn_status status, const char *fmt, ...)
{
    uint32_t line = 1, column = 1, lines = 1;
    size_t end, start = character_start(text, place < text.len ? place : text.len);
    char message[320];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    for (size_t i = 0; i < text.len; i++) {
        bool before = i < start, is_break = text.data[i] == '\n';

        lines += is_break;
        line += before && is_break;
        column = before && is_break ? 1 : column + (before && (text.data[i] & 0xc0) != 0x80);
    }
    for (end = start; end < text.len && end < start + QUOTE_CHARACTERS; end++) {
        if (text.data[end] == '\n')
            break;
    }
    end = character_start(text, end);
    if (start >= text.len)
        return lmn_fail(err, status, "%s, at the end of the expression", message);
    if (lines > 1)
        return lmn_fail(err, status, "%s, at line %u, character %u near '%.*s'", message, line,
                        column, (int)(end - start), (const char *)text.data + start);
    return lmn_fail(err, status, "%s, at character %u near '%.*s'", message, column,
                    (int)(end - start), (const char *)text.data + start);
}

/* White space, "-- to the end of the line", and C comments. */
static enum lmn_status skip_blank(struct lmn__lexer *lexer, struct lmn_error *err)
{
    for (;;) {
        uint8_t c = peek(lexer, 0);
        size_t start = lexer->at;

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            lexer->at++;
        } else if (c == '-' && peek(lexer, 1) == '-') {
            while (lexer->at < lexer->text.len && peek(lexer, 0) != '\n')
                lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '*') {
            lexer->at += 2;
            while (lexer->at < lexer->text.len && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'))
                lexer->at++;
            if (lexer->at >= lexer->text.len)
                return lmn__text_fail(lexer->text, (uint32_t)start, err, LMN_E_INVALID,
                                      "a comment has no end");
            lexer->at += 2;
        } else {
            return LMN_OK;
        }
    }
}

/* A run in quotes; a doubled quote inside stands for one. */
static enum lmn_status take_quoted(struct lmn__lexer *lexer, struct lmn_error *err)
{
    size_t start = lexer->at;
    uint8_t quote = peek(lexer, 0);

    for (lexer->at++; lexer->at < lexer->text.len; lexer->at++) {
        if (peek(lexer, 0) != quote)
            continue;
        if (peek(lexer, 1) != quote) {
            lexer->at++;
            return LMN_OK;
        }
        lexer->at++;
    }
    return lmn__text_fail(lexer->text, (uint32_t)start, err, LMN_E_INVALID,
                          "a quote (%c) is never closed", quote);
}

static enum lmn_status take_number(struct lmn__lexer *lexer, struct lmn_error *err)
{
    size_t start = lexer->at;

    if (peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x' && is_hex(peek(lexer, 2))) {
        lexer->at += 2;
        while (is_hex(peek(lexer, 0)))
            lexer->at++;
    } else {
        while (is_digit(peek(lexer, 0)))
            lexer->at++;
        if (peek(lexer, 0) == '.') {
            lexer->at++;
            while (is_digit(peek(lexer, 0)))
                lexer->at++;
        }
        if ((peek(lexer, 0) | 0x20) == 'e') {
            size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';

            if (is_digit(peek(lexer, 1 + sign))) {
                lexer->at += 1 + sign;
                while (is_digit(peek(lexer, 0)))
                    lexer->at++;
            }
        }
    }
    if (is_letter(peek(lexer, 0)))
        return lmn__text_fail(lexer->text, (uint32_t)start, err, LMN_E_INVALID,
                              "a number runs into a name");
    return LMN_OK;
}

static enum lmn_status take_symbol(struct lmn__lexer *lexer, struct lmn__token *token,
                                   struct lmn_error *err)
{
    static const char pairs[][3] = { "<=", ">=", "<>", "!=", "==", "||", "::", "<<", ">>" };
    uint8_t c = peek(lexer, 0), d = peek(lexer, 1);

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (c == (uint8_t)pairs[i][0] && d == (uint8_t)pairs[i][1]) {
            token->symbol = LMN__SYMBOL2(c, d);
            lexer->at += 2;
            return LMN_OK;
        }
    }
    if (c == 0 || strchr("=<>+-*/%&|(),.[]", c) == NULL)
        return lmn__text_fail(lexer->text, token->place, err, LMN_E_INVALID,
                              "a character that is no part of an expression");
    token->symbol = c;
    lexer->at++;
    return LMN_OK;
}

enum lmn_status lmn__lexer_next(struct lmn__lexer *lexer, struct lmn__token *token_out,
                                struct lmn_error *err)
{
    enum lmn_status st = skip_blank(lexer, err);
    uint8_t c = peek(lexer, 0);

    *token_out = (struct lmn__token){ .place = (uint32_t)lexer->at };
    if (st != LMN_OK || lexer->at >= lexer->text.len)
        return st;
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
        token_out->kind = LMN__TOKEN_NUMBER;
        st = take_number(lexer, err);
    } else if ((c | 0x20) == 'x' && peek(lexer, 1) == '\'') {
        token_out->kind = LMN__TOKEN_BYTES;
        lexer->at++;
        st = take_quoted(lexer, err);
    } else if (is_letter(c)) {
        token_out->kind = LMN__TOKEN_NAME;
        while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
            lexer->at++;
    } else if (c == '\'') {
        token_out->kind = LMN__TOKEN_STRING;
        st = take_quoted(lexer, err);
    } else if (c == '"' || c == '`') {
        token_out->kind = LMN__TOKEN_QUOTED;
        st = take_quoted(lexer, err);
    } else {
        token_out->kind = LMN__TOKEN_SYMBOL;
        st = take_symbol(lexer, token_out, err);
    }
    token_out->text = (struct lmn__span){ lexer->text.data + token_out->place,
                                          lexer->at - token_out->place };
    return st;
}

bool lmn__token_is(const struct lmn__token *token, const char *word)
{
    size_t len = strlen(word);

    if (token->kind != LMN__TOKEN_NAME || token->text.len != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = token->text.data[i];

        if (c >= 'A' && c <= 'Z')
            c = (uint8_t)(c | 0x20);
        if (c != (uint8_t)word[i])
            return false;
    }
    return true;
}
