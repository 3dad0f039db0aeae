/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seeds.c - make inputs of the fuzz targets from real files: fuzz_seeds CORPUS FILE ...
 *
 * Every page of every column becomes an input of the target for its layout and of `layout`; the
 * file's tail becomes inputs of `footer`, `schema` and `proto`, a symbol table of `fsst`; a small
 * file is an input of `file`. A manifest (its name ends so) is an input of `manifest`, and its
 * transaction, if it has one, of `transaction`.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "format/file.h"
#include "input.h"
#include "leaves.h"
#include "table/manifest.h"

enum { FILE_BYTES_MAX = 24 << 10, PAGE_BYTES_MAX = 32 << 10 };

static const char *corpus;

/* Write an input under a name made from its content, so that equal ones are kept once. */
static void put_input(const char *target, const struct lmn__buf *input)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", corpus, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%016llx", corpus, target,
             (unsigned long long)lmn__hash64(input->data, input->len));
    file = fopen(path, "wb");
    if (file == NULL || fwrite(input->data, 1, input->len, file) != input->len) {
        perror(path);
        exit(1);
    }
    fclose(file);
}

static void put_piece(struct lmn__buf *buf, const void *data, size_t len)
{
    lmn__buf_put_u32(buf, (uint32_t)len);
    lmn__buf_put(buf, data, len);
}

static int nesting_number(const struct lmn__node *node)
{
    char text[LMN__NODE_DEPTH_MAX + 1];
    size_t len = node->depth;

    text[len] = '\0';
    for (const struct lmn__node *up = node->parent; up != NULL; up = up->parent) {
        if (up->kind == LMN__NODE_FIXED_LIST)
            return -1;
        text[--len] = up->kind == LMN__NODE_LIST ? 'l' : 's';
    }
    for (uint32_t i = 0; i < nesting_count(); i++) {
        if (strcmp(leaf_nesting(i), text) == 0)
            return (int)i;
    }
    return -1;
}

/* A symbol table with bytes that need not be its codes: any byte is a code. */
static void put_symbols(const struct lmn__encoding *encoding, struct lmn__span codes)
{
    struct lmn__buf input;

    while (encoding != NULL && encoding->kind != LMN__ENC_FSST)
        encoding = encoding->child;
    if (encoding == NULL)
        return;
    lmn__buf_init(&input, fuzz_env(), 0);
    lmn__buf_put(&input, encoding->table.data, encoding->table.len);
    lmn__buf_put(&input, codes.data, codes.len < 256 ? codes.len : 256);
    put_input("fsst", &input);
    lmn__buf_deinit(&input);
}

static void put_page(struct lmn_file *file, const struct lmn__node *node,
                     const struct lmn__page_info *info)
{
    static const char *const targets[] = { "", "miniblock", "constant", "fullzip", "miniblock" };
    int leaf = leaf_number(node->layout), nesting = nesting_number(node);
    struct lmn__buf input;
    uint64_t bytes = 0;

    lmn__buf_init(&input, fuzz_env(), 0);
    lmn__buf_put(&input, info->description.data, info->description.len);
    put_input(info->layout != NULL ? "layout" : "array20", &input);
    for (uint32_t i = 0; i < info->buffer_count; i++)
        bytes += info->buffer[i].bytes;
    if (info->layout != NULL && leaf >= 0 && nesting >= 0 && bytes <= PAGE_BYTES_MAX) {
        lmn__buf_reset(&input);
        lmn__buf_put_u8(&input, (uint8_t)leaf);
        lmn__buf_put_u8(&input, (uint8_t)nesting);
        lmn__buf_put_u32(&input, (uint32_t)info->row_count);
        put_piece(&input, info->description.data, info->description.len);
        lmn__buf_put_u8(&input, (uint8_t)info->buffer_count);
        for (uint32_t i = 0; i < info->buffer_count; i++) {
            uint8_t *data = malloc(info->buffer[i].bytes + 1);

            if (lmn__object_read(&file->object, info->buffer[i].position, data,
                                 info->buffer[i].bytes, NULL) != LMN_OK)
                exit(1);
            put_piece(&input, data, info->buffer[i].bytes);
            put_symbols(info->layout->values,
                        (struct lmn__span){ data, (size_t)info->buffer[i].bytes });
            free(data);
        }
        put_input(targets[info->layout->kind], &input);
    }
    lmn__buf_deinit(&input);
}

