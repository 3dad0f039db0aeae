/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

static int run(int argc, char **argv)
{
    return python_run("leman.cluster_command", NULL, argc - 1, argv + 1);
}

const struct command cmd_cluster = {
    "cluster", "clusters of a database, and what Kubernetes is told",
    "usage: leman cluster render NAME [--db DIR] [--json]\n"
    "       leman cluster render NAME [--size small|medium|large] [--namespace N] [--image I]\n"
    "                            [--json]\n"
    "       leman cluster list DIR [--json]\n"
    "       leman cluster delete DIR NAME\n"
    "\n"
    "`render` prints the RayCluster resource that KubeRay's operator makes a cluster from:\n"
    "\n"
    "    leman cluster render training --db zoo | kubectl apply -f -\n"
    "\n"
    "`list` shows the clusters that a database defines (db.define_cluster() in Python), `delete`\n"
    "forgets one; pods that run stay. Needs Python.\n"
    "\n"
    "  --db DIR       the database that defines the cluster\n"
    "  --size S       without a database: a head and workers of this size; small unless given\n"
    "  --namespace N  of Kubernetes; default unless given\n"
    "  --image I      of all pods; one of Ray's own unless given\n"
    "  --json         print JSON instead of YAML or a table\n",
    run
};
