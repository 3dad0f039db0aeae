/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_layout.h - places in the bytes of statistics, for those who read and those who write them.
 *
 *     "LMNSTATS"  u32 version  u32 columns  columns x entry  u64 hash of all before it  zones
 *
 *     entry:  u32 column  u8 kind  u8 width  u16 0  u64 zones  u64 bytes of them  u64 their hash
 *     zone:   u32 rows  u32 nulls  u8 which bounds  min  max
 */
#ifndef LMN_FORMAT_STATS_LAYOUT_H
#define LMN_FORMAT_STATS_LAYOUT_H

#define LMN__STATS_MAGIC "LMNSTATS"

enum {
    LMN__STATS_VERSION = 1,
    LMN__STATS_HEAD_BYTES = 16,
    LMN__STATS_ENTRY_BYTES = 32,
    LMN__STATS_HASH_BYTES = 8,
    LMN__STATS_ZONE_BYTES = 9, /* without its bounds */
    LMN__STATS_HAS_MIN = 1,
    LMN__STATS_HAS_MAX = 2
};

#endif
