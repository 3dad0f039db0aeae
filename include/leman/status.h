/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - how every call answers: one status code, and an error that says what went wrong.
 *
 * A code exists only if some caller acts on it. The message of an error names the object, the
 * place and the numbers; it is written by the layer that knows them and passed on unchanged.
 */
#ifndef LEMAN_STATUS_H
#define LEMAN_STATUS_H

/* Functions of the library are functions of C in programs of C++, too. */
#if defined(__cplusplus)
#define LMN_C extern "C"
#else
#define LMN_C
#endif

#if defined(__GNUC__)
#define LMN_API               LMN_C __attribute__((visibility("default")))
#define LMN_MUST_USE          __attribute__((warn_unused_result))
#define LMN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LMN_API LMN_C
#define LMN_MUST_USE
#define LMN_PRINTF(fmt, args)
#endif

/*
 * The table of codes: X(suffix, value, text, Python class). The enum, lmn_status_text() and the
 * exception classes of the Python package are all made from it.
 */
#define LMN_STATUS_TABLE(X)                                                                        \
    X(E_INVALID, 1, "invalid argument or input", "InvalidError")                                   \
    X(E_NOT_FOUND, 2, "not found", "NotFoundError")                                                \
    X(E_EXISTS, 3, "already exists", "ExistsError")                                                \
    X(E_CONFLICT, 4, "conflict with another writer", "ConflictError")                              \
    X(E_CORRUPT, 5, "data does not decode", "CorruptError")                                        \
    X(E_UNSUPPORTED, 6, "not supported", "UnsupportedError")                                       \
    X(E_IO, 7, "input or output failed", "StoreError")                                             \
    X(E_UNAVAILABLE, 8, "try again later", "UnavailableError")                                     \
    X(E_NO_MEMORY, 9, "out of memory or over a memory limit", "MemoryLimitError")                  \
    X(E_CANCELLED, 10, "cancelled", "CancelledError")                                              \
    X(E_UDF, 11, "a user's function failed", "FunctionError")

enum lmn_status {
    LMN_OK = 0,
#define LMN_STATUS_ENUM(name, value, text, python) LMN_##name = value,
    LMN_STATUS_TABLE(LMN_STATUS_ENUM)
#undef LMN_STATUS_ENUM
};

/* Flat and of fixed size, so that it can be sent over a pipe or stored as it is. */
struct lmn_error {
    enum lmn_status status;
    int os_errno; /* 0 unless the operating system gave the reason */
    char message[496];
};

/* One line that says what `status` means. Never NULL. */
LMN_API const char *lmn_status_text(enum lmn_status status);

/*
 * Fill `err` with a formatted message and return `status`.
 *
 * `err` may be NULL. Of a message longer than the field the middle is left out.
 */
LMN_API LMN_PRINTF(3, 4) enum lmn_status
    lmn_fail(struct lmn_error *err, enum lmn_status status, const char *fmt, ...);

/* As lmn_fail(); adds the text of `os_errno` to the message and keeps the number. */
LMN_API LMN_PRINTF(4, 5) enum lmn_status
    lmn_fail_os(struct lmn_error *err, enum lmn_status status, int os_errno, const char *fmt, ...);

#endif
