/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/record_options.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP_SIZE_MAX = 1 << 30, ZSTD_LEVEL = 3, BROTLI_LEVEL = 6, PARALLELISM_MAX = 1024 };

/* One option, parted into its name and its value. */
struct option {
    char name[32], value[32];
    bool has_value;
};

static enum lmn_status wrong(const struct option *option, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID, "ArrayRecord has no option \"%s%s%s\"", option->name,
                    option->has_value ? ":" : "", option->value);
}

static bool read_number(const struct option *option, long low, long high, long *value_out)
{
    char *end;

    *value_out = strtol(option->value, &end, 10);
    return option->has_value && end != option->value && *end == '\0' && *value_out >= low &&
           *value_out <= high;
}

/* A flag that has no value is set. */
static bool read_flag(const struct option *option, bool *value_out)
{
    *value_out = !option->has_value || strcmp(option->value, "true") == 0;
    return *value_out || strcmp(option->value, "false") == 0;
}

/* A codec, with or without a level. */
static bool read_codec(const struct option *option, struct lmn__record_options *options)
{
    static const struct {
        const char *name;
        enum lmn__record_codec codec;
        int level, low, high;
    } codecs[] = { { "uncompressed", LMN__RECORD_PLAIN, 0, 0, -1 },
                   { "zstd", LMN__RECORD_ZSTD, ZSTD_LEVEL, -131072, 22 },
                   { "brotli", LMN__RECORD_BROTLI, BROTLI_LEVEL, 0, 11 },
                   { "snappy", LMN__RECORD_SNAPPY, 0, 0, -1 } };

    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        long level = codecs[i].level;

        if (strcmp(codecs[i].name, option->name) != 0)
            continue;
        options->codec = codecs[i].codec;
        if (option->has_value && !read_number(option, codecs[i].low, codecs[i].high, &level))
            return false;
        options->level = (int)level;
        return true;
    }
    return false;
}

static enum lmn_status read_option(const struct option *option, struct lmn__record_options *options,
                                   struct lmn_error *err)
{
    bool flag = false, good;
    long number = 0;

    if (strcmp(option->name, "group_size") == 0) {
        good = read_number(option, 1, GROUP_SIZE_MAX, &number);
        options->group_size = (uint64_t)number;
    } else if (strcmp(option->name, "transpose") == 0) {
        good = read_flag(option, &flag);
        if (good && flag)
            return lmn_fail(err, LMN_E_UNSUPPORTED, "transposed records (transpose:true)");
    } else if (strcmp(option->name, "pad_to_block_boundary") == 0) {
        good = read_flag(option, &options->pads);
    } else if (strcmp(option->name, "max_parallelism") == 0) {
        good = read_number(option, 0, PARALLELISM_MAX, &number);
        options->parallelism = (uint32_t)number;
    } else if (strcmp(option->name, "window_log") == 0 ||
               strcmp(option->name, "saturation_delay_ms") == 0) {
        good = read_number(option, 0, 1 << 20, &number);
    } else {
        good = read_codec(option, options);
    }
    return good ? LMN_OK : wrong(option, err);
}

enum lmn_status lmn__record_options_read(const char *text, struct lmn__record_options *options_out,
                                         struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *options_out = (struct lmn__record_options){ .codec = LMN__RECORD_ZSTD,
                                                 .level = ZSTD_LEVEL,
                                                 .group_size = 1 };
    while (st == LMN_OK && text != NULL && *text != '\0') {
        struct option option = { 0 };
        size_t len = strcspn(text, ","), name = strcspn(text, ":,");
        size_t value = name < len ? len - name - 1 : 0;

        if (name >= sizeof option.name || value >= sizeof option.value)
            return lmn_fail(err, LMN_E_INVALID, "ArrayRecord has no option \"%.*s\"",
                            (int)(len < 100 ? len : 100), text);
        memcpy(option.name, text, name);
        option.has_value = name < len;
        if (option.has_value)
            memcpy(option.value, text + name + 1, value);
        st = read_option(&option, options_out, err);
        text += len + (text[len] == ',');
    }
    return st;
}

void lmn__record_options_text(const struct lmn__record_options *options, char *text, size_t bytes)
{
    char codec[32] = "uncompressed";

    if (options->codec == LMN__RECORD_ZSTD)
        snprintf(codec, sizeof codec, "zstd:%d", options->level);
    else if (options->codec == LMN__RECORD_BROTLI)
        snprintf(codec, sizeof codec, "brotli:%d", options->level);
    else if (options->codec == LMN__RECORD_SNAPPY)
        snprintf(codec, sizeof codec, "snappy");
    snprintf(text, bytes, "group_size:%llu,transpose:false,pad_to_block_boundary:%s,%s",
             (unsigned long long)options->group_size, options->pads ? "true" : "false", codec);
}
