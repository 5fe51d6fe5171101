// RabbitMQ by AMQP 0-9-1. One durable queue, of the kind that is asked for. A batch is so many
// persistent publishes, and is acknowledged when all are confirmed. A consumer is pushed messages
// and acknowledges each batch by its last message; nothing answers that, so messages count as
// consumed when their acknowledgement left.

#include "load.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

// Class and method, as one number.
#define METHOD(class, method) ((uint32_t)(class) << 16 | (method))
enum { FRAME_METHOD = 1, FRAME_HEADER = 2, FRAME_BODY = 3, FRAME_HEARTBEAT = 8, FRAME_END = 0xce };
enum { DURABLE = 2, PERSISTENT = 2, FRAME_BYTES_MAX = 131072 };
// Pushed to a consumer ahead of its acknowledgements: what RabbitMQ recommends, and two batches.
enum { PREFETCH_LEAST = 100 };

struct state {
  uint64_t base;            // tag of the last message before the batch in flight
  bool confirmed[BATCH_MAX];
  uint64_t last_tag;        // delivered last
  uint64_t body_left;       // bytes of the message that is being delivered
  unsigned unacknowledged;
};

// -- writing --------------------------------------------------------------------------------------

static void put_8(struct buffer *to, unsigned value) {
  uint8_t byte = (uint8_t)value;
  append(to, &byte, 1);
}
static void put_16(struct buffer *to, unsigned value) {
  uint16_t bytes = htobe16((uint16_t)value);
  append(to, &bytes, 2);
}
static void put_32(struct buffer *to, size_t value) {
  uint32_t bytes = htobe32((uint32_t)value);
  append(to, &bytes, 4);
}
static void put_64(struct buffer *to, uint64_t value) {
  uint64_t bytes = htobe64(value);
  append(to, &bytes, 8);
}
static void put_short_string(struct buffer *to, const char *text) {
  put_8(to, (unsigned)strlen(text));
  append(to, text, strlen(text));
}
static void put_long_string(struct buffer *to, const char *bytes, size_t length) {
  put_32(to, length);
  append(to, bytes, length);
}

// A frame is begun with an unknown size, which is set when it ends.
static size_t begin_frame(struct buffer *to, unsigned type, unsigned channel) {
  put_8(to, type);
  put_16(to, channel);
  put_32(to, 0);
  return to->end;
}
static size_t begin_method(struct buffer *to, unsigned channel, uint32_t method) {
  size_t begin = begin_frame(to, FRAME_METHOD, channel);
  put_32(to, method);
  return begin;
}
static void end_frame(struct buffer *to, size_t begin) {
  uint32_t size = htobe32((uint32_t)(to->end - begin));
  memcpy(to->bytes + begin - 4, &size, 4);
  put_8(to, FRAME_END);
}

static void append_publish(struct buffer *to, const struct item *payload) {
  if (payload->length > FRAME_BYTES_MAX - 8) fail("a payload of %zu bytes", payload->length);
  size_t frame = begin_method(to, 1, METHOD(60, 40));
  put_16(to, 0);
  put_short_string(to, "");
  put_short_string(to, plan.name);
  put_8(to, 0);
  end_frame(to, frame);
  frame = begin_frame(to, FRAME_HEADER, 1);
  put_16(to, 60);
  put_16(to, 0);
  put_64(to, payload->length);
  put_16(to, 0x1000);
  put_8(to, PERSISTENT);
  end_frame(to, frame);
  frame = begin_frame(to, FRAME_BODY, 1);
  append(to, payload->bytes, payload->length);
  end_frame(to, frame);
}

static void open_connection(struct connection *connection) {
  connection->state = zeroed(sizeof(struct state));
  put(connection, "AMQP\0\0\11\1", 8);
  for (unsigned i = 0; i < plan.batch && connection->role == PRODUCER; i += 1) {
    append_publish(&connection->request, next_item());
  }
}

static void publish(struct connection *connection) {
  struct state *state = connection->state;
  memset(state->confirmed, 0, plan.batch);
  put(connection, connection->request.bytes, connection->request.end);
}

static void consume(struct connection *connection) {
  struct buffer *out = &connection->out;
  size_t frame = begin_method(out, 1, METHOD(60, 20));
  put_16(out, 0);
  put_short_string(out, plan.name);
  put_short_string(out, "c");
  put_8(out, 0);
  put_32(out, 0);
  end_frame(out, frame);
}

// -- the handshake --------------------------------------------------------------------------------

static void start(struct buffer *out) {
  size_t frame = begin_method(out, 0, METHOD(10, 11));
  put_32(out, 0);
  put_short_string(out, "PLAIN");
  put_long_string(out, "\0guest\0guest", 12);
  put_short_string(out, "en_US");
  end_frame(out, frame);
}

static void tune_and_open(struct buffer *out) {
  size_t frame = begin_method(out, 0, METHOD(10, 31));
  put_16(out, 1);
  put_32(out, FRAME_BYTES_MAX);
  put_16(out, 0);
  end_frame(out, frame);
  frame = begin_method(out, 0, METHOD(10, 40));
  put_short_string(out, "/");
  put_short_string(out, "");
  put_8(out, 0);
  end_frame(out, frame);
}

