// Redis Streams. One stream; a batch is a pipeline of XADD. A consumer reads as a member of one
// group and sends the XACK of a batch together with its next XREADGROUP, which is the least
// number of round trips a client can have. Consumed entries are not deleted: neither do the
// others delete theirs.

#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MS = 2000 };
// What a consumer waits for.
enum { MESSAGES, ACKNOWLEDGEMENT };

struct consumption {
  unsigned held;                // messages read and not yet known to be acknowledged
  struct buffer ids;            // of what is read, as arguments of XACK
};

// The length of the value at the front, 0 when some of it is missing.
static size_t value_length(const char *bytes, size_t length) {
  size_t at = 0, left = 1;
  while (left > 0) {
    const char *line_end = at < length ? memchr(bytes + at, '\n', length - at) : NULL;
    if (line_end == NULL) return 0;
    char type = bytes[at];
    long number = strtol(bytes + at + 1, NULL, 10);
    at = (size_t)(line_end - bytes) + 1;
    left -= 1;
    if (type == '*' && number > 0) left += (size_t)number;
    if (type == '$' && number >= 0) at += (size_t)number + 2;
    if (type != '*' && type != '$' && type != ':' && type != '+' && type != '-') {
      fail_with_answer("no answer of Redis", bytes, length);
    }
  }
  return at <= length ? at : 0;
}

static void append_argument(struct buffer *buffer, const char *bytes, size_t length) {
  append_text(buffer, "$%zu\r\n", length);
  append(buffer, bytes, length);
  append(buffer, "\r\n", 2);
}

static void append_command(struct buffer *buffer, unsigned count, const char *const *words) {
  append_text(buffer, "*%u\r\n", count);
  for (unsigned i = 0; i < count; i += 1) append_argument(buffer, words[i], strlen(words[i]));
}

static void open_connection(struct connection *connection) {
  if (plan.work == CREATE) {
    const char *words[] = {"XGROUP", "CREATE", plan.name, "bench", "0", "MKSTREAM"};
    append_command(&connection->out, 6, words);
  } else if (plan.work == REMOVE) {
    const char *words[] = {"DEL", plan.name};
    append_command(&connection->out, 2, words);
  } else {
    for (unsigned i = 0; i < plan.batch && connection->role == PRODUCER; i += 1) {
      const struct item *payload = next_item();
      append_text(&connection->request, "*5\r\n$4\r\nXADD\r\n$%zu\r\n%s\r\n$1\r\n*\r\n$1\r\nd\r\n",
                  strlen(plan.name), plan.name);
      append_argument(&connection->request, payload->bytes, payload->length);
    }
    connection->state = zeroed(sizeof(struct consumption));
    ready(connection);
  }
}

static void publish(struct connection *connection) {
  put(connection, connection->request.bytes, connection->request.end);
}

static void consume(struct connection *connection) {
  char consumer[16], count[16], block[16];
  snprintf(consumer, sizeof consumer, "c%u", connection->number);
  snprintf(count, sizeof count, "%u", plan.batch);
  snprintf(block, sizeof block, "%d", BLOCK_MS);
  const char *words[] = {"XREADGROUP", "GROUP", "bench",   consumer,  "COUNT", count,
                         "BLOCK",      block,   "STREAMS", plan.name, ">"};
  append_command(&connection->out, 11, words);
}

// Goes through the entries of `*1 *2 stream *n (*2 id fields)`: an entry begins with `*2`, its id.
static void take_messages(struct connection *connection, const char *bytes, size_t length) {
  struct consumption *state = connection->state;
  state->held = 0;
  state->ids.start = state->ids.end = 0;
  if (bytes[0] == '*' && bytes[1] == '-') {
    consume(connection);
    return;
  }
  const char *entries = behind(bytes, length, plan.name);
  if (entries == NULL) fail_with_answer("XREADGROUP", bytes, length);
  entries += 2;
  unsigned long count = strtoul(entries + 1, NULL, 10);
  const char *at = memchr(entries, '\n', length - (size_t)(entries - bytes)) + 1;
  for (unsigned long i = 0; i < count; i += 1) {
    const char *id = at + strlen("*2\r\n");
    size_t id_length = value_length(id, length - (size_t)(id - bytes));
    append(&state->ids, id, id_length);
    at = id + id_length;
    at += value_length(at, length - (size_t)(at - bytes));
  }
  state->held = (unsigned)count;
  put_text(connection, "*%lu\r\n$4\r\nXACK\r\n$%zu\r\n%s\r\n$5\r\nbench\r\n", count + 3,
           strlen(plan.name), plan.name);
  put(connection, state->ids.bytes, state->ids.end);
  consume(connection);
  connection->step = ACKNOWLEDGEMENT;
}

static void take_acknowledgement(struct connection *connection, const char *bytes, size_t length) {
  struct consumption *state = connection->state;
  if (bytes[0] != ':' || strtoul(bytes + 1, NULL, 10) != state->held) {
    fail_with_answer("XACK acknowledged another number", bytes, length);
  }
  consumed(state->held);
  connection->step = MESSAGES;
}

static size_t take(struct connection *connection, const char *bytes, size_t length) {
  size_t used = value_length(bytes, length);
  if (used == 0) return 0;
  if (bytes[0] == '-') fail_with_answer("Redis refused", bytes, used);
  if (connection->role == ADMINISTRATOR) administered();
  else if (connection->role == PRODUCER) {
    if (bytes[0] != '$') fail_with_answer("XADD", bytes, used);
    acknowledged(connection, 1);
  } else if (connection->step == ACKNOWLEDGEMENT) take_acknowledgement(connection, bytes, used);
  else take_messages(connection, bytes, used);
  return used;
}

const struct protocol redis = {
    .name = "redis", .open = open_connection, .take = take, .publish = publish, .consume = consume};
