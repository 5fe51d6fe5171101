// Keeps the free memory of a virtual machine in small pieces, until its standard input ends.
//
// Why: a virtual machine may tell its host which memory is free (free page reporting of the
// balloon driver), and the host takes it. The first use after that is a fault in the host for every
// page of 4 KiB, eight times as slow as a use of memory that is there, and it is whoever writes new
// files that pays: a log, and the one who writes more of it more. How often that happens hangs on
// how the free memory is cut up, which changes within an hour; so ratios of two runs differed.
//
// How: only whole free blocks of 2 MiB or more are told. So this uses MEBIBYTES once, then gives
// them back but for a page in each mebibyte, and no block is whole any more. What is in pieces the
// kernel gives away first. It also puts blocks together again, by moving pages; those that a pipe
// refers to (vmsplice) cannot be moved.
//
// Rejected: filling the page cache, as what a removed file gives back is told again; parameters of
// the kernel, which are the affair of whoever runs the machine.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, PIECE = 1 << 20 };

static char *memory;
static size_t pieces;

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

// A page of each piece from `first` on, as many as a pipe holds.
static size_t pin_from(size_t first) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) fail("pipe");
  // As much as is allowed; a pipe that stays small only means more of them.
  (void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  size_t next = first;
  while (next < pieces) {
    struct iovec page = {memory + next * PIECE, PAGE};
    if (vmsplice(ends[1], &page, 1, SPLICE_F_NONBLOCK) != PAGE) {
      if (errno == EAGAIN && next > first) break;
      fail("vmsplice");
    }
    next += 1;
  }
  return next;
}

int main(int count, char **words) {
  pieces = count == 2 ? strtoull(words[1], NULL, 10) : 0;
  if (pieces == 0) {
    fprintf(stderr, "usage: keep-memory MEBIBYTES\n");
    return 2;
  }
  const size_t bytes = pieces * PIECE;
  memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  // Huge pages would be the whole blocks that there must not be.
  if (madvise(memory, bytes, MADV_NOHUGEPAGE) != 0 && errno != EINVAL) fail("madvise");
  for (size_t at = 0; at < bytes; at += PAGE) memory[at] = 1;
  for (size_t pinned = 0; pinned < pieces;) pinned = pin_from(pinned);
  for (size_t piece = 0; piece < pieces; piece++) {
    if (madvise(memory + piece * PIECE + PAGE, PIECE - PAGE, MADV_DONTNEED) != 0) fail("madvise");
  }
  puts("kept");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
