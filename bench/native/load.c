// The load program: publishes, or publishes, consumes and acknowledges, over many connections in
// one thread, for each turn that standard input asks for, and prints what it saw of a turn as a line
// of JSON. Native, because it shares the processors with what it measures.
//
// Closed loop: each producer sends when its acknowledgement came. Open loop (--rate): publishes
// are due at fixed moments, whether or not earlier ones were answered, and a latency runs from
// that moment; a stall of the server counts for every publish that was due in it.
//
// Invariants:
// - A message counts when its acknowledgement came within the measured window of its turn; a latency
//   counts when its publish was due within it. Nothing of the warm-up counts.
// - A producer is in exactly one place: in `idle`, or in flight.
// - With consumers, what was sent and not yet consumed never exceeds UNCONSUMED_BATCHES for each
//   connection, so that the rate is one that lasts.
// - After a turn the server has nothing to do: what was sent is acknowledged, and consumed but for
//   what consumers hold that acknowledge whole batches only. So several systems can have turns, each
//   with a load program of its own, and none works in the turns of another.

#include "load.h"
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Batches for each connection that may be published and not yet consumed: enough that neither
// side waits for the other, and so few that they are there before the window begins.
enum { READ_BYTES = 65536, EVENTS_MAX = 256, UNCONSUMED_BATCHES = 4, ORDER_BYTES = 64 };
#define SECOND_NS 1000000000LL
static const int64_t STALL_NS = 20 * SECOND_NS;
// An end of a window waits so long, at most, for as many answers on every connection.
static const int64_t EVEN_MAX_NS = 15 * SECOND_NS;
static const int64_t FOREVER_NS = INT64_MAX;
// Well before a server of HTTP closes idle connections: ours does after 10 s.
static const int64_t IDLE_NS = 4 * SECOND_NS;
// Consumers that make no progress for so long have less than a batch each, and wait for more.
static const int64_t HELD_NS = SECOND_NS / 20;

struct plan plan;

// First in, first out: connections that wait for their turn.
struct line {
  struct connection *places[CONNECTIONS_MAX];
  unsigned first, length;
};

static struct connection *connections;
static struct line idle, resting;
static int poller;
static unsigned ready_count;
static size_t items_taken;
static bool done, stopping;
static char order[ORDER_BYTES]; // a line of standard input, as far as it came
static size_t order_length;
static bool orders_ended;
static int64_t waiting_since_ns; // for an order; 0: it has one

static int64_t begin_ns = FOREVER_NS, end_ns = FOREVER_NS;
static int64_t first_due_ns = FOREVER_NS, progress_ns;
static uint64_t due_count;
static uint64_t unacknowledged_messages, published_messages, consumed_messages;
static struct histogram latencies, lateness, deliveries;

// -- what protocols call --------------------------------------------------------------------------

_Noreturn void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

_Noreturn void fail_with_answer(const char *what, const char *answer, size_t length) {
  fprintf(stderr, "%s: ", what);
  for (size_t i = 0; i < length && i < 300; i += 1) {
    fputc(answer[i] >= ' ' && answer[i] <= '~' ? answer[i] : ' ', stderr);
  }
  fputc('\n', stderr);
  exit(1);
}

void *zeroed(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory == NULL) fail("no memory for %zu bytes", bytes);
  return memory;
}

static void reserve(struct buffer *buffer, size_t length) {
  if (buffer->room - buffer->end >= length) return;
  if (buffer->start > 0) {
    memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->end - buffer->start);
    buffer->end -= buffer->start;
    buffer->start = 0;
  }
  if (buffer->room - buffer->end >= length) return;
  buffer->room = 2 * buffer->room + length;
  buffer->bytes = realloc(buffer->bytes, buffer->room);
  if (buffer->bytes == NULL) fail("no memory for %zu bytes", buffer->room);
}

void append(struct buffer *buffer, const void *bytes, size_t length) {
  reserve(buffer, length);
  memcpy(buffer->bytes + buffer->end, bytes, length);
  buffer->end += length;
}

static void append_formatted(struct buffer *buffer, const char *format, va_list arguments) {
  char text[8192];
  int length = vsnprintf(text, sizeof text, format, arguments);
  if (length < 0 || (size_t)length >= sizeof text) fail("a text of %d bytes is too long", length);
  append(buffer, text, (size_t)length);
}

