/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_function.h - load functions of shared objects (see udf.h) for jobs, and run them in workers.
 *
 * A loaded function does not change; any number of threads may use it.
 */
#ifndef LEMAN_C_FUNCTION_H
#define LEMAN_C_FUNCTION_H

#include <stdint.h>

#include <leman/worker.h>

struct lmn_c_function;

/*
 * Load the function `name` of the shared object `library`. Its code runs in this process from here
 * on; nothing but the caller ever names a library.
 *
 * The caller closes *function_out; it is NULL on failure.
 *
 * LMN_E_NOT_FOUND    there is no such library, it does not load, or it has no such function
 * LMN_E_INVALID      it has no table of functions
 * LMN_E_UNSUPPORTED  it was built for another version of udf.h
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_c_function_open(const char *library, const char *name,
                                                         struct lmn_c_function **function_out,
                                                         struct lmn_error *err);

/* Close it. NULL is ignored. */
LMN_API void lmn_c_function_close(struct lmn_c_function *function);

/* 64 hex digits that stand for the name and the version of the function; for lmn_job_function. */
LMN_API const char *lmn_c_function_version(const struct lmn_c_function *function);

/* The code of lmn_job_function: a text, that says where the function is. */
LMN_API const char *lmn_c_function_code(const struct lmn_c_function *function);

/* Is it such a code? Jobs may have functions of other kinds beside. */
LMN_API bool lmn_c_function_is_code(const void *code, uint64_t len);

/*
 * The type that the function gives for inputs of these types, a struct of them in the order in
 * which they are bound. The caller releases *output_out.
 *
 * Whatever the function says, when it does not take them.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_c_function_bind(const struct lmn_c_function *function,
                                                         const struct ArrowSchema *inputs,
                                                         struct ArrowSchema *output_out,
                                                         struct lmn_error *err);

/*
 * Operations that run such functions, for one thread: for lmn_worker_serve() and lmn_job_serve(). A
 * failed call is narrowed to its bad rows by calls with half of the rows. The caller closes them.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_c_worker_open(struct lmn_worker_ops *ops_out,
                                                       struct lmn_error *err);

/* Close them; zeroed ones are ignored. */
LMN_API void lmn_c_worker_close(struct lmn_worker_ops *ops);

/*
 * Be a worker of such functions: serve the descriptors in LEMAN_WORKER_FDS, each in a thread of its
 * own, until the engine closes them.
 *
 * LMN_E_INVALID  this process was not started by an engine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_c_worker_run(struct lmn_error *err);

#endif
