/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives: the kinds of names and sizes, and what damage is told. */
#include <stdio.h>

#include "check.h"
#include "ingest/tar.h"
#include "tars.h"

static void open_tar(struct lmn__tar *tar, const struct lmn__buf *bytes, size_t len, bool skips)
{
    struct lmn__source source;
    struct lmn_error err;

    CHECK_STATUS(lmn__source_open_memory(&source, test_env(), "shard.tar",
                                         (struct lmn__span){ bytes->data, len }, &err),
                 LMN_OK, &err);
    lmn__tar_init(tar, test_env(), &source, skips);
}

/* The next member has this name and content. */
static void expect(struct lmn__tar *tar, const char *name, const char *text)
{
    struct lmn__tar_member member;
    struct lmn_error err;
    char content[64];
    bool more;

    CHECK_STATUS(lmn__tar_next(tar, &member, &more, &err), LMN_OK, &err);
    CHECK(more);
    CHECK_EQ(member.name.len, strlen(name));
    CHECK_BYTES(member.name.data, name, member.name.len);
    CHECK_EQ(member.bytes, strlen(text));
    CHECK_STATUS(lmn__tar_read(tar, content, strlen(text), &err), LMN_OK, &err);
    CHECK_BYTES(content, text, strlen(text));
}

static void expect_end(struct lmn__tar *tar)
{
    struct lmn__tar_member member;
    struct lmn_error err;
    bool more;

    CHECK_STATUS(lmn__tar_next(tar, &member, &more, &err), LMN_OK, &err);
    CHECK(!more);
    lmn__tar_deinit(tar);
}

static void test_tar__names_of_all_kinds(void **state)
{
    static const char pax[] = "20 path=long/name.a\n";
    static const char comment[] = "12 comment=\n";
    struct lmn__buf bytes;
    struct lmn__tar tar;
    size_t prefixed;

    (void)state;
    tar_init(&bytes);
    tar_file(&bytes, "plain.txt", "one");
    tar_put(&bytes, "folder/", '5', NULL, 0);
    tar_put(&bytes, "link", '2', NULL, 0);
    tar_put(&bytes, "PaxHeader", 'x', pax, sizeof pax - 1);
    tar_file(&bytes, "cut", "two");
    tar_put(&bytes, "PaxGlobal", 'g', comment, sizeof comment - 1);
    tar_put(&bytes, "././@LongLink", 'L', "gnu/long.b", 11);
    tar_file(&bytes, "gnu/lo", "three");
    tar_file(&bytes, "empty", "");
    prefixed = bytes.len;
    tar_file(&bytes, "name.c", "four");
    memcpy(bytes.data + prefixed + 345, "some/folder", 11);
    tar_seal(&bytes, prefixed);
    tar_end(&bytes);
    for (int skips = 0; skips < 2; skips++) {
        open_tar(&tar, &bytes, bytes.len, skips != 0);
        expect(&tar, "plain.txt", "one");
        expect(&tar, "long/name.a", "two");
        expect(&tar, "gnu/long.b", "three");
        expect(&tar, "empty", "");
        expect(&tar, "some/folder/name.c", "four");
        expect_end(&tar);
    }
    lmn__buf_deinit(&bytes);
    CHECK_EQ(live_allocations(), 0);
}

