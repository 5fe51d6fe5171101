// HTTP/1.1 as our nodes speak it. A publish is a prepared request; every answer must be a
// success, and none of its results may say that a message was not stored as a new one. A consumer
// pops up to a batch from any partition and completes it by acknowledging its last message
// (acknowledgements are cumulative); the answer is searched for the few fields that needs, and
// not parsed. Consumers of the kind `dlq` make a dead letter of each message instead; those of the
// kind `joined` acknowledge in the request that pops the next batch. The requests of
// the kind `calls` are of any other route, and each answer stands for a batch of operations. A
// payload with a "number" says which publish of an open loop it came with.

#include "load.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { GROUP_POP, GROUP_ACK };

struct head {
  unsigned status;
  size_t length;      // of the head, 0 when some of it is missing
  size_t body_length;
};

static struct head head_of(const char *bytes, size_t length) {
  const char *body = behind(bytes, length, "\r\n\r\n");
  if (body == NULL) return (struct head){0};
  struct head head = {.length = (size_t)(body - bytes)};
  if (memcmp(bytes, "HTTP/1.1 ", 9) != 0) fail_with_answer("no answer of HTTP/1.1", bytes, length);
  head.status = (unsigned)strtoul(bytes + 9, NULL, 10);
  for (const char *line = bytes; line < body; line = behind(line, (size_t)(body - line), "\r\n")) {
    if (strncasecmp(line, "content-length:", 15) == 0) {
      head.body_length = strtoul(line + 15, NULL, 10);
    }
    if (strncasecmp(line, "transfer-encoding:", 18) == 0) {
      fail_with_answer("an answer in chunks cannot be read", bytes, head.length);
    }
  }
  return head;
}

static void open_connection(struct connection *connection) { ready(connection); }

static void publish(struct connection *connection) {
  const struct item *request = next_item();
  put(connection, request->bytes, request->length);
}

static void end_head(struct connection *connection) {
  if (*plan.token != 0) put_text(connection, "Authorization: Bearer %s\r\n", plan.token);
  put_text(connection, "\r\n");
}

static void pop(struct connection *connection) {
  connection->step = GROUP_POP;
  put_text(connection,
           "GET /api/v1/pop/queue/%s?consumerGroup=bench&batch=%u&wait=true&timeout=5000"
           "&leaseSeconds=60 HTTP/1.1\r\nHost: localhost\r\n",
           plan.name, plan.batch);
  end_head(connection);
}

static bool acknowledges_with_pop(void) { return strcmp(plan.kind, "joined") == 0; }

static bool makes_dead_letters(void) { return strcmp(plan.kind, "dlq") == 0; }

// What no result of a call may say. A pop that finds nothing is a call like any other.
static const char *const REFUSALS[] = {"\"success\":false", "\"applied\":false", "\"ok\":false",
                                       "\"acquired\":false", "\"status\":\"error\""};

static void take_call(struct connection *connection, const char *body, size_t length) {
  for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i += 1) {
    if (behind(body, length, REFUSALS[i]) != NULL) fail_with_answer("a call failed", body, length);
  }
  acknowledged(connection, plan.batch);
}

static void take_publish(struct connection *connection, const char *body, size_t length) {
  if (behind(body, length, "\"status\":\"error\"") != NULL ||
      behind(body, length, "\"status\":\"duplicate\"") != NULL) {
    fail_with_answer("a message was not stored as a new one", body, length);
  }
  // The first answer of each connection is counted as well.
  if (connection->step == 0) {
    unsigned stored = 0;
    const char *at = body, *end = body + length;
    while ((at = behind(at, (size_t)(end - at), "\"status\":\"queued\"")) != NULL) stored += 1;
    if (stored != plan.batch) fail_with_answer("a push of another size", body, length);
  }
  connection->step = 1;
  acknowledged(connection, plan.batch);
}

// The value behind the last `key` of the body, up to the character that ends it.
static struct item last_value(const char *body, size_t length, const char *key, char ending) {
  const char *found = NULL, *end = body + length;
  size_t key_length = strlen(key);
  // From the back: what a pop says about its last message stands there.
  for (const char *at = end - key_length; at >= body && found == NULL; at -= 1) {
    if (*at == *key && memcmp(at, key, key_length) == 0) found = at + key_length;
  }
  const char *stop = found == NULL ? NULL : memchr(found, ending, (size_t)(end - found));
  if (stop == NULL) fail_with_answer("a pop was answered without what its ack needs", body, length);
  return (struct item){.bytes = found, .length = (size_t)(stop - found)};
}

