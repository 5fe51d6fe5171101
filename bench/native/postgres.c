// PostgreSQL by its own protocol, version 3. One table as a queue. A batch is one prepared INSERT
// of so many rows. A consumer takes rows with SKIP LOCKED and deletes them in the same
// transaction, so that a consumer that dies loses nothing; two round trips, as few as an
// application can have that looks at its messages. A consumer that finds nothing asks again after
// the next publish.

#include "load.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { HANDSHAKE, PREPARED, FETCHED, DELETED };

struct state {
  unsigned rows;
  char ids[BATCH_MAX][8]; // as the server sent them, in network order
};

static void put_16(struct buffer *to, unsigned value) {
  uint16_t bytes = htobe16((uint16_t)value);
  append(to, &bytes, 2);
}
static void put_32(struct buffer *to, size_t value) {
  uint32_t bytes = htobe32((uint32_t)value);
  append(to, &bytes, 4);
}
static void put_string(struct buffer *to, const char *text) { append(to, text, strlen(text) + 1); }
static uint32_t get_32(const char *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return be32toh(value);
}

// A message is begun with an unknown length, which is set when it ends; the length counts itself.
static size_t begin(struct buffer *to, char type) {
  append(to, &type, 1);
  put_32(to, 0);
  return to->end - 4;
}
static void end(struct buffer *to, size_t begin) {
  uint32_t length = htobe32((uint32_t)(to->end - begin));
  memcpy(to->bytes + begin, &length, 4);
}

static void append_parse(struct buffer *to, const char *name, const char *text) {
  size_t message = begin(to, 'P');
  put_string(to, name);
  put_string(to, text);
  put_16(to, 0);
  end(to, message);
}

// Parameters follow: for each its length and its bytes, all binary; then end_bind().
static size_t begin_bind(struct buffer *to, const char *statement, unsigned parameters) {
  size_t message = begin(to, 'B');
  put_string(to, "");
  put_string(to, statement);
  put_16(to, 1);
  put_16(to, 1);
  put_16(to, parameters);
  return message;
}
// Results are wanted binary. The statement is executed.
static void end_bind(struct buffer *to, size_t message) {
  put_16(to, 1);
  put_16(to, 1);
  end(to, message);
  message = begin(to, 'E');
  put_string(to, "");
  put_32(to, 0);
  end(to, message);
}
static void append_sync(struct buffer *to) { end(to, begin(to, 'S')); }
static void append_statement(struct buffer *to, const char *statement) {
  end_bind(to, begin_bind(to, statement, 0));
}

static void prepare_insert(struct connection *connection) {
  struct buffer text = {0};
  append_text(&text, "INSERT INTO %s (payload) VALUES ", plan.name);
  for (unsigned i = 1; i <= plan.batch; i += 1) append_text(&text, "%s($%u)", i > 1 ? "," : "", i);
  append(&text, "", 1);
  append_parse(&connection->out, "insert", text.bytes);
  free(text.bytes);
  struct buffer *to = &connection->request;
  size_t message = begin_bind(to, "insert", plan.batch);
  for (unsigned i = 0; i < plan.batch; i += 1) {
    const struct item *payload = next_item();
    put_32(to, payload->length);
    append(to, payload->bytes, payload->length);
  }
  end_bind(to, message);
  append_sync(to);
}

static void prepare_take(struct buffer *to) {
  struct buffer text = {0};
  append_text(&text, "SELECT id, payload FROM %s ORDER BY id LIMIT %u FOR UPDATE SKIP LOCKED",
              plan.name, plan.batch);
  append(&text, "", 1);
  append_parse(to, "take", text.bytes);
  text.end = 0;
  append_text(&text, "DELETE FROM %s WHERE id = ANY($1::int8[])", plan.name);
  append(&text, "", 1);
  append_parse(to, "delete", text.bytes);
  append_parse(to, "begin", "BEGIN");
  append_parse(to, "commit", "COMMIT");
  free(text.bytes);
}

static void open_connection(struct connection *connection) {
  connection->state = zeroed(sizeof(struct state));
  struct buffer start = {0};
  put_32(&start, 0);
  put_32(&start, 3 << 16);
  const char settings[] = "user\0postgres\0database\0postgres\0client_min_messages\0error\0";
  append(&start, settings, sizeof settings);
  uint32_t length = htobe32((uint32_t)start.end);
  memcpy(start.bytes, &length, 4);
  put(connection, start.bytes, start.end);
  free(start.bytes);
}