static void test_tar__sizes_of_all_kinds(void **state)
{
    struct lmn__tar_member member;
    struct lmn__buf bytes;
    struct lmn__tar tar;
    struct lmn_error err;
    size_t binary;
    bool more;

    (void)state;
    tar_init(&bytes);
    tar_put(&bytes, "x", 'x', "9 size=3\n", 9);
    tar_put(&bytes, "pax", '0', NULL, 0);
    lmn__buf_put(&bytes, "abc", 3);
    lmn__buf_put_zeros(&bytes, 509);
    binary = bytes.len;
    tar_file(&bytes, "binary", "defg");
    memset(bytes.data + binary + 124, 0, 12);
    bytes.data[binary + 124] = 0x80;
    bytes.data[binary + 135] = 4;
    tar_seal(&bytes, binary);
    tar_end(&bytes);
    open_tar(&tar, &bytes, bytes.len, false);
    expect(&tar, "pax", "abc");
    CHECK_STATUS(lmn__tar_next(&tar, &member, &more, &err), LMN_OK, &err);
    CHECK_EQ(member.header, binary);
    CHECK_EQ(member.offset, binary + 512);
    CHECK_EQ(member.bytes, 4);
    expect_end(&tar); /* the content is passed over */
    lmn__buf_deinit(&bytes);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status read_all(const struct lmn__buf *bytes, size_t len, bool skips,
                                uint64_t *count_out, struct lmn_error *err)
{
    struct lmn__tar_member member;
    struct lmn__tar tar;
    bool more = true;
    enum lmn_status st = LMN_OK;

    *count_out = 0;
    open_tar(&tar, bytes, len, skips);
    while (st == LMN_OK && more) {
        uint8_t content[2048];

        st = lmn__tar_next(&tar, &member, &more, err);
        if (st == LMN_OK && more && !skips && member.refused == NULL)
            st = lmn__tar_read(&tar, content, member.bytes, err);
        *count_out += st == LMN_OK && more;
    }
    lmn__tar_deinit(&tar);
    return st;
}

/* Wherever an archive is cut, it is told, with the place, and never taken for whole. */
static void test_tar__corrupt_cut_anywhere(void **state)
{
    struct lmn__buf bytes;
    struct lmn_error err;
    uint64_t count;
    size_t whole;

    (void)state;
    tar_init(&bytes);
    tar_file(&bytes, "a.txt", "some text");
    tar_put(&bytes, "x", 'x', "20 path=long/name.a\n", 20);
    tar_file(&bytes, "b.txt", "more");
    whole = bytes.len;
    tar_end(&bytes);
    for (size_t len = 0; len < whole + 512; len++) {
        for (int skips = 0; skips < 2; skips++) {
            CHECK_STATUS(read_all(&bytes, len, skips != 0, &count, &err), LMN_E_CORRUPT, &err);
            CHECK_HAS(err.message, "shard.tar: ends at offset ");
        }
    }
    CHECK_STATUS(read_all(&bytes, whole + 512, false, &count, &err), LMN_OK, &err);
    CHECK_EQ(count, 2);
    lmn__buf_deinit(&bytes);
    CHECK_EQ(live_allocations(), 0);
}

static void test_tar__corrupt_headers(void **state)
{
    static const char *const pax[] = { "path=x\n",   "99 path=x\n", "8 pathx\n", "9 size=x\n",
                                       "10 path=xx", "1 path=x\n",  "0 \n",      "9 size=-\n" };
    struct lmn__buf bytes;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    tar_init(&bytes);
    tar_file(&bytes, "a.txt", "text");
    tar_file(&bytes, "b.txt", "text");
    tar_end(&bytes);
    bytes.data[1024 + 3] ^= 1;
    CHECK_STATUS(read_all(&bytes, bytes.len, false, &count, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "no tar header at offset 1024");
    CHECK_EQ(count, 1);
    bytes.data[1024 + 3] ^= 1;
    bytes.data[1024 + 124] = 'x';
    tar_seal(&bytes, 1024);
    CHECK_STATUS(read_all(&bytes, bytes.len, false, &count, &err), LMN_E_CORRUPT, &err);
    memset(bytes.data + 1024 + 124, 0xff, 12); /* a negative size */
    tar_seal(&bytes, 1024);
    CHECK_STATUS(read_all(&bytes, bytes.len, false, &count, &err), LMN_E_CORRUPT, &err);
    lmn__buf_deinit(&bytes);
    for (size_t i = 0; i < sizeof pax / sizeof pax[0]; i++) {
        tar_init(&bytes);
        tar_put(&bytes, "x", 'x', pax[i], strlen(pax[i]));
        tar_file(&bytes, "b.txt", "text");
        tar_end(&bytes);
        CHECK_STATUS(read_all(&bytes, bytes.len, false, &count, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "a pax header at offset 0");
        lmn__buf_deinit(&bytes);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void expect_refused(struct lmn__tar *tar, const char *name, const char *what)
{
    struct lmn__tar_member member;
    struct lmn_error err;
    bool more;

    CHECK_STATUS(lmn__tar_next(tar, &member, &more, &err), LMN_OK, &err);
    CHECK(more);
    CHECK_EQ(member.name.len, strlen(name));
    CHECK_BYTES(member.name.data, name, member.name.len);
    CHECK(member.refused != NULL);
    CHECK_HAS(member.refused, what);
}

/* What cannot be read is told by its name, and does not end the archive. */
static void test_tar__refuses_by_name(void **state)
{
    static const char pax[] = "22 GNU.sparse.major=1\n"
                              "23 GNU.sparse.name=b.b\n"
                              "12 path=x/b\n";
    struct lmn__buf bytes;
    struct lmn__tar tar;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    tar_init(&bytes);
    tar_put(&bytes, "s.b", 'S', NULL, 0);
    bytes.data[482] = 1; /* two blocks of its map follow, and then the content */
    memcpy(bytes.data + 124, "00000000001", 12);
    tar_seal(&bytes, 0);
    lmn__buf_put_zeros(&bytes, 1024 + 512);
    bytes.data[512 + 504] = 1;
    tar_file(&bytes, "a.b", "one");
    tar_put(&bytes, "x", 'x', pax, sizeof pax - 1);
    tar_file(&bytes, "GNUSparseFile.0/b.b", "two");
    tar_put(&bytes, "m.b", 'M', "end", 3);
    tar_file(&bytes, "c.b", "three");
    tar_end(&bytes);
    for (int skips = 0; skips < 2; skips++) {
        open_tar(&tar, &bytes, bytes.len, skips != 0);
        expect_refused(&tar, "s.b", "sparse");
        expect(&tar, "a.b", "one");
        expect_refused(&tar, "b.b", "sparse");
        expect_refused(&tar, "m.b", "another archive");
        expect(&tar, "c.b", "three");
        expect_end(&tar);
    }
    for (size_t len = 0; len < 1536 + 512; len++) {
        CHECK_STATUS(read_all(&bytes, len, len % 2 == 0, &count, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "shard.tar: ends at offset ");
    }
    lmn__buf_deinit(&bytes);
    CHECK_EQ(live_allocations(), 0);
}

/* Some programs add up the bytes of a header as signed ones. */
static void test_tar__signed_checksum(void **state)
{
    struct lmn__buf bytes;
    struct lmn__tar tar;
    int sum = 0;

    (void)state;
    tar_init(&bytes);
    tar_file(&bytes, "\xc3\xa9.b", "one");
    tar_end(&bytes);
    memset(bytes.data + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (signed char)bytes.data[i];
    snprintf((char *)bytes.data + 148, 8, "%06o", (unsigned)sum);
    open_tar(&tar, &bytes, bytes.len, false);
    expect(&tar, "\xc3\xa9.b", "one");
    expect_end(&tar);
    lmn__buf_deinit(&bytes);
    CHECK_EQ(live_allocations(), 0);
}

static void test_tar__corrupt_long_names(void **state)
{
    struct lmn__buf bytes, text;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    for (int pax = 0; pax < 2; pax++) {
        tar_init(&bytes);
        lmn__buf_init(&text, test_env(), 0);
        if (pax != 0)
            lmn__buf_printf(&text, "%d path=", 70000 + 12);
        while (text.len < 70000 + 11)
            lmn__buf_put_u8(&text, 'n');
        lmn__buf_put_u8(&text, '\n');
        tar_put(&bytes, "x", pax != 0 ? 'x' : 'L', text.data, text.len);
        tar_file(&bytes, "b.txt", "text");
        tar_end(&bytes);
        CHECK_STATUS(read_all(&bytes, bytes.len, false, &count, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "shard.tar: a ");
        CHECK_HAS(err.message, "at offset 0");
        lmn__buf_deinit(&text);
        lmn__buf_deinit(&bytes);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* An archive of two files, in two members of gzip, of which the first ends inside of a header. */
static void make_gzip(struct lmn__buf *packed)
{
    struct lmn__buf bytes;

    tar_init(packed);
    tar_init(&bytes);
    tar_file(&bytes, "a.txt", "some text");
    tar_file(&bytes, "b.txt", "more");
    tar_end(&bytes);
    tar_gzip(bytes.data, 700, packed);
    tar_gzip(bytes.data + 700, bytes.len - 700, packed);
    lmn__buf_deinit(&bytes);
}

static void test_tar__gzip(void **state)
{
    struct lmn__tar_member member;
    struct lmn__buf packed;
    struct lmn__tar tar;
    struct lmn_error err;
    uint64_t count;
    bool more;

    (void)state;
    make_gzip(&packed);
    for (int zeros = 0; zeros < 2; zeros++) {
        open_tar(&tar, &packed, packed.len, false);
        expect(&tar, "a.txt", "some text");
        CHECK_STATUS(lmn__tar_next(&tar, &member, &more, &err), LMN_OK, &err);
        CHECK_EQ(member.offset, 1024 + 512); /* of the archive, not of the file */
        expect_end(&tar);
        CHECK_STATUS(read_all(&packed, packed.len, true, &count, &err), LMN_OK, &err);
        CHECK_EQ(count, 2);
        lmn__buf_put_zeros(&packed, 1000);
    }
    lmn__buf_put(&packed, "more", 4);
    CHECK_STATUS(read_all(&packed, packed.len, false, &count, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "shard.tar: compressed with gzip: other bytes follow at offset ");
    lmn__buf_deinit(&packed);
    CHECK_EQ(live_allocations(), 0);
}

/* A cut and a flipped bit are told, wherever they are: the checksum is read, too. */
static void test_tar__corrupt_gzip(void **state)
{
    struct lmn__buf packed;
    struct lmn_error err;
    uint64_t count;
    size_t second = 10 + 5 + 700 + 8;

    (void)state;
    make_gzip(&packed);
    for (size_t len = 2; len < packed.len; len++) {
        if (len == second)
            continue; /* the first member as a whole; the archive is cut then */
        CHECK_STATUS(read_all(&packed, len, len % 2 == 0, &count, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "shard.tar: compressed with gzip: the file ends inside of it at ");
    }
    CHECK_STATUS(read_all(&packed, second, false, &count, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "shard.tar: ends at offset 700, ");
    for (size_t at = 10; at < packed.len; at++) {
        if (at >= second + 4 && at < second + 10)
            continue; /* time and system of the second member mean nothing */
        packed.data[at] ^= 4;
        CHECK_STATUS(read_all(&packed, packed.len, at % 2 == 0, &count, &err), LMN_E_CORRUPT, &err);
        packed.data[at] ^= 4;
    }
    lmn__buf_deinit(&packed);
    CHECK_EQ(live_allocations(), 0);
}

/* Behind the end mark, too, further than is read ahead. */
static void test_tar__corrupt_gzip_checksum(void **state)
{
    struct lmn__buf bytes, packed;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    tar_init(&packed);
    tar_init(&bytes);
    tar_file(&bytes, "a.txt", "some text");
    lmn__buf_put_zeros(&bytes, 600 << 10);
    tar_gzip(bytes.data, bytes.len, &packed);
    CHECK_STATUS(read_all(&packed, packed.len, false, &count, &err), LMN_OK, &err);
    packed.data[packed.len - 5] ^= 1;
    CHECK_STATUS(read_all(&packed, packed.len, false, &count, &err), LMN_E_CORRUPT, &err);
    lmn__buf_deinit(&bytes);
    lmn__buf_deinit(&packed);
    CHECK_EQ(live_allocations(), 0);
}

static void test_tar__gzip_every_fault_is_told(void **state)
{
    struct lmn__buf packed;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    make_gzip(&packed);
    for (uint64_t nth = 1;; nth++) {
        struct lmn__source source;
        struct lmn__tar_member member;
        struct lmn__tar tar;
        bool more = true;
        enum lmn_status st;

        CHECK_STATUS(lmn__source_open_memory(&source, test_env(), "shard.tar",
                                             (struct lmn__span){ packed.data, packed.len }, &err),
                     LMN_OK, &err);
        fault_arm(FAULT_ALLOC, nth);
        lmn__tar_init(&tar, test_env(), &source, false);
        count = 0;
        do {
            st = lmn__tar_next(&tar, &member, &more, &err);
            count += st == LMN_OK && more;
        } while (st == LMN_OK && more);
        lmn__tar_deinit(&tar);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            CHECK_EQ(count, 2);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    fault_disarm();
    lmn__buf_deinit(&packed);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tar__names_of_all_kinds),
        cmocka_unit_test(test_tar__sizes_of_all_kinds),
        cmocka_unit_test(test_tar__corrupt_cut_anywhere),
        cmocka_unit_test(test_tar__corrupt_headers),
        cmocka_unit_test(test_tar__refuses_by_name),
        cmocka_unit_test(test_tar__signed_checksum),
        cmocka_unit_test(test_tar__corrupt_long_names),
        cmocka_unit_test(test_tar__gzip),
        cmocka_unit_test(test_tar__corrupt_gzip),
        cmocka_unit_test(test_tar__corrupt_gzip_checksum),
        cmocka_unit_test(test_tar__gzip_every_fault_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