static void take_pop(struct connection *connection, const char *body, size_t length) {
  const char *first = behind(body, length, "\"offset\":");
  if (first == NULL) fail_with_answer("a pop was answered without messages", body, length);
  struct item last = last_value(body, length, "\"offset\":", '}');
  struct item id = last_value(body, length, "\"transactionId\":\"", '"');
  struct item partition = last_value(body, length, "\"partitionId\":\"", '"');
  struct item lease = last_value(body, length, "\"leaseId\":\"", '"');
  unsigned claimed = (unsigned)(strtoull(last.bytes, NULL, 10) - strtoull(first, NULL, 10) + 1);
  if (claimed == 0 || claimed > plan.batch) fail_with_answer("a pop of a wrong size", body, length);
  const char *end = body + length, *number = body;
  while (plan.rate != 0 &&
         (number = behind(number, (size_t)(end - number), "\"number\":")) != NULL) {
    reached(strtoull(number, NULL, 10));
  }
  connection->step = GROUP_ACK + claimed;
  connection->request.start = connection->request.end = 0;
  if (acknowledges_with_pop()) {
    append_text(&connection->request,
                "{\"acks\":[{\"transactionId\":\"%.*s\",\"partitionId\":\"%.*s\","
                "\"leaseId\":\"%.*s\",\"status\":\"completed\"}]}",
                (int)id.length, id.bytes, (int)partition.length, partition.bytes, (int)lease.length,
                lease.bytes);
    put_text(connection,
             "POST /api/v1/pop/queue/%s?consumerGroup=bench&batch=%u&wait=true&timeout=5000"
             "&leaseSeconds=60 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n",
             plan.name, plan.batch, connection->request.end);
    end_head(connection);
    put(connection, connection->request.bytes, connection->request.end);
    return;
  }
  append_text(&connection->request,
              "{\"transactionId\":\"%.*s\",\"partitionId\":\"%.*s\",\"leaseId\":\"%.*s\","
              "\"consumerGroup\":\"bench\",\"status\":\"%s\"}",
              (int)id.length, id.bytes, (int)partition.length, partition.bytes, (int)lease.length,
              lease.bytes, makes_dead_letters() ? "dlq" : "completed");
  put_text(connection,
           "POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Content-Length: %zu\r\n",
           connection->request.end);
  end_head(connection);
  put(connection, connection->request.bytes, connection->request.end);
}

static void take_ack(struct connection *connection, const char *body, size_t length) {
  if (behind(body, length, "\"success\":true") == NULL ||
      behind(body, length, "\"success\":false") != NULL) {
    fail_with_answer("an ack was refused", body, length);
  }
  if (makes_dead_letters() && behind(body, length, "\"dlq\":true") == NULL) {
    fail_with_answer("no dead letter was made", body, length);
  }
  consumed(connection->step - GROUP_ACK);
  if (acknowledges_with_pop() && behind(body, length, "\"offset\":") != NULL) {
    take_pop(connection, body, length);
  } else pop(connection);
}

static size_t take(struct connection *connection, const char *bytes, size_t length) {
  struct head head = head_of(bytes, length);
  if (head.length == 0 || length - head.length < head.body_length) return 0;
  const char *body = bytes + head.length;
  if (head.status < 200 || head.status > 299) fail_with_answer("refused", bytes, length);
  if (connection->role == PRODUCER && strcmp(plan.kind, "calls") == 0) {
    take_call(connection, body, head.body_length);
  } else if (connection->role == PRODUCER) take_publish(connection, body, head.body_length);
  else if (connection->step >= GROUP_ACK) take_ack(connection, body, head.body_length);
  else if (head.status == 204) pop(connection);
  else take_pop(connection, body, head.body_length);
  return head.length + head.body_length;
}

const struct protocol http = {
    .name = "http", .open = open_connection, .take = take, .publish = publish, .consume = pop};