void append_text(struct buffer *buffer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append_formatted(buffer, format, arguments);
  va_end(arguments);
}

void put_text(struct connection *connection, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append_formatted(&connection->out, format, arguments);
  va_end(arguments);
}

void put(struct connection *connection, const void *bytes, size_t length) {
  struct buffer *out = &connection->out;
  size_t sent = 0;
  // What was prepared leaves without being copied, as far as the socket takes it.
  if (out->start == out->end && length >= 1024) {
    ssize_t count = send(connection->fd, bytes, length, MSG_NOSIGNAL);
    if (count > 0) sent = (size_t)count;
  }
  if (sent < length) append(out, (const char *)bytes + sent, length - sent);
}

const struct item *next_item(void) {
  const struct item *item = &plan.items[items_taken % plan.item_count];
  items_taken += 1;
  return item;
}

const char *behind(const char *bytes, size_t length, const char *text) {
  const char *found = memmem(bytes, length, text, strlen(text));
  return found == NULL ? NULL : found + strlen(text);
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * SECOND_NS + time.tv_nsec;
}

static void enter(struct line *line, struct connection *connection) {
  line->places[(line->first + line->length) % CONNECTIONS_MAX] = connection;
  line->length += 1;
}

static struct connection *leave(struct line *line) {
  struct connection *connection = line->places[line->first];
  line->first = (line->first + 1) % CONNECTIONS_MAX;
  line->length -= 1;
  return connection;
}

void administered(void) { done = true; }

void ready(struct connection *connection) {
  ready_count += 1;
  if (connection->role == PRODUCER) enter(&idle, connection);
}

void rest(struct connection *connection) { enter(&resting, connection); }

void acknowledged(struct connection *connection, unsigned messages) {
  int64_t now = now_ns();
  if (connection->unacknowledged < messages) fail("an acknowledgement that nothing waited for");
  connection->unacknowledged -= messages;
  unacknowledged_messages -= messages;
  published_messages += messages;
  progress_ns = now;
  if (connection->unacknowledged > 0) return;
  if (connection->due_ns >= begin_ns && connection->due_ns < end_ns) {
    add(&latencies, now - connection->due_ns);
  }
  enter(&idle, connection);
}

void consumed(unsigned messages) {
  consumed_messages += messages;
  progress_ns = now_ns();
}

// When a publish of an open loop is due.
static int64_t due_ns_of(uint64_t publish) {
  return first_due_ns + (int64_t)((double)publish * 1e9 / plan.rate);
}

void reached(uint64_t publish) {
  int64_t due = due_ns_of(publish);
  if (due >= begin_ns && due < end_ns) add(&deliveries, now_ns() - due);
}

// -- the loop -------------------------------------------------------------------------------------

