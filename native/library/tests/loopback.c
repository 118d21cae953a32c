/* The smallest worker in C, with services: every message goes to the readers of its topic in this
 * process, within the publish call.
 *
 * Built by tests/c_worker.rs against the library's archive and header alone, as a C programmer
 * would: cc loopback.c librmwbench_worker.a -lpthread -ldl -lm
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rmwbench_worker.h"

enum kind { PUBLISHER, SUBSCRIPTION, CLIENT, SERVICE };

/* One struct for the four kinds: the header's types are opaque, so each of them is a name for
 * it. */
struct end {
  enum kind kind;
  char topic[256];
  rmwbench_qos qos;
  int32_t wait;
  rmwbench_sink sink;       /* of a subscription and of a client */
  rmwbench_handler handler; /* of a service */
  uint64_t messages;
  struct end *next;
};

/* It is recursive, because a relay publishes within a delivery. */
static pthread_mutex_t lock;
static struct end *ends;

static void *failed(rmwbench_error *error, int32_t kind, const char *object, const char *message) {
  error->kind = kind;
  snprintf(error->object, sizeof error->object, "%s", object);
  snprintf(error->message, sizeof error->message, "%s", message);
  return NULL;
}

static const rmwbench_pair capabilities[] = {
    {"reliable", "yes"},
    {"best_effort", "yes"},
    {"keep_last", "yes"},
    {"keep_all", "yes"},
    {"callback", "yes"},
    {"block", "partly: the publish call is the delivery"},
    {"poll", "partly: the publish call is the delivery"},
    {"publish_sync", "yes"},
    {"intra_process", "yes"},
    {"services", "yes"},
    {"evidence", "yes"},
};
static const rmwbench_pair build[] = {{"source", "loopback.c"}};
static const rmwbench_pair modes[] = {{"transport", "intra_process"}};
static const rmwbench_profile profiles[] = {{"untouched", "ini", "", "one process"}};
static const rmwbench_description description = {
    "loopback", "native", "1.0",        "2026-11-21",
    build,      1,        capabilities, sizeof capabilities / sizeof *capabilities,
    profiles,   1,        modes,        1,
};

static const rmwbench_description *describe(void) { return &description; }

static rmwbench_session *session_open(const rmwbench_session_config *config,
                                      rmwbench_error *error) {
  if (config->option_count > 0)
    return failed(error, RMWBENCH_ERROR_INVALID, config->options[0].name, "there are no options");
  for (size_t i = 0; i < config->mode_count; i++) /* the harness lets no other name through */
    if (strcmp(config->modes[i].value, "intra_process") != 0)
      return failed(error, RMWBENCH_ERROR_UNSUPPORTED, "mode transport",
                    "nothing leaves this process");
  return (rmwbench_session *)&ends;
}

static void session_close(rmwbench_session *session) { (void)session; }

static void session_configuration(rmwbench_session *session,
                                  const rmwbench_configuration *configuration) {
  (void)session;
  configuration->tell(configuration->context, "ini", "transport = intra_process\n");
}

static rmwbench_node *node_create(rmwbench_session *session, const char *name,
                                  rmwbench_error *error) {
  (void)name, (void)error;
  return (rmwbench_node *)session;
}

static void node_destroy(rmwbench_node *node) { (void)node; }

static struct end *create(enum kind kind, const rmwbench_endpoint_config *config,
                          rmwbench_error *error) {
  char object[32];
  snprintf(object, sizeof object, "endpoint %u", (unsigned)config->endpoint);
  if (config->qos.durability == RMWBENCH_TRANSIENT_LOCAL)
    return failed(error, RMWBENCH_ERROR_UNSUPPORTED, object, "transient_local: nothing is kept");
  if (config->loan)
    return failed(error, RMWBENCH_ERROR_UNSUPPORTED, object, "loan: there is nothing to lend");
  if (config->publish_mode == RMWBENCH_PUBLISH_ASYNC)
    return failed(error, RMWBENCH_ERROR_UNSUPPORTED, object,
                  "publish_async: the publish call is the delivery");
  struct end *end = calloc(1, sizeof *end);
  end->kind = kind;
  snprintf(end->topic, sizeof end->topic, "%s",
           config->dds_topic); /* a service's differs from any topic's */
  end->qos = config->qos;
  end->wait = config->wait;
  return end;
}

static struct end *joined(struct end *end) {
  pthread_mutex_lock(&lock);
  end->next = ends;
  ends = end;
  pthread_mutex_unlock(&lock);
  return end;
}

/* After it returns, nothing is being delivered. */
static void destroy(struct end *end) {
  pthread_mutex_lock(&lock);
  struct end **place = &ends;
  while (*place != end) place = &(*place)->next;
  *place = end->next;
  pthread_mutex_unlock(&lock);
  free(end);
}

static uint32_t matched(struct end *own) {
  static const enum kind peer[] = {SUBSCRIPTION, PUBLISHER, SERVICE, CLIENT};
  uint32_t count = 0;
  pthread_mutex_lock(&lock);
  for (struct end *end = ends; end; end = end->next)
    count += end->kind == peer[own->kind] && strcmp(end->topic, own->topic) == 0;
  pthread_mutex_unlock(&lock);
  return count;
}