static void put_bytes(struct lmn_file *file, struct lmn__extent extent, const char *target,
                      uint64_t head, size_t head_bytes)
{
    struct lmn__buf input;
    uint8_t *data = malloc(extent.bytes + 1);

    lmn__buf_init(&input, fuzz_env(), 0);
    lmn__buf_put(&input, &head, head_bytes);
    if (lmn__object_read(&file->object, extent.position, data, extent.bytes, NULL) != LMN_OK)
        exit(1);
    lmn__buf_put(&input, data, extent.bytes);
    put_input(target, &input);
    free(data);
    lmn__buf_deinit(&input);
}

static void put_file(struct lmn_file *file)
{
    uint64_t bytes = file->object.bytes;

    if (bytes <= FILE_BYTES_MAX)
        put_bytes(file, (struct lmn__extent){ 0, bytes }, "file", 0, 0);
    put_bytes(file, (struct lmn__extent){ bytes - LMN__FOOTER_BYTES, LMN__FOOTER_BYTES }, "footer",
              bytes, 8);
    put_bytes(file, file->global_extent[0], "schema", file->footer.minor, 1);
    put_bytes(file, file->global_extent[0], "proto", 0, 1);
    for (uint32_t i = 0; i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];
        const struct lmn__column *column;

        if (node->column == LMN__NO_COLUMN ||
            lmn__file_column(file, node->column, &column, NULL) != LMN_OK)
            continue;
        if (file->column_extent[node->column].bytes <= PAGE_BYTES_MAX)
            put_bytes(file, file->column_extent[node->column], "proto", 1, 1);
        for (uint32_t k = 0; k < column->page_count; k++)
            put_page(file, node, &column->page[k]);
    }
}

static void put_manifest(struct lmn_store *store, const char *path)
{
    struct lmn__manifest *manifest;
    struct lmn_error err;
    struct lmn__buf input;

    if (lmn__manifest_read(store, path, &manifest, &err) != LMN_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    lmn__buf_init(&input, fuzz_env(), 0);
    lmn__buf_put(&input, manifest->block->data, manifest->bytes);
    put_input("manifest", &input);
    lmn__buf_reset(&input);
    lmn__buf_put_u8(&input, (uint8_t)(manifest->pb.version % 9));
    lmn__buf_put(&input, manifest->transaction.data, manifest->transaction.len);
    if (manifest->transaction.data != NULL)
        put_input("transaction", &input);
    lmn__buf_deinit(&input);
    lmn__manifest_release(manifest);
}

static bool is_manifest(const char *path)
{
    static const char suffix[] = ".manifest";
    size_t len = strlen(path), tail = sizeof suffix - 1;

    return len > tail && strcmp(path + len - tail, suffix) == 0;
}

int main(int argc, char **argv)
{
    struct lmn_store *store;
    struct lmn_error err;

    if (argc < 3) {
        fprintf(stderr, "usage: fuzz_seeds CORPUS FILE ...\n");
        return 2;
    }
    corpus = argv[1];
    mkdir(corpus, 0777);
    if (lmn_store_open_local(fuzz_env(), "/", &store, &err) != LMN_OK)
        return 1;
    for (int i = 2; i < argc; i++) {
        char *path = realpath(argv[i], NULL);
        struct lmn_file *file;

        if (path != NULL && is_manifest(path)) {
            put_manifest(store, path + 1);
            free(path);
            continue;
        }
        if (path == NULL || lmn_file_open(store, path + 1, NULL, &file, &err) != LMN_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], path != NULL ? err.message : "no such file");
            return 1;
        }
        put_file(file);
        lmn_file_release(file);
        free(path);
    }
    lmn_store_release(store);
    return 0;
}