static void flush(struct connection *connection) {
  struct buffer *out = &connection->out;
  while (out->start < out->end) {
    size_t length = out->end - out->start;
    ssize_t count = send(connection->fd, out->bytes + out->start, length, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) fail("sending failed: %s", strerror(errno));
    if (count < 0) break;
    out->start += (size_t)count;
  }
  bool left = out->start < out->end;
  if (!left) out->start = out->end = 0;
  if (left == connection->wants_to_write) return;
  connection->wants_to_write = left;
  struct epoll_event event = {.events = EPOLLIN | (left ? EPOLLOUT : 0), .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
}

static void closed_by_server(struct connection *);

static void receive(struct connection *connection) {
  struct buffer *in = &connection->in;
  for (;;) {
    reserve(in, READ_BYTES);
    size_t room = in->room - in->end;
    ssize_t count = recv(connection->fd, in->bytes + in->end, room, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) fail("receiving failed: %s", strerror(errno));
    if (count == 0) {
      closed_by_server(connection);
      return;
    }
    in->end += (size_t)count;
    while (in->start < in->end) {
      size_t length = in->end - in->start;
      size_t used = plan.protocol->take(connection, in->bytes + in->start, length);
      if (used == 0) break;
      in->start += used;
    }
    if (in->start == in->end) in->start = in->end = 0;
    if ((size_t)count < room) return;
  }
}

// When the next publish is due; of a closed loop: at once.
static int64_t next_due_ns(void) {
  return plan.rate == 0 ? 0 : due_ns_of(due_count);
}

static bool may_publish(void) {
  if (plan.work != CONSUME) return true;
  uint64_t sent = published_messages + unacknowledged_messages;
  uint64_t unconsumed_max = (uint64_t)UNCONSUMED_BATCHES * plan.connections * plan.batch;
  return sent + plan.batch <= consumed_messages + unconsumed_max;
}

// Whether the load is over: an open loop still owes what was due before the end of the window.
static bool nothing_left_to_send(void) {
  return plan.rate == 0 ? stopping : next_due_ns() >= end_ns;
}

// Lets producers send as far as they may, and wakes consumers that found nothing.
static void dispatch(void) {
  if (first_due_ns == FOREVER_NS) return;
  while (idle.length > 0 && may_publish() && !nothing_left_to_send()) {
    int64_t now = now_ns(), due = next_due_ns();
    if (due > now) break;
    struct connection *connection = leave(&idle);
    connection->unacknowledged = plan.batch;
    connection->due_ns = plan.rate == 0 ? now : due;
    if (plan.rate != 0 && due >= begin_ns && due < end_ns) add(&lateness, now - due);
    due_count += 1;
    unacknowledged_messages += plan.batch;
    plan.protocol->publish(connection);
    flush(connection);
  }
  if (published_messages > consumed_messages && resting.length > 0) {
    struct connection *connection = leave(&resting);
    plan.protocol->consume(connection);
    flush(connection);
  }
}

// The descriptor of standard input is the only one without a connection.
static void receive_order(void) {
  ssize_t count = read(STDIN_FILENO, order + order_length, ORDER_BYTES - 1 - order_length);
  if (count < 0 && errno == EINTR) return;
  if (count < 0) fail("standard input: %s", strerror(errno));
  if (order_length + (size_t)count == ORDER_BYTES - 1) fail("a turn of more than a line");
  order_length += (size_t)count;
  if (count > 0) return;
  orders_ended = true;
  epoll_ctl(poller, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
}

// Handles what came until the moment, or until `done`.
static void turn(int64_t until_ns) {
  struct epoll_event events[EVENTS_MAX];
  int64_t wake = until_ns, now = now_ns();
  if (plan.rate != 0 && idle.length > 0 && next_due_ns() < wake && !nothing_left_to_send()) {
    wake = next_due_ns();
  }
  int64_t wait = wake > now ? wake - now : 0;
  struct timespec timeout = {.tv_sec = wait / SECOND_NS, .tv_nsec = wait % SECOND_NS};
  int count = epoll_pwait2(poller, events, EVENTS_MAX, &timeout, NULL);
  if (count < 0 && errno != EINTR) fail("waiting failed: %s", strerror(errno));
  for (int i = 0; i < count; i += 1) {
    struct connection *connection = events[i].data.ptr;
    if (connection == NULL) {
      receive_order();
      continue;
    }
    if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
    flush(connection);
    dispatch();
  }
  dispatch();
}

// One turn, after which a server that is silent for too long is given up.
static void watched_turn(int64_t until_ns) {
  turn(until_ns);
  if (now_ns() - progress_ns > STALL_NS) {
    fail("nothing was acknowledged for %lld s", (long long)(STALL_NS / SECOND_NS));
  }
}

static void run_until(int64_t until_ns) {
  while (!done && now_ns() < until_ns) watched_turn(until_ns);
}

// The role of each connection: the first ones consume where that is the work.
static enum role role_of(unsigned number) {
  if (plan.work == CREATE || plan.work == REMOVE) return ADMINISTRATOR;
  return number < plan.consumers ? CONSUMER : PRODUCER;
}

static void connect_socket(struct connection *connection) {
  // Connections of one kind use the ports in turn.
  unsigned number = connection->number - (connection->role == PRODUCER ? plan.consumers : 0);
  unsigned port = plan.ports[number % plan.port_count];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (inet_pton(AF_INET, plan.host, &address.sin_addr) != 1) fail("--host %s: no IPv4", plan.host);
  connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
    fail("connecting to %s:%u failed: %s", plan.host, port, strerror(errno));
  }
  int on = 1;
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(connection->fd, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event);
}

static void connect_one(struct connection *connection, unsigned number) {
  connection->number = number;
  connection->role = role_of(number);
  connect_socket(connection);
  plan.protocol->open(connection);
  flush(connection);
}

static void replace_socket(struct connection *connection) {
  close(connection->fd);
  connection->wants_to_write = false;
  connection->in.start = connection->in.end = connection->out.start = connection->out.end = 0;
  connect_socket(connection);
}

// A server may close what was idle for long; clients of HTTP expect that, and connect again.
static void closed_by_server(struct connection *connection) {
  bool idle = waiting_since_ns != 0 && plan.protocol == &http && connection->role == PRODUCER;
  if (!idle) fail("the server closed connection %u", connection->number);
  replace_socket(connection);
}

static void replace_producers(void) {
  for (unsigned i = 0; i < plan.connections; i += 1) {
    if (connections[i].role == PRODUCER) replace_socket(&connections[i]);
  }
}

static void connect_all(void) {
  connections = zeroed(plan.connections * sizeof *connections);
  progress_ns = now_ns();
  for (unsigned i = 0; i < plan.connections; i += 1) {
    connect_one(&connections[i], i);
    // One handshake after the other: a crowd of them is no load to measure, and may be refused.
    while (!done && ready_count <= i) watched_turn(now_ns() + SECOND_NS / 100);
  }
}

// -- what is measured -----------------------------------------------------------------------------

struct sample {
  int64_t at_ns;
  uint64_t messages;
  double processor_seconds;
};

static uint64_t measured_messages(void) {
  return plan.work == CONSUME ? consumed_messages : published_messages;
}

static struct sample sample_now(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double micros = (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  return (struct sample){
      .at_ns = now_ns(),
      .messages = measured_messages(),
      .processor_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + micros / 1e6,
  };
}

static void print_quantiles(const char *name, const struct histogram *histogram) {
  static const struct {
    const char *name;
    double fraction;
  } rows[] = {{"p50Ms", 0.5}, {"p99Ms", 0.99}};
  printf("\"%s\":{", name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i += 1) {
    printf("\"%s\":%.4f,", rows[i].name, quantile_ms(histogram, rows[i].fraction));
  }
  printf("\"maxMs\":%.4f}", (double)histogram->highest_ns / 1e6);
}

static bool has_nothing_to_do(void) {
  if (unacknowledged_messages > 0 || !nothing_left_to_send()) return false;
  if (plan.work != CONSUME || consumed_messages >= published_messages) return true;
  if (!plan.protocol->holds_batches) return false;
  uint64_t held = published_messages - consumed_messages, consumers = plan.consumers;
  return held < consumers * plan.batch && now_ns() - progress_ns > HELD_NS;
}

// The load begins, with a window that is planned like this.
static struct sample begin_load(double warm_up_seconds, double seconds) {
  struct sample first = sample_now();
  begin_ns = first.at_ns + (int64_t)(warm_up_seconds * 1e9);
  end_ns = begin_ns + (int64_t)(seconds * 1e9);
  due_count = 0;
  // Payloads of an open loop are numbered by the publish they come with.
  if (plan.rate != 0) items_taken = 0;
  stopping = false;
  memset(&latencies, 0, sizeof latencies);
  memset(&lateness, 0, sizeof lateness);
  memset(&deliveries, 0, sizeof deliveries);
  progress_ns = first.at_ns;
  bool consuming = first_due_ns != FOREVER_NS;
  first_due_ns = first.at_ns;
  for (unsigned i = 0; i < plan.connections && !consuming; i += 1) {
    if (connections[i].role != CONSUMER) continue;
    plan.protocol->consume(&connections[i]);
    flush(&connections[i]);
  }
  dispatch();
  return first;
}

static void end_load(void) {
  stopping = true;
  while (!has_nothing_to_do()) run_until(now_ns() + SECOND_NS / 1000);
}

// Runs on until all connections that are counted have had the same number of answers since then,
// and one at least, if they have them in turn.
static void run_until_even(const struct sample *since) {
  unsigned counted = plan.work == CONSUME ? plan.consumers : plan.connections;
  uint64_t wave = (uint64_t)counted * plan.batch, seen = measured_messages() - since->messages;
  uint64_t waves = seen <= wave ? 1 : (seen + wave - 1) / wave;
  int64_t limit_ns = now_ns() + EVEN_MAX_NS;
  while (measured_messages() - since->messages < waves * wave && now_ns() < limit_ns) {
    watched_turn(limit_ns);
  }
}

// What happened between two moments, and in all.
static void print_line(const struct sample *first, const struct sample *from,
                       const struct sample *to) {
  struct sample last = sample_now();
  uint64_t messages = to->messages - from->messages;
  if (messages == 0) fail("nothing was acknowledged in the measured time");
  printf("{\"messages\":%llu,\"seconds\":%.6f,", (unsigned long long)messages,
         (double)(to->at_ns - from->at_ns) / 1e9);
  printf("\"whole\":{\"messages\":%llu,\"processorSeconds\":%.6f},",
         (unsigned long long)(last.messages - first->messages),
         last.processor_seconds - first->processor_seconds);
  print_quantiles("latency", &latencies);
  putchar(',');
  print_quantiles("lateness", &lateness);
  putchar(',');
  print_quantiles("delivery", &deliveries);
  puts("}");
  fflush(stdout);
}

// One turn, and its line. Of a closed loop both its ends are moments at which the answers are
// even: a server that answers all connections at about the same time would otherwise have a wave of
// answers too many or too few, and of a long one the work that was done for it before.
static void measure(double warm_up_seconds, double seconds) {
  struct sample first = begin_load(warm_up_seconds, seconds);
  bool closed = plan.rate == 0;
  run_until(begin_ns);
  if (closed && warm_up_seconds > 0) {
    begin_ns = FOREVER_NS;
    run_until_even(&first);
  }
  struct sample before = sample_now();
  int64_t until_ns = end_ns;
  if (closed) {
    until_ns = before.at_ns + (int64_t)(seconds * 1e9);
    begin_ns = before.at_ns;
    end_ns = FOREVER_NS;
  }
  run_until(until_ns);
  if (closed) run_until_even(&before);
  struct sample after = sample_now();
  if (closed) end_ns = after.at_ns;
  end_load();
  print_line(&first, &before, &after);
}

// -- the command line, and turns -------------------------------------------------------------------

static const char USAGE[] =
    "load PROTOCOL WORK --port LIST --items FILE [options]\n"
    "  PROTOCOL           http | redis | nats | amqp | postgres\n"
    "  WORK               create | remove | publish | consume\n"
    "  --host ADDRESS     IPv4 (127.0.0.1)\n"
    "  --port LIST        connection i uses the port i modulo their number\n"
    "  --name NAME        of the queue, letters and digits (bench)\n"
    "  --kind NAME        of the queue: nats: copies; amqp: quorum | classic;\n"
    "                     http: dlq: what is consumed becomes a dead letter;\n"
    "                     calls: the requests are no pushes, but of any other route\n"
    "  --items FILE       payloads, or the requests of http: the length of each in a line, then it\n"
    "  --connections N    (64)\n"
    "  --consumers N      how many of them consume (half of them, where that is the work)\n"
    "  --batch N          messages of one publish, and of one acknowledgement (1)\n"
    "  --rate R           publishes a second of an open loop (0: closed loop)\n"
    "A turn for each line WARM_UP SECONDS of standard input, until it ends.\n"
    "The environment variable LOAD_TOKEN holds the bearer token of http, if any.\n";

static double number(const char *option, const char *text, double lowest, double highest) {
  char *end;
  double value = strtod(text, &end);
  if (*text == 0 || *end != 0 || !(value >= lowest && value <= highest)) {
    fail("%s %s: not a number from %g to %g", option, text, lowest, highest);
  }
  return value;
}

static void read_ports(const char *text) {
  char *end = NULL;
  for (const char *at = text; end == NULL || *end != 0; at = end + 1) {
    unsigned long port = strtoul(at, &end, 10);
    if (end == at || (*end != 0 && *end != ',') || port == 0 || port > 65535 ||
        plan.port_count == PORTS_MAX) {
      fail("--port %s: not a list of at most %d ports", text, PORTS_MAX);
    }
    plan.ports[plan.port_count++] = (unsigned)port;
  }
}

static void read_items(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) fail("--items %s: %s", path, strerror(errno));
  size_t size = (size_t)status.st_size;
  char *bytes = zeroed(size + 1);
  for (size_t have = 0; have < size;) {
    ssize_t count = read(file, bytes + have, size - have);
    if (count <= 0) fail("--items %s: it cannot be read", path);
    have += (size_t)count;
  }
  close(file);
  plan.items = zeroed((size / 2 + 1) * sizeof *plan.items);
  for (char *at = bytes, *end; at < bytes + size; at += plan.items[plan.item_count++].length) {
    size_t length = strtoul(at, &end, 10);
    if (*end != '\n' || length == 0 || length > (size_t)(bytes + size - end - 1)) {
      fail("--items %s: no item at byte %td", path, at - bytes);
    }
    at = end + 1;
    plan.items[plan.item_count] = (struct item){.bytes = at, .length = length};
  }
  if (plan.item_count == 0) fail("--items %s: it has none", path);
}

static void read_option(const char *option, const char *value) {
  if (value == NULL) fail("%s needs a value", option);
  if (strcmp(option, "--host") == 0) plan.host = value;
  else if (strcmp(option, "--port") == 0) read_ports(value);
  else if (strcmp(option, "--name") == 0) plan.name = value;
  else if (strcmp(option, "--kind") == 0) plan.kind = value;
  else if (strcmp(option, "--items") == 0) read_items(value);
  else if (strcmp(option, "--connections") == 0)
    plan.connections = (unsigned)number(option, value, 1, CONNECTIONS_MAX);
  else if (strcmp(option, "--batch") == 0)
    plan.batch = (unsigned)number(option, value, 1, BATCH_MAX);
  else if (strcmp(option, "--consumers") == 0)
    plan.consumers = (unsigned)number(option, value, 1, CONNECTIONS_MAX - 1);
  else if (strcmp(option, "--rate") == 0) plan.rate = number(option, value, 0, 1e6);
  else fail("%s: no such option\n%s", option, USAGE);
}

static void read_command_line(int count, char **arguments) {
  static const struct protocol *const protocols[] = {&http, &redis, &nats, &amqp, &postgres};
  static const char *const works[] = {"create", "remove", "publish", "consume"};
  plan = (struct plan){.name = "bench", .kind = "", .host = "127.0.0.1", .connections = 64,
                       .batch = 1, .token = getenv("LOAD_TOKEN")};
  if (plan.token == NULL) plan.token = "";
  if (count < 3) fail("%s", USAGE);
  for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i += 1) {
    if (strcmp(arguments[1], protocols[i]->name) == 0) plan.protocol = protocols[i];
  }
  if (plan.protocol == NULL) fail("%s: no such protocol\n%s", arguments[1], USAGE);
  size_t work = 0;
  while (work < 4 && strcmp(arguments[2], works[work]) != 0) work += 1;
  if (work == 4) fail("%s: no such work\n%s", arguments[2], USAGE);
  plan.work = (enum work)work;
  for (int i = 3; i < count; i += 2) read_option(arguments[i], arguments[i + 1]);

  bool administers = plan.work == CREATE || plan.work == REMOVE;
  if (administers) plan.connections = 1;
  if (plan.work != CONSUME) plan.consumers = 0;
  else if (plan.consumers == 0) plan.consumers = plan.connections / 2;
  if (plan.work == CONSUME && (plan.consumers == 0 || plan.consumers >= plan.connections)) {
    fail("consume needs a connection that publishes, and one that consumes");
  }
  if (plan.port_count == 0) fail("--port is missing");
  if (plan.item_count == 0 && !administers) fail("--items is missing");
  size_t letters = strspn(plan.name, "abcdefghijklmnopqrstuvwxyz0123456789");
  if (letters == 0 || letters > 40 || plan.name[letters] != 0) {
    fail("--name %s: not 1 to 40 small letters and digits", plan.name);
  }
}

// A turn for each line; ends with the input. Meanwhile what servers send is answered.
static void measure_in_turns(void) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) fail("turns need a pipe");
  puts("ready");
  fflush(stdout);
  waiting_since_ns = now_ns();
  while (!orders_ended) {
    turn(now_ns() + SECOND_NS);
    char *line_end = memchr(order, '\n', order_length);
    if (line_end == NULL) continue;
    *line_end = 0;
    char *seconds = strchr(order, ' ');
    if (seconds == NULL || line_end != order + order_length - 1) fail("%s: no turn", order);
    *seconds++ = 0;
    order_length = 0;
    // Not to meet the server while it closes them.
    if (plan.protocol == &http && now_ns() - waiting_since_ns > IDLE_NS) replace_producers();
    waiting_since_ns = 0;
    measure(number("WARM_UP", order, 0, 600), number("SECONDS", seconds, 0.01, 3600));
    waiting_since_ns = now_ns();
  }
}

int main(int count, char **arguments) {
  read_command_line(count, arguments);
  // The process that started this reads its output; without a reader it ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1000);
  poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) fail("no epoll: %s", strerror(errno));
  connect_all();
  if (plan.work == PUBLISH || plan.work == CONSUME) measure_in_turns();
  return 0;
}
