/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "json.h"
#include "table.h"
#include "value.h"

static enum lmn_status list_tags(struct lmn_table *table, bool json, struct lmn_error *err)
{
    struct text name = { 0 }, branch = { 0 };
    struct lmn_tag_list list;
    enum lmn_status st = lmn_table_tags(table, &list, err);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < list.count; i++) {
        if (json) {
            json_open(NULL, '{');
            json_text("tag", list.entry[i].name);
            json_number("version", list.entry[i].version);
            json_text("branch", list.entry[i].branch);
            json_close('}');
            json_end();
        } else {
            printf("%8llu  %s%s%s\n", (unsigned long long)list.entry[i].version,
                   people_text(&name, list.entry[i].name),
                   list.entry[i].branch[0] != '\0' ? " of branch " : "",
                   people_text(&branch, list.entry[i].branch));
        }
    }
    text_free(&name);
    text_free(&branch);
    lmn_tag_list_free(&list);
    return LMN_OK;
}

static int run(int argc, char **argv)
{
    bool json = false, move = false, delete = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { "move", ARGUMENT_FLAG, &move },
        { "delete", ARGUMENT_FLAG, &delete },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    struct lmn_table *table;
    const char *name, *version;
    struct lmn_error err;
    enum lmn_status st;
    int rest, code = arguments_read(&cmd_tag, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest < 1 || argc - rest > 3 || (delete && (move || argc - rest != 2)))
        return usage(&cmd_tag, "a table is wanted, then a name, then a version");
    name = argc - rest > 1 ? argv[rest + 1] : NULL;
    version = argc - rest > 2 ? argv[rest + 2] : NULL;
    /* To list names, and to take one away, any version will do. */
    st = name == NULL || delete ? open_version(argv[rest], 0, &table, &err)
                                : open_table(argv[rest], version, &table, &err);
    if (st == LMN_OK && name == NULL)
        st = list_tags(table, json, &err);
    else if (st == LMN_OK)
        st = delete ? lmn_table_untag(table, name, &err)
                    : lmn_table_tag(table, name, 0, move, &err);
    lmn_table_release(table);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_tag = {
    "tag", "name versions of a table",
    "usage: leman tag TABLE [--json]\n"
    "       leman tag TABLE NAME [VERSION] [--move]\n"
    "       leman tag TABLE NAME --delete\n"
    "\n"
    "Lists the names that versions have, gives one to a version (the newest, unless told), or\n"
    "takes one away. Versions with a name are kept by `leman cleanup`.\n"
    "\n"
    "  --move    a name that is taken moves to this version\n"
    "  --delete  take the name away; the version stays\n"
    "  --json    print every name as a JSON object, one per line\n",
    run
};
