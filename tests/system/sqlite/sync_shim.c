/* Lets a test decide what becomes of every sync of one process. Loaded with LD_PRELOAD.
 *
 * ROTA_TEST_SYNC names a file. While it holds "fail", every sync is an I/O error. When it holds "stop", the next sync
 * removes it and stops the process before anything is synced, until somebody continues it. Otherwise syncs are real.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int act(const char *function, int descriptor) {
  char order[8] = "";
  const char *path = getenv("ROTA_TEST_SYNC");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (file) {
    if (!fgets(order, sizeof order, file)) order[0] = 0;
    fclose(file);
  }
  if (!strncmp(order, "fail", 4)) {
    errno = EIO;
    return -1;
  }
  if (!strncmp(order, "stop", 4)) {
    unlink(path);
    raise(SIGSTOP);
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
  return real(descriptor);
}

int fsync(int descriptor) { return act("fsync", descriptor); }
int fdatasync(int descriptor) { return act("fdatasync", descriptor); }
