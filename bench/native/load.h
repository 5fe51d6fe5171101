// What the loop (load.c) and the protocols know of each other.
//
// The loop owns sockets, time, and which connection sends next; a protocol owns what is sent and
// what an answer means. A protocol never blocks and never reads the clock. Whatever it gets that
// is not the answer it expects ends the run with the text of that answer: a figure is made of
// successes only.

#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work { CREATE, REMOVE, PUBLISH, CONSUME };
enum role { ADMINISTRATOR, PRODUCER, CONSUMER };

enum { BATCH_MAX = 1000, CONNECTIONS_MAX = 4096, PORTS_MAX = 16 };

struct item {
  const char *bytes;
  size_t length;
};

// What the command line asked for; constant while it runs.
struct plan {
  const struct protocol *protocol;
  enum work work;
  const char *name; // of the queue: letters and digits only, so that it needs no quoting anywhere
  const char *kind; // of the queue, where a protocol has several; of http: see http.c
  const char *token; // of http; empty: none
  const char *host;
  unsigned ports[PORTS_MAX], port_count; // connection i uses port i modulo their number
  unsigned connections, consumers, batch; // consumers are some of the connections
  double rate; // requests a second of an open loop; 0: closed loop
  // Payloads, or the requests themselves where the protocol is HTTP; sent in turn.
  struct item *items;
  size_t item_count;
};
extern struct plan plan;

struct buffer {
  char *bytes;
  size_t start, end, room; // start <= end <= room
};

struct connection {
  int fd;
  unsigned number;
  enum role role;
  unsigned step;         // of the handshake, and of whatever takes several answers; the protocol's
  unsigned unacknowledged; // messages of the publish in flight
  bool wants_to_write;   // the socket took only a part
  int64_t due_ns;        // when the publish in flight was due to leave
  struct buffer in, out;
  struct buffer request; // a publish, prepared once; the protocol's
  void *state;           // what else the protocol remembers
};

struct protocol {
  const char *name;
  // The socket is connected: begins the handshake, which ends with ready() or, for the
  // administrator, with administered().
  void (*open)(struct connection *);
  // Takes one whole answer from the front of the bytes; returns its length, 0 when some is missing.
  size_t (*take)(struct connection *, const char *bytes, size_t length);
  // Sends one batch; its acknowledgement is told by acknowledged().
  void (*publish)(struct connection *);
  // Begins to consume. Goes on by itself, tells each acknowledged message by consumed(), and when
  // it finds nothing and cannot wait at the server, calls rest(): consume() is called again after
  // the next publish.
  void (*consume)(struct connection *);
  // Whether a consumer acknowledges whole batches only, and waits for more with a part of one.
  bool holds_batches;
};

extern const struct protocol http, redis, nats, amqp, postgres;

void ready(struct connection *);
void administered(void);
// So many messages of a publish were acknowledged; a batch is complete when all are.
void acknowledged(struct connection *, unsigned messages);
void consumed(unsigned messages);
// The publish of an open loop with this number, counted from 0, has reached a consumer.
void reached(uint64_t publish);
void rest(struct connection *);

void put(struct connection *, const void *bytes, size_t length);
void put_text(struct connection *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void append(struct buffer *, const void *bytes, size_t length);
void append_text(struct buffer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
const struct item *next_item(void);
void *zeroed(size_t bytes);

// Ends the program with the text and what `answer` shows of an answer.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail_with_answer(const char *what, const char *answer, size_t length);

// The place behind the first `text` in the bytes, or NULL.
const char *behind(const char *bytes, size_t length, const char *text);

#endif
