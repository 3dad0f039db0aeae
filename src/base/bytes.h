/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - little-endian integers at any address, and a view of bytes somebody else owns.
 */
#ifndef LMN_BASE_BYTES_H
#define LMN_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "leman is written for little-endian machines"
#endif

struct lmn__span {
    const uint8_t *data;
    size_t len;
};

static inline uint16_t lmn__load_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t lmn__load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t lmn__load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void lmn__store_u16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void lmn__store_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void lmn__store_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* An unsigned integer of 1, 2, 4 or 8 bytes. */
static inline uint64_t lmn__load_uint(const uint8_t *p, uint32_t width)
{
    switch (width) {
    case 1:
        return *p;
    case 2:
        return lmn__load_u16(p);
    case 4:
        return lmn__load_u32(p);
    default:
        return lmn__load_u64(p);
    }
}

static inline void lmn__store_uint(uint8_t *p, uint32_t width, uint64_t v)
{
    switch (width) {
    case 1:
        *p = (uint8_t)v;
        break;
    case 2:
        lmn__store_u16(p, (uint16_t)v);
        break;
    case 4:
        lmn__store_u32(p, (uint32_t)v);
        break;
    default:
        lmn__store_u64(p, v);
    }
}

#endif
