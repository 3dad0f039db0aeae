/* SPDX-License-Identifier: Apache-2.0 */
#include "detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORD_CHARS = 1024 };

/* Read all of the word: an exit code, then the text. */
static int hear(int fd)
{
    char word[WORD_CHARS];
    size_t len = 0;
    ssize_t got;

    do {
        got = read(fd, word + len, sizeof word - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && len < sizeof word - 1) || (got < 0 && errno == EINTR));
    close(fd);
    word[len] = '\0';
    if (len == 0) {
        fprintf(stderr, "leman: the process of the job ended before the job began\n");
        return EXIT_FAILED;
    }
    fprintf(word[0] == EXIT_DONE ? stdout : stderr, "%s\n", word + 1);
    return word[0];
}

bool detach_split(int *fd_out, int *code_out)
{
    int ends[2];
    pid_t child;

    fflush(NULL);
    *fd_out = -1;
    *code_out = EXIT_FAILED;
    child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) {
        fprintf(stderr, "leman: the job cannot leave the terminal: %s\n", strerror(errno));
        return false;
    }
    if (child > 0) {
        close(ends[1]);
        waitpid(child, NULL, 0);
        *code_out = hear(ends[0]);
        return false;
    }
    close(ends[0]);
    setsid();
    if (fork() != 0)
        _exit(0); /* what goes on has no parent that would have to wait for it */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    *fd_out = ends[1];
    return true;
}

void detach_say(int *fd, int code, const char *text)
{
    char word[WORD_CHARS];
    size_t bytes = (size_t)snprintf(word, sizeof word, "%c%s", code, text);
    int nowhere = open("/dev/null", O_RDWR);

    bytes = bytes < sizeof word ? bytes : sizeof word - 1;
    if (*fd < 0)
        return;
    while (write(*fd, word, bytes) < 0 && errno == EINTR)
        ;
    close(*fd);
    *fd = -1;
    for (int i = 0; i < 3 && nowhere >= 0; i++)
        dup2(nowhere, i);
    if (nowhere > 2)
        close(nowhere);
}