static void open_channel(struct buffer *out) {
  size_t frame = begin_method(out, 1, METHOD(20, 10));
  put_short_string(out, "");
  end_frame(out, frame);
}

// What each role asks of its new channel.
static void set_up(struct connection *connection) {
  struct buffer *out = &connection->out;
  size_t frame;
  if (connection->role == PRODUCER) {
    frame = begin_method(out, 1, METHOD(85, 10));
    put_8(out, 0);
  } else if (connection->role == CONSUMER) {
    frame = begin_method(out, 1, METHOD(60, 10));
    put_32(out, 0);
    put_16(out, 2 * plan.batch > PREFETCH_LEAST ? 2 * plan.batch : PREFETCH_LEAST);
    put_8(out, 0);
  } else if (plan.work == REMOVE) {
    frame = begin_method(out, 1, METHOD(50, 40));
    put_16(out, 0);
    put_short_string(out, plan.name);
    put_8(out, 0);
  } else {
    frame = begin_method(out, 1, METHOD(50, 10));
    put_16(out, 0);
    put_short_string(out, plan.name);
    put_8(out, DURABLE);
    put_32(out, 1 + strlen("x-queue-type") + 1 + 4 + strlen(plan.kind));
    put_short_string(out, "x-queue-type");
    put_8(out, 'S');
    put_long_string(out, plan.kind, strlen(plan.kind));
  }
  end_frame(out, frame);
}

// -- reading --------------------------------------------------------------------------------------

static uint64_t get_64(const char *at) {
  uint64_t value;
  memcpy(&value, at, 8);
  return be64toh(value);
}
static uint32_t get_32(const char *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return be32toh(value);
}

// Confirms may come in any order; one may speak for all before it.
static void confirm(struct connection *connection, uint64_t tag, bool multiple) {
  struct state *state = connection->state;
  if (tag <= state->base || tag > state->base + plan.batch) {
    fail("RabbitMQ confirmed message %llu, which was not sent", (unsigned long long)tag);
  }
  unsigned last = (unsigned)(tag - state->base) - 1, confirmed = 0;
  for (unsigned i = multiple ? 0 : last; i <= last; i += 1) {
    confirmed += !state->confirmed[i];
    state->confirmed[i] = true;
  }
  if (confirmed == connection->unacknowledged) state->base += plan.batch;
  acknowledged(connection, confirmed);
}

static void delivered(struct connection *connection) {
  struct state *state = connection->state;
  state->unacknowledged += 1;
  if (state->unacknowledged < plan.batch) return;
  struct buffer *out = &connection->out;
  size_t frame = begin_method(out, 1, METHOD(60, 80));
  put_64(out, state->last_tag);
  put_8(out, plan.batch > 1);
  end_frame(out, frame);
  consumed(state->unacknowledged);
  state->unacknowledged = 0;
}

static void take_method(struct connection *connection, const char *arguments, size_t length,
                        uint32_t method) {
  struct state *state = connection->state;
  struct buffer *out = &connection->out;
  switch (method) {
  case METHOD(10, 10): start(out); break;
  case METHOD(10, 30): tune_and_open(out); break;
  case METHOD(10, 41): open_channel(out); break;
  case METHOD(20, 11): set_up(connection); break;
  case METHOD(50, 11):
  case METHOD(50, 41): administered(); break;
  case METHOD(60, 11):
  case METHOD(85, 11): ready(connection); break;
  case METHOD(60, 21): break;
  case METHOD(60, 60): state->last_tag = get_64(arguments + 1 + (uint8_t)arguments[0]); break;
  case METHOD(60, 80): confirm(connection, get_64(arguments), arguments[8] & 1); break;
  default: fail_with_answer("RabbitMQ refused", arguments, length);
  }
}

static size_t take(struct connection *connection, const char *bytes, size_t length) {
  if (length < 8) return 0;
  if (memcmp(bytes, "AMQP", 4) == 0) fail("RabbitMQ speaks another version of AMQP");
  size_t size = get_32(bytes + 3);
  if (length < size + 8) return 0;
  const char *payload = bytes + 7;
  if ((uint8_t)payload[size] != FRAME_END) fail_with_answer("no frame of AMQP", bytes, length);
  struct state *state = connection->state;
  if (bytes[0] == FRAME_METHOD) {
    take_method(connection, payload + 4, size - 4, get_32(payload));
  } else if (bytes[0] == FRAME_HEADER) {
    state->body_left = get_64(payload + 4);
  } else if (bytes[0] == FRAME_BODY) {
    state->body_left -= size;
    if (state->body_left == 0) delivered(connection);
  }
  return size + 8;
}

const struct protocol amqp = {
    .name = "amqp", .open = open_connection, .take = take, .publish = publish, .consume = consume,
    .holds_batches = true};