static void granted(struct end *end, rmwbench_granted *granted) {
  granted->qos = end->qos;
  granted->publish_mode = RMWBENCH_PUBLISH_SYNC;
  granted->wait = end->wait;
  granted->take =
      RMWBENCH_TAKE_LENT; /* the memory that was published, until the delivery returns */
  granted->when_full = RMWBENCH_FULL_BLOCKS;
  granted->note(granted->context, "delivered within the publish call");
}

static void account(struct end *end, const rmwbench_account *account) {
  account->evidence(account->context, "intra_process", end->messages, "in the publish call");
}

static rmwbench_delivery now(const uint8_t *payload, size_t bytes) {
  int64_t now_ns = rmwbench_now_ns();
  return (rmwbench_delivery){now_ns, now_ns, payload, bytes, 0, 0};
}

static rmwbench_status reply(void *client, const uint8_t *payload, size_t bytes) {
  struct end *end = client;
  rmwbench_delivery delivery = now(payload, bytes);
  end->sink.deliver(end->sink.context, &delivery);
  return RMWBENCH_OK;
}

/* Sends a message or a request to every reader of the topic. */
static rmwbench_status send_to_all(struct end *own, const uint8_t *payload, size_t bytes) {
  rmwbench_reply answer = {own, reply};
  pthread_mutex_lock(&lock);
  for (struct end *end = ends; end; end = end->next) {
    if (strcmp(end->topic, own->topic) != 0) continue;
    rmwbench_delivery delivery = now(payload, bytes);
    if (end->kind == SUBSCRIPTION) end->sink.deliver(end->sink.context, &delivery);
    if (end->kind == SERVICE) end->handler.handle(end->handler.context, &delivery, &answer);
    end->messages += end->kind == SUBSCRIPTION || end->kind == SERVICE;
  }
  pthread_mutex_unlock(&lock);
  own->messages++;
  return RMWBENCH_OK;
}

/* The table's functions for one kind: the opaque type is the struct above. */
#define KIND(name)                                                                        \
  static void name##_destroy(rmwbench_##name *p) { destroy((struct end *)p); }            \
  static uint32_t name##_matched(rmwbench_##name *p) { return matched((struct end *)p); } \
  static void name##_granted(rmwbench_##name *p, rmwbench_granted *g) {                   \
    granted((struct end *)p, g);                                                          \
  }                                                                                       \
  static void name##_account(rmwbench_##name *p, const rmwbench_account *a) {             \
    account((struct end *)p, a);                                                          \
  }
KIND(publisher)
KIND(subscription)
KIND(client)
KIND(service)

static rmwbench_publisher *publisher_create(rmwbench_node *node,
                                            const rmwbench_endpoint_config *config,
                                            rmwbench_error *error) {
  (void)node;
  struct end *end = create(PUBLISHER, config, error);
  return end ? (rmwbench_publisher *)joined(end) : NULL;
}

static rmwbench_status publish(rmwbench_publisher *publisher, const uint8_t *payload,
                               size_t bytes) {
  return send_to_all((struct end *)publisher, payload, bytes);
}

static rmwbench_subscription *subscription_create(rmwbench_node *node,
                                                  const rmwbench_endpoint_config *config,
                                                  const rmwbench_sink *sink,
                                                  rmwbench_error *error) {
  (void)node;
  struct end *end = create(SUBSCRIPTION, config, error);
  if (end) end->sink = *sink;
  return end ? (rmwbench_subscription *)joined(end) : NULL;
}

static rmwbench_client *client_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                      const rmwbench_sink *sink, rmwbench_error *error) {
  (void)node;
  struct end *end = create(CLIENT, config, error);
  if (end) end->sink = *sink;
  return end ? (rmwbench_client *)joined(end) : NULL;
}

static rmwbench_status client_request(rmwbench_client *client, const uint8_t *payload,
                                      size_t bytes) {
  return send_to_all((struct end *)client, payload, bytes);
}

static rmwbench_service *service_create(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                        const rmwbench_handler *handler, rmwbench_error *error) {
  (void)node;
  struct end *end = create(SERVICE, config, error);
  if (end) end->handler = *handler;
  return end ? (rmwbench_service *)joined(end) : NULL;
}

static const rmwbench_middleware table = {
    .abi_version = RMWBENCH_ABI_VERSION,
    .struct_bytes = sizeof(rmwbench_middleware),
    .describe = describe,
    .session_open = session_open,
    .session_close = session_close,
    .node_create = node_create,
    .node_destroy = node_destroy,
    .publisher_create = publisher_create,
    .publisher_destroy = publisher_destroy,
    .publish = publish,
    .publisher_matched = publisher_matched,
    .publisher_granted = publisher_granted,
    .publisher_account = publisher_account,
    .subscription_create = subscription_create,
    .subscription_destroy = subscription_destroy,
    .subscription_matched = subscription_matched,
    .subscription_granted = subscription_granted,
    .subscription_account = subscription_account,
    .client_create = client_create,
    .client_destroy = client_destroy,
    .client_request = client_request,
    .client_matched = client_matched,
    .client_granted = client_granted,
    .client_account = client_account,
    .service_create = service_create,
    .service_destroy = service_destroy,
    .service_matched = service_matched,
    .service_granted = service_granted,
    .service_account = service_account,
    .session_configuration = session_configuration,
};

int main(int argc, char **argv) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &recursive);
  return rmwbench_worker_main(&table, argc, argv);
}
