// NATS JetStream. One stream on one subject. A batch is so many publishes with a reply subject,
// and is acknowledged when so many answers came. A consumer fetches batches from one durable pull
// consumer and acknowledges each message, as clients do by default: nothing answers that (+ACK),
// so a message counts as consumed when its acknowledgement left.

#include "load.h"

#include <stdlib.h>
#include <string.h>

enum { HANDSHAKE, OPENED };

struct state {
  unsigned awaited; // messages of the fetch under way
};

// The inbox has the role in it: fetches of a consumer that has gone wait for seconds, and are told
// that the stream was deleted, which would otherwise come to whoever deletes it.
static void put_request(struct connection *connection, const char *subject, const char *body) {
  put_text(connection, "PUB %s _I.%u.%u %zu\r\n%s\r\n", subject, connection->role,
           connection->number, strlen(body), body);
}

static void open_connection(struct connection *connection) {
  connection->state = zeroed(sizeof(struct state));
  put_text(connection,
           "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,"
           "\"no_responders\":true}\r\n"
           "SUB _I.%u.%u 1\r\nPING\r\n",
           connection->role, connection->number);
  for (unsigned i = 0; i < plan.batch && connection->role == PRODUCER; i += 1) {
    const struct item *payload = next_item();
    append_text(&connection->request, "PUB %s _I.%u.%u %zu\r\n", plan.name, connection->role,
                connection->number, payload->length);
    append(&connection->request, payload->bytes, payload->length);
    append(&connection->request, "\r\n", 2);
  }
}

// What the administrator asks, one after the other; false when everything was asked.
static bool ask_next(struct connection *connection) {
  struct buffer subject = {0}, body = {0};
  connection->step += 1;
  unsigned asked = connection->step - OPENED;
  if (plan.work == REMOVE && asked == 1) {
    append_text(&subject, "$JS.API.STREAM.DELETE.%s", plan.name);
  } else if (plan.work == CREATE && asked == 1) {
    append_text(&subject, "$JS.API.STREAM.CREATE.%s", plan.name);
    append_text(&body,
                "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"retention\":\"limits\","
                "\"storage\":\"file\",\"max_consumers\":-1,\"max_msgs\":-1,"
                "\"max_bytes\":-1,\"num_replicas\":%s}",
                plan.name, plan.name, *plan.kind == 0 ? "1" : plan.kind);
  } else if (plan.work == CREATE && asked == 2) {
    append_text(&subject, "$JS.API.CONSUMER.DURABLE.CREATE.%s.bench", plan.name);
    append_text(&body,
                "{\"stream_name\":\"%s\",\"config\":{\"durable_name\":\"bench\","
                "\"ack_policy\":\"explicit\",\"deliver_policy\":\"all\","
                "\"replay_policy\":\"instant\",\"max_ack_pending\":100000,\"max_waiting\":4096}}",
                plan.name);
  } else {
    return false;
  }
  append(&subject, "", 1);
  append(&body, "", 1);
  put_request(connection, subject.bytes, body.bytes);
  free(subject.bytes);
  free(body.bytes);
  return true;
}

static void publish(struct connection *connection) {
  put(connection, connection->request.bytes, connection->request.end);
}

static void fetch(struct connection *connection) {
  struct state *state = connection->state;
  state->awaited = plan.batch;
  struct buffer *body = &connection->request;
  body->start = body->end = 0;
  append_text(body, "{\"batch\":%u,\"expires\":5000000000}", plan.batch);
  put_text(connection, "PUB $JS.API.CONSUMER.MSG.NEXT.%s.bench _I.%u.%u %zu\r\n", plan.name,
           connection->role, connection->number, body->end);
  put(connection, body->bytes, body->end);
  put(connection, "\r\n", 2);
}

static void take_message(struct connection *connection, const struct item *reply, const char *body,
                         size_t length) {
  struct state *state = connection->state;
  if (connection->role == ADMINISTRATOR) {
    if (behind(body, length, "\"error\"") != NULL) fail_with_answer("NATS refused", body, length);
    if (!ask_next(connection)) administered();
  } else if (connection->role == PRODUCER) {
    if (behind(body, length, "\"error\"") != NULL || behind(body, length, "\"seq\"") == NULL) {
      fail_with_answer("NATS refused a publish", body, length);
    }
    acknowledged(connection, 1);
  } else {
    put_text(connection, "PUB %.*s 4\r\n+ACK\r\n", (int)reply->length, reply->bytes);
    consumed(1);
    if (--state->awaited == 0) fetch(connection);
  }
}

// A message with headers tells how a request ended: 404 and 408 that the wait of a fetch is over.
static void take_status(struct connection *connection, const char *head, size_t length) {
  bool over = behind(head, length, "NATS/1.0 404") || behind(head, length, "NATS/1.0 408");
  if (connection->role != CONSUMER || !over) fail_with_answer("NATS refused", head, length);
  fetch(connection);
}

// `MSG subject sid [reply] length` and `HMSG subject sid [reply] head-length length`.
static size_t take_delivery(struct connection *connection, const char *bytes, size_t line_length,
                            size_t length) {
  struct item words[6];
  unsigned count = 0;
  for (const char *at = bytes, *end = bytes + line_length; at < end && count < 6;) {
    const char *stop = at;
    while (stop < end && *stop != ' ' && *stop != '\r') stop += 1;
    words[count++] = (struct item){.bytes = at, .length = (size_t)(stop - at)};
    for (at = stop; at < end && (*at == ' ' || *at == '\r' || *at == '\n');) at += 1;
  }
  if (count < 4) fail_with_answer("no delivery of NATS", bytes, line_length);
  size_t size = strtoul(words[count - 1].bytes, NULL, 10);
  if (length - line_length < size + 2) return 0;
  const char *body = bytes + line_length;
  if (bytes[0] == 'H') take_status(connection, body, size);
  else take_message(connection, &words[3], body, size);
  return line_length + size + 2;
}

static size_t take(struct connection *connection, const char *bytes, size_t length) {
  const char *line_end = memchr(bytes, '\n', length);
  if (line_end == NULL) return 0;
  size_t line_length = (size_t)(line_end - bytes) + 1;
  if (strncmp(bytes, "MSG ", 4) == 0 || strncmp(bytes, "HMSG ", 5) == 0) {
    return take_delivery(connection, bytes, line_length, length);
  }
  if (strncmp(bytes, "PING", 4) == 0) {
    put_text(connection, "PONG\r\n");
  } else if (strncmp(bytes, "PONG", 4) == 0) {
    connection->step = OPENED;
    if (connection->role != ADMINISTRATOR) ready(connection);
    else if (!ask_next(connection)) administered();
  } else if (strncmp(bytes, "INFO ", 5) != 0 && strncmp(bytes, "+OK", 3) != 0) {
    fail_with_answer("NATS refused", bytes, line_length);
  }
  return line_length;
}

const struct protocol nats = {
    .name = "nats", .open = open_connection, .take = take, .publish = publish, .consume = fetch};
