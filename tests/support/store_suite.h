/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_suite.h - the behaviour that every kind of store has, as tests to run against each.
 *
 * A test program names its kind in the setup and lists STORE_SUITE() among its cases.
 */
#ifndef LMN_TESTS_STORE_SUITE_H
#define LMN_TESTS_STORE_SUITE_H

#include "check.h"

/* Setups for the kinds, and the teardown of all; it fails the test on a leak. */
int store_suite_local(void **state);
int store_suite_memory(void **state);
int store_suite_powerloss(void **state);
int store_suite_fault(void **state);
int store_suite_end(void **state);

#define STORE_SUITE_CASES(X)                                                                       \
    X(test_store__create_then_open_reads_it)                                                       \
    X(test_store__create_existing_is_exists)                                                       \
    X(test_store__create_makes_directories)                                                        \
    X(test_store__create_below_a_file_fails)                                                       \
    X(test_store__create_where_a_directory_is_exists)                                              \
    X(test_store__open_missing_is_not_found)                                                       \
    X(test_store__open_directory_is_invalid)                                                       \
    X(test_store__open_size_stays_while_file_grows)                                                \
    X(test_store__write_past_end_fills_gap_with_zeros)                                             \
    X(test_store__write_over_bytes_replaces_them)                                                  \
    X(test_store__write_to_reader_fails)                                                           \
    X(test_store__update_writes_what_is_there)                                                     \
    X(test_store__update_missing_is_not_found)                                                     \
    X(test_store__update_directory_is_invalid)                                                     \
    X(test_store__updates_from_many_threads_all_stay)                                              \
    X(test_store__lock_is_of_one_open_file)                                                        \
    X(test_store__read_past_end_is_corrupt)                                                        \
    X(test_store__rename_replaces)                                                                 \
    X(test_store__rename_makes_directories)                                                        \
    X(test_store__rename_missing_is_not_found)                                                     \
    X(test_store__rename_onto_directory_fails)                                                     \
    X(test_store__rename_between_names_of_one_file_keeps_both)                                     \
    X(test_store__link_shares_the_file)                                                            \
    X(test_store__link_existing_is_exists)                                                         \
    X(test_store__link_missing_is_not_found)                                                       \
    X(test_store__remove_missing_is_not_found)                                                     \
    X(test_store__stat_tells_size_and_age)                                                         \
    X(test_store__remove_directory_fails)                                                          \
    X(test_store__remove_dir_takes_empty_ones)                                                     \
    X(test_store__remove_keeps_open_file_readable)                                                 \
    X(test_store__sync_dir_missing_is_not_found)                                                   \
    X(test_store__list_names_and_kinds)                                                            \
    X(test_store__list_missing_is_empty)                                                           \
    X(test_store__list_ends_with_status_of_entry)                                                  \
    X(test_store__list_entry_may_remove)                                                           \
    X(test_store__bad_paths_are_invalid)                                                           \
    X(test_store__open_file_keeps_store)                                                           \
    X(test_store__alloc_faults_leave_nothing)                                                      \
    X(test_store__many_threads_share_directories)                                                  \
    X(test_store__reader_follows_writer)

#define STORE_SUITE_DECLARE(name) void name(void **state);
STORE_SUITE_CASES(STORE_SUITE_DECLARE)
#undef STORE_SUITE_DECLARE

/* The elements of a struct CMUnitTest array; define STORE_SUITE_SETUP first. */
#define STORE_SUITE_ELEMENT(name)                                                                  \
    cmocka_unit_test_setup_teardown(name, STORE_SUITE_SETUP, store_suite_end),
#define STORE_SUITE() STORE_SUITE_CASES(STORE_SUITE_ELEMENT)

#endif