static void set_up(struct connection *connection) {
  struct buffer *out = &connection->out;
  if (connection->role == ADMINISTRATOR) {
    size_t query = begin(out, 'Q');
    if (plan.work == REMOVE) append_text(out, "DROP TABLE %s", plan.name);
    else {
      append_text(out, "CREATE TABLE %s (id bigserial PRIMARY KEY, payload text NOT NULL)",
                  plan.name);
    }
    append(out, "", 1);
    end(out, query);
    return;
  }
  if (connection->role == PRODUCER) prepare_insert(connection);
  else prepare_take(out);
  append_sync(out);
}

static void publish(struct connection *connection) {
  put(connection, connection->request.bytes, connection->request.end);
}

static void consume(struct connection *connection) {
  struct state *state = connection->state;
  state->rows = 0;
  connection->step = FETCHED;
  append_statement(&connection->out, "begin");
  append_statement(&connection->out, "take");
  append_sync(&connection->out);
}

static void delete_rows(struct connection *connection) {
  struct state *state = connection->state;
  struct buffer *out = &connection->out;
  connection->step = DELETED;
  if (state->rows > 0) {
    size_t message = begin_bind(out, "delete", 1);
    put_32(out, 20 + 12 * (size_t)state->rows);
    // An array of one dimension, without nulls, of int8 (type 20), numbered from 1.
    put_32(out, 1);
    put_32(out, 0);
    put_32(out, 20);
    put_32(out, state->rows);
    put_32(out, 1);
    for (unsigned i = 0; i < state->rows; i += 1) {
      put_32(out, 8);
      append(out, state->ids[i], 8);
    }
    end_bind(out, message);
  }
  append_statement(out, "commit");
  append_sync(out);
}

static void take_ready(struct connection *connection) {
  struct state *state = connection->state;
  if (connection->step == HANDSHAKE) {
    connection->step = PREPARED;
    set_up(connection);
  } else if (connection->role == ADMINISTRATOR) {
    administered();
  } else if (connection->role == PRODUCER && connection->unacknowledged > 0) {
    acknowledged(connection, plan.batch);
  } else if (connection->step == PREPARED) {
    ready(connection);
  } else if (connection->step == FETCHED) {
    delete_rows(connection);
  } else if (state->rows > 0) {
    consumed(state->rows);
    consume(connection);
  } else {
    rest(connection);
  }
}

// The number at the end of `INSERT 0 n` and `DELETE n`.
static void check_completion(struct connection *connection, const char *tag, size_t length) {
  struct state *state = connection->state;
  bool inserted = strncmp(tag, "INSERT 0 ", 9) == 0, deleted = strncmp(tag, "DELETE ", 7) == 0;
  if (inserted && strtoul(tag + 9, NULL, 10) != plan.batch) fail_with_answer("INSERT", tag, length);
  if (deleted && strtoul(tag + 7, NULL, 10) != state->rows) fail_with_answer("DELETE", tag, length);
}

static void take_row(struct connection *connection, const char *row, size_t length) {
  struct state *state = connection->state;
  if (connection->role != CONSUMER || state->rows == plan.batch || get_32(row + 2) != 8) {
    fail_with_answer("a row that was not asked for", row, length);
  }
  memcpy(state->ids[state->rows], row + 6, 8);
  state->rows += 1;
}

static size_t take(struct connection *connection, const char *bytes, size_t length) {
  if (length < 5) return 0;
  size_t size = get_32(bytes + 1);
  if (length < 1 + size) return 0;
  const char *content = bytes + 5;
  switch (bytes[0]) {
  case 'E': fail_with_answer("PostgreSQL refused", content, size - 4);
  case 'R':
    if (get_32(content) != 0) fail("PostgreSQL asks for a password; it must trust this host");
    break;
  case 'C': check_completion(connection, content, size - 4); break;
  case 'D': take_row(connection, content, size - 4); break;
  case 'Z': take_ready(connection); break;
  default: break;
  }
  return 1 + size;
}

const struct protocol postgres = {.name = "postgres",
                                  .open = open_connection,
                                  .take = take,
                                  .publish = publish,
                                  .consume = consume};
