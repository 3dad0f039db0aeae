/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "table.h"
#include "value.h"

static enum lmn_status list_tables(const char *root, bool json, struct lmn_error *err)
{
    struct text name = { 0 };
    struct lmn_name_list list;
    enum lmn_status st = lmn_database_list(NULL, root, &list, err);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < list.count; i++) {
        if (json) {
            json_open(NULL, '{');
            json_text("table", list.name[i]);
            json_close('}');
            json_end();
        } else {
            printf("%s\n", people_text(&name, list.name[i]));
        }
    }
    text_free(&name);
    lmn_name_list_free(&list);
    return LMN_OK;
}

static enum lmn_status rename_table(const char *root, char *names, struct lmn_error *err)
{
    struct lmn_assignment name;

    if (!assignment_read(names, &name))
        return lmn_fail(err, LMN_E_INVALID, "--rename wants OLD=NEW, not \"%.100s\"", names);
    return lmn_database_rename(NULL, root, name.column, name.expression, err);
}

static int run(int argc, char **argv)
{
    const char *drop = NULL;
    char *rename = NULL;
    bool json = false;
    const struct argument options[] = {
        { "drop", ARGUMENT_TEXT, &drop },
        { "rename", ARGUMENT_TEXT, &rename },
        { "json", ARGUMENT_FLAG, &json },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    const char *root;
    struct lmn_error err;
    enum lmn_status st = LMN_OK;
    int rest, code = arguments_read(&cmd_tables, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_tables, "one directory is wanted, not %d", argc - rest);
    if (drop != NULL && rename != NULL)
        return usage(&cmd_tables, "--drop or --rename, not both");
    root = local_path(argv[rest]);
    if (!path_is_folder(root))
        st = lmn_fail(&err, LMN_E_NOT_FOUND, "there is no directory %.300s", root);
    if (st == LMN_OK && drop != NULL)
        st = lmn_database_drop(NULL, root, drop, &err);
    if (st == LMN_OK && rename != NULL)
        st = rename_table(root, rename, &err);
    if (st == LMN_OK)
        st = list_tables(root, json, &err);
    return st == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_tables = {
    "tables", "list, rename and drop tables of a database",
    "usage: leman tables DIRECTORY [--drop NAME | --rename OLD=NEW] [--json]\n"
    "\n"
    "Lists the tables of a database, the directories NAME.lance in DIRECTORY, after changing them\n"
    "if told.\n"
    "\n"
    "  --drop NAME     remove a table with all its versions\n"
    "  --rename O=N    table O gets the name N\n"
    "  --json          print every name as a JSON object, one per line\n",
    run
};
