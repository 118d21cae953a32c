/* The boundary for middlewares written in C or C++, ABI version 4.
 *
 * A middleware fills one table of function pointers and passes it to the harness, which owns
 * everything else: protocol, schedule, payload, records. The table mirrors the Rust traits in
 * `harness/src/middleware.rs` one to one. It is versioned and sized rather than a C++ class,
 * because a shim, its library and the harness come from different compilers.
 *
 * General rules
 * - Text is UTF-8 and ends with a NUL. Arguments from the harness are borrowed for the call. Text
 * that a table function returns lives as long as the process.
 * - Every time is in nanoseconds of CLOCK_MONOTONIC; take it from rmwbench_now_ns().
 * - Calls that concern one object never overlap. Calls that concern different objects may overlap
 * and come from any thread. Each publisher and client has a thread of its own that sends, so
 * `publish`, `loan`, `commit` and `client_request` are called at the same time for different
 * endpoints of one node.
 * - Objects are destroyed leaf first: endpoints before their node, nodes before their session.
 * Every object that was created is destroyed exactly once.
 * - A function that returns a pointer returns NULL for an error and has then filled `error`.
 * Nothing may throw or longjmp across this boundary.
 * - If a middleware lacks a function, and the table allows it (loans, services, daemons, ...), its
 * entry is NULL; the harness answers `unsupported` for it.
 */
#ifndef RMWBENCH_WORKER_H
#define RMWBENCH_WORKER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMWBENCH_ABI_VERSION 4u

/* Opaque to the harness; the middleware defines them. */
typedef struct rmwbench_session rmwbench_session;
typedef struct rmwbench_node rmwbench_node;
typedef struct rmwbench_publisher rmwbench_publisher;
typedef struct rmwbench_subscription rmwbench_subscription;
typedef struct rmwbench_client rmwbench_client;
typedef struct rmwbench_service rmwbench_service;
typedef struct rmwbench_daemon rmwbench_daemon;

/* ---- Errors ---- */

enum {
  RMWBENCH_ERROR_UNSUPPORTED = 0, /* known to be impossible with this middleware */
  RMWBENCH_ERROR_INVALID = 1,     /* the request contradicts itself or names something unknown */
  RMWBENCH_ERROR_FAILED = 2       /* it was tried and went wrong */
};

/* The function that fails fills it. Longer texts are cut; they must still end with a NUL. */
typedef struct rmwbench_error {
  int32_t kind;
  char object[128];   /* what it is about: "endpoint 3", "option transport" */
  char message[1920]; /* worded for the person who wrote the suite */
} rmwbench_error;

/* The result of a publish call. The middleware's own error text goes to the account: nothing is
 * formatted in the path of a message. */
typedef enum rmwbench_status {
  RMWBENCH_OK = 0,
  RMWBENCH_FULL = 1,        /* a queue, history or pool was full and the call gave up */
  RMWBENCH_TIMEOUT = 2,     /* the call timed out while blocking */
  RMWBENCH_UNSUPPORTED = 3, /* this middleware cannot publish this way */
  RMWBENCH_FAILED = 4
} rmwbench_status;

/* ---- Description ---- */

typedef struct rmwbench_pair {
  const char *name;
  const char *value;
} rmwbench_pair;

typedef struct rmwbench_profile {
  const char *name;
  const char *format; /* "xml", "json5", "toml", "none" */
  const char *text;
  const char *summary; /* one line; may be empty */
} rmwbench_profile;

typedef struct rmwbench_description {
  const char *middleware;
  const char *layer; /* "native", "rclcpp", ... */
  const char *version;
  const char *release_date;   /* ISO date of this version's release; empty when unknown */
  const rmwbench_pair *build; /* facts: source, compiler, ... */
  size_t build_count;
  const rmwbench_pair
      *capabilities; /* name -> "yes", "no: REASON", "partly: REASON"; an absent name is "no" */
  size_t capability_count;
  const rmwbench_profile *profiles;
  size_t profile_count;
  /* name -> the levels that the middleware supports ("udp|tcp", "true|false", "N" for any whole
   * number from 1) or "no: REASON"; an absent name is refused as not mapped. The names and their
   * levels: docs/formats/worker-protocol.md, "Modes". */
  const rmwbench_pair *modes;
  size_t mode_count;
} rmwbench_description;

/* ---- Requests ---- */

typedef struct rmwbench_session_config {
  rmwbench_profile profile;
  const rmwbench_pair *options; /* strings without quotes; numbers and booleans as JSON writes them;
                                   refuse unknown names */
  size_t option_count;
  uint32_t domain_id;
  uint64_t trial_nonce;
  /* They replace settings of the profile, and are written as options are. The harness has already
   * refused each mode to which the description says "no"; a level that another middleware has and
   * this one cannot have is UNSUPPORTED, object "mode NAME". */
  const rmwbench_pair *modes;
  size_t mode_count;
} rmwbench_session_config;

enum { RMWBENCH_RELIABLE = 0, RMWBENCH_BEST_EFFORT = 1 };
enum { RMWBENCH_VOLATILE = 0, RMWBENCH_TRANSIENT_LOCAL = 1 };
enum { RMWBENCH_KEEP_LAST = 0, RMWBENCH_KEEP_ALL = 1 };
enum { RMWBENCH_PUBLISH_DEFAULT = 0, RMWBENCH_PUBLISH_SYNC = 1, RMWBENCH_PUBLISH_ASYNC = 2 };
enum {
  RMWBENCH_WAIT_BLOCK = 0, /* a thread blocks on the middleware's own wait primitive; one thread for
                              all of a session */
  RMWBENCH_WAIT_POLL = 1,  /* a thread spins; one thread for all of a session */
  RMWBENCH_WAIT_CALLBACK = 2 /* the middleware's own thread calls */
};

/* Into whose memory a subscription takes (request), and where a payload is when it is taken
 * (granted). */
enum {
  RMWBENCH_TAKE_TYPED = 0, /* in memory of the reader's own */
  RMWBENCH_TAKE_RAW = 1,   /* serialised, in the middleware's receive buffer; requested only if
                              capability take_raw allows it */
  RMWBENCH_TAKE_LENT = 2   /* granted only: in memory that the API lends */
};
/* What happens at an endpoint when its own queue is full. */
enum {
  RMWBENCH_FULL_UNKNOWN = 0,
  RMWBENCH_FULL_BLOCKS = 1,
  RMWBENCH_FULL_OVERWRITES_AT_WRITER = 2,
  RMWBENCH_FULL_DROPS_AT_WRITER = 3,
  RMWBENCH_FULL_DROPS_AT_READER = 4,
  RMWBENCH_FULL_NEVER = 5 /* it grows without a limit */
};
/* The number of messages taken from one reader before the thread looks at its other readers: the
 * same for every middleware. */
enum { RMWBENCH_TURN = 4 };
/* The note that says so; each reader that such a thread serves gets it. */
#define RMWBENCH_TURN_NOTE \
  "one thread takes for all readers of the process, up to 4 messages of each in its turn"

typedef struct rmwbench_qos {
  int32_t reliability;
  int32_t durability;
  int32_t history;
  uint32_t depth;             /* messages kept with KEEP_LAST; without meaning for KEEP_ALL */
  const char *content_filter; /* NULL if none is requested */
  const char *instance_key;   /* NULL if none is requested */
} rmwbench_qos;

/* An exact layout: `cdr_prefix`, then `payload_bytes` of payload, then `cdr_suffix` are a complete
 * XCDR1 message, encapsulation included. A middleware without CDR carries the payload alone. The
 * payload of a tf2_msgs/msg/TFMessage is the numbers of its transforms, 56 bytes each: in the real
 * message the bytes of the suffix are between them, in equal parts. */
typedef struct rmwbench_message_type {
  const char *name;     /* the suite's name: "Image1080p" */
  const char *ros_type; /* "sensor_msgs/msg/Image" */
  const char *dds_type; /* "sensor_msgs::msg::dds_::Image_" */
  uint32_t payload_bytes;
  const uint8_t *cdr_prefix;
  size_t cdr_prefix_bytes;
  const uint8_t *cdr_suffix;
  size_t cdr_suffix_bytes;
} rmwbench_message_type;

typedef struct rmwbench_endpoint_config {
  uint32_t endpoint;
  const char *topic;     /* the ROS name of the topic or service without leading slash: "camera" */
  const char *dds_topic; /* "rt/camera"; of a client or service its requests': "rq/cameraRequest" */
  rmwbench_message_type type; /* of a client or service: the request's */
  rmwbench_qos qos;
  int32_t loan; /* non-zero: will be published by loan and commit */
  int32_t publish_mode;
  int32_t wait;                            /* of what reads: subscriptions, clients, services */
  const rmwbench_message_type *reply_type; /* of clients and services; NULL for the others */
  const char *dds_reply_topic; /* of clients and services: "rr/cameraReply"; NULL for the others */
  int32_t take;                /* of subscriptions; TYPED for the others */
} rmwbench_endpoint_config;

/* ---- Delivery ---- */

typedef struct rmwbench_delivery {
  int64_t notified_ns; /* the wait returned, or the callback began, that announced this message;
                          taken_ns where nothing did */
  int64_t taken_ns; /* the last instant before the reader's code can look at this payload: one stamp
                       for one message */
  const uint8_t *payload; /* the middleware's own memory where it has it; valid during the call */
  size_t bytes;
  int32_t zero_copy; /* non-zero: read in place, by the middleware's own evidence */
  int32_t lossy; /* non-zero: behind the header it need not be the bytes that were published; it is
                    read and not checked, its size is */
} rmwbench_delivery;

/* Where a subscription's messages go. `deliver` may be called from any thread, from several at
 * once, and already before subscription_create returned. It returns soon, with two exceptions: a
 * relay publishes within it, and a consumer that must keep each message for a while sleeps within
 * it; the message's memory stays the reader's until then. */
typedef struct rmwbench_sink {
  void *context;
  void (*deliver)(void *context, const rmwbench_delivery *delivery);
  /* Non-zero: the delivery publishes the message again, in a call that may wait for
   * acknowledgements (reliable, with a history that keeps all). A middleware that calls back in the
   * thread which takes acknowledgements would then wait for ever: it refuses such a
   * subscription. */
  int32_t publish_may_wait;
} rmwbench_sink;

/* Sends the answer to one request, to the client that sent the request; returns when the
 * middleware's call returns. */
typedef struct rmwbench_reply {
  void *context;
  rmwbench_status (*send)(void *context, const uint8_t *payload, size_t bytes);
} rmwbench_reply;

/* Where a service's requests go. `handle` may be called from any thread and from several at once;
 * within the call and in the same thread it calls `reply->send` once, or not at all if no client of
 * this trial sent the request. */
typedef struct rmwbench_handler {
  void *context;
  void (*handle)(void *context, const rmwbench_delivery *request, const rmwbench_reply *reply);
} rmwbench_handler;

/* ---- Reports ---- */

/* What was granted, read back from the middleware. Fill the fields, and call `note` for each thing
 * that a reader of the results must know. `qos.content_filter` and `qos.instance_key` point to the
 * texts in force, which live as long as the endpoint; NULL for none. */
typedef struct rmwbench_granted {
  rmwbench_qos qos;
  int32_t publish_mode; /* RMWBENCH_PUBLISH_DEFAULT only when it cannot be known */
  int32_t wait;
  void *context;
  void (*note)(void *context, const char *text);
  int32_t take; /* of what reads */
  int32_t when_full;
} rmwbench_granted;

/* Receives an account. A counter that the middleware does not have is not reported: absent is never
 * zero. */
typedef struct rmwbench_account {
  void *context;
  void (*reader_drops)(void *context, uint64_t messages);
  void (*counter)(void *context, const char *name, int64_t value);
  /* `path`: "shm", "udp", "tcp", "unix", "intra_process" */
  void (*evidence)(void *context, const char *path, uint64_t messages, const char *note);
} rmwbench_account;

/* Receives the configuration in force; call `tell` once, or not at all if there is no such
 * configuration. */
typedef struct rmwbench_configuration {
  void *context;
  void (*tell)(void *context, const char *format,
               const char *text); /* format as in rmwbench_profile */
} rmwbench_configuration;

/* Why a profile works on one host only; the reason ends with what to request instead. */
typedef struct rmwbench_one_host {
  const char *reason;
  const char *const
      *unless; /* modes that replace the setting in the way; ends with NULL; NULL for none */
} rmwbench_one_host;

/* The settings that are forced on every profile on a host without namespaces of its own, and the
 * daemons that cannot run there. */
typedef struct rmwbench_shared_host {
  const char *forced;
  const rmwbench_pair *without; /* name -> why */
  size_t without_count;
} rmwbench_shared_host;

/* The bytes of /dev/shm that a process takes whatever it sends, and whether a publisher's full
 * history takes more of it. */
typedef struct rmwbench_shared_memory {
  uint64_t process_bytes;
  int32_t histories;
} rmwbench_shared_memory;

/* The daemons that a level of a mode needs, in the order of their start; ends with NULL. */
typedef struct rmwbench_mode_daemons {
  const char *mode;
  const char *level;
  const char *const *daemons;
} rmwbench_mode_daemons;

/* ---- The table ---- */

typedef struct rmwbench_middleware {
  uint32_t abi_version;  /* RMWBENCH_ABI_VERSION */
  uint32_t struct_bytes; /* sizeof(rmwbench_middleware); functions are added at the end, and a
                            shorter table of this version is taken */

  /* Must work even where the middleware itself cannot run. The result lives as long as the
   * process. */
  const rmwbench_description *(*describe)(void);

  /* Opens the process's session (a DDS participant, a ROS context). Unknown options are INVALID. */
  rmwbench_session *(*session_open)(const rmwbench_session_config *config, rmwbench_error *error);
  void (*session_close)(rmwbench_session *session);

  rmwbench_node *(*node_create)(rmwbench_session *session, const char *name, rmwbench_error *error);
  void (*node_destroy)(rmwbench_node *node);

  rmwbench_publisher *(*publisher_create)(rmwbench_node *node,
                                          const rmwbench_endpoint_config *config,
                                          rmwbench_error *error);
  void (*publisher_destroy)(rmwbench_publisher *publisher);
  /* Publishes a copy of `payload`; returns when the middleware's publish call does. `payload` is
   * never NULL, also with 0 bytes. */
  rmwbench_status (*publish)(rmwbench_publisher *publisher, const uint8_t *payload, size_t bytes);
  /* Both are NULL if there are no loans. `loan` gives memory of at least `bytes`; `commit`
   * publishes it and takes it back, whatever it returns. */
  rmwbench_status (*loan)(rmwbench_publisher *publisher, size_t bytes, uint8_t **memory);
  rmwbench_status (*commit)(rmwbench_publisher *publisher, uint8_t *memory, size_t bytes);
  /* The number of peers matched now; it must be cheap, since it is called up to a thousand times a
   * second. */
  uint32_t (*publisher_matched)(rmwbench_publisher *publisher);
  void (*publisher_granted)(rmwbench_publisher *publisher, rmwbench_granted *granted);
  void (*publisher_account)(rmwbench_publisher *publisher, const rmwbench_account *account);

  /* `sink` is copied; its context lives until subscription_destroy returned (or until this function
   * returned NULL). */
  rmwbench_subscription *(*subscription_create)(rmwbench_node *node,
                                                const rmwbench_endpoint_config *config,
                                                const rmwbench_sink *sink, rmwbench_error *error);
  /* Unregisters at once. After it returned, the sink is not called again. */
  void (*subscription_destroy)(rmwbench_subscription *subscription);
  uint32_t (*subscription_matched)(rmwbench_subscription *subscription);
  void (*subscription_granted)(rmwbench_subscription *subscription, rmwbench_granted *granted);
  void (*subscription_account)(rmwbench_subscription *subscription,
                               const rmwbench_account *account);

  /* ---- All functions below may be NULL. The functions of one group are all there or all NULL.
   * ---- */

  /* Clients: `client_request` sends a request as `publish` does, without waiting for the answer;
   * replies go to the sink, from any thread. Drop replies to other clients, and count them:
   * counters "other_clients_replies" and "other_clients_reply_bytes". `client_matched` counts
   * services. */
  rmwbench_client *(*client_create)(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                    const rmwbench_sink *sink, rmwbench_error *error);
  void (*client_destroy)(rmwbench_client *client);
  rmwbench_status (*client_request)(rmwbench_client *client, const uint8_t *payload, size_t bytes);
  uint32_t (*client_matched)(rmwbench_client *client);
  void (*client_granted)(rmwbench_client *client, rmwbench_granted *granted);
  void (*client_account)(rmwbench_client *client, const rmwbench_account *account);

  /* Services, in the same group as clients. `handler` is copied; its context lives as long as a
   * sink's does. `service_matched` counts clients. */
  rmwbench_service *(*service_create)(rmwbench_node *node, const rmwbench_endpoint_config *config,
                                      const rmwbench_handler *handler, rmwbench_error *error);
  void (*service_destroy)(rmwbench_service *service);
  uint32_t (*service_matched)(rmwbench_service *service);
  void (*service_granted)(rmwbench_service *service, rmwbench_granted *granted);
  void (*service_account)(rmwbench_service *service, const rmwbench_account *account);

  /* The configuration in force, profile and modes together; it is stored with the trial. */
  void (*session_configuration)(rmwbench_session *session,
                                const rmwbench_configuration *configuration);

  /* What the isolation of trials, or this worker, forces on an embedded profile; NULL for nothing.
   * The profile is then shown with an asterisk and this text, which lives as long as the
   * process. */
  const char *(*profile_forced)(const char *profile);

  /* Daemons: the names of the daemons that an embedded profile needs, in the order of their start.
   * The array ends with NULL and lives as long as the process. Each daemon runs in a process of its
   * own (`WORKER --daemon NAME`): `daemon_open` returns when the daemon serves, `daemon_close` ends
   * it and removes what it left outside the process. */
  const char *const *(*profile_daemons)(const char *profile);
  rmwbench_daemon *(*daemon_open)(const char *name, const rmwbench_session_config *config,
                                  rmwbench_error *error);
  void (*daemon_close)(rmwbench_daemon *daemon);

  /* For an API whose users write into a message of the API before they publish it: that message's
   * payload, `bytes` long, or NULL if it cannot be had. It stays where it is until `publish` is
   * called with it, which then copies nothing; `publish` still takes any other memory. */
  uint8_t *(*publisher_message)(rmwbench_publisher *publisher, size_t bytes);

  /* The results of these functions live as long as the process. */

  /* What keeps an embedded profile within one host; NULL for nothing. */
  const rmwbench_one_host *(*profile_one_host)(const char *profile);
  /* How the middleware keeps to a shared host (docs/formats/worker-protocol.md); NULL: it does not,
   * and no trial of it runs there. */
  const rmwbench_shared_host *(*shared_host)(void);
  /* What processes with an embedded profile take of /dev/shm; NULL for nothing. */
  const rmwbench_shared_memory *(*profile_shared_memory)(const char *profile);
  /* The further daemons that levels of modes need; the array ends with an entry whose mode is
   * NULL. */
  const rmwbench_mode_daemons *(*mode_daemons)(void);
  /* The names of the daemons that each host runs for itself; ends with NULL. */
  const char *const *(*daemons_each_host)(void);

  /* As `publisher_message`, for a request: valid until `client_request` is called with it. */
  uint8_t *(*client_message)(rmwbench_client *client, size_t bytes);
  /* As `publisher_message`, for the reply to a request that is being handled; it gets the `context`
   * of that reply. Valid until the reply's `send` is called with it. */
  uint8_t *(*reply_message)(void *context, size_t bytes);
} rmwbench_middleware;

/* ---- What the harness offers
 * -------------------------------------------------------------------------------------------- */

/* Now, in nanoseconds of CLOCK_MONOTONIC. Callable from any thread. */
int64_t rmwbench_now_ns(void);

/* The receive loops of a session: one blocks in the middleware's wait set, one spins. The first
 * reader with such a `wait` starts its thread. The loops keep equal what a comparison must keep
 * equal: a reader gives at most RMWBENCH_TURN messages in its turn, `notified_ns` has one meaning,
 * no reader starves another, and the end of a registration waits for the message under delivery and
 * for nothing else. */
typedef struct rmwbench_pumps rmwbench_pumps;
typedef struct rmwbench_registration rmwbench_registration;

/* A reader. `take` takes one message, if there is one, and delivers it; it returns non-zero if it
 * took one. It must not take several: a message that is taken has left the reader's history, which
 * would then have more room than was granted. Pass `notified_ns` to the delivery; where it is 0, no
 * thread waited, and the delivery's `notified_ns` is its `taken_ns`. */
typedef struct rmwbench_source {
  void *context;
  int32_t (*take)(void *context, int64_t notified_ns);
} rmwbench_source;

/* A way to block on many readers. `wake` is called from any thread; only the loop's thread calls
 * the other functions, and it detaches a reader before its registration has ended. `source` is a
 * reader's context. */
typedef struct rmwbench_wait_set {
  void *context;
  /* From now on `wait` names this reader by `token`. */
  void (*attach)(void *context, void *source, size_t token);
  void (*detach)(void *context, void *source, size_t token);
  /* Waits until a reader may have messages or `wake` was called; if `block` is 0, it returns at
   * once. Writes the tokens of the readers that may have messages to `ready`, which has room for
   * all attached readers, and returns their number. */
  size_t (*wait)(void *context, int32_t block, size_t *ready, size_t room);
  /* Ends a wait that is under way or about to begin. */
  void (*wake)(void *context);
} rmwbench_wait_set;

/* `wait_set` is copied; its context lives until rmwbench_pumps_destroy() returned, which is called
 * after the end of the last registration. */
rmwbench_pumps *rmwbench_pumps_create(const rmwbench_wait_set *wait_set);
void rmwbench_pumps_destroy(rmwbench_pumps *pumps);
/* From now on the loop for `wait` (BLOCK or POLL) takes for `source`, which is copied, until its
 * registration ends; `take` may be called before this function returned. NULL if no thread could be
 * started. */
rmwbench_registration *rmwbench_pumps_add(rmwbench_pumps *pumps, int32_t wait,
                                          const rmwbench_source *source);
/* After it returned, `take` is not called again. */
void rmwbench_registration_end(rmwbench_registration *registration);

/* The keystore of a trial, for the mode `security`: it is laid out as by ROS 2's sros2, so
 * DIRECTORY/enclaves/rmwbench has the files identity_ca.cert.pem, cert.pem, key.pem,
 * permissions_ca.cert.pem, governance.p7s and permissions.p7s. The first process of the trial that
 * calls this makes it. Writes DIRECTORY and its NUL and returns 1; returns 0 if it could not be
 * made, and `error` says why. */
int32_t rmwbench_security_keystore(uint64_t trial_nonce, char *directory, size_t room,
                                   rmwbench_error *error);

/* Whether a RouDi of iceoryx 2.0, as distributions install it, serves this host. Without one,
 * iceoryx waits for a minute, says so on stdout, and ends the process. */
int32_t rmwbench_roudi_serves(void);
/* Writes the configuration file of a RouDi with `pools` ("SIZE:COUNT SIZE:COUNT", sizes of messages
 * in bytes, K or M) and its NUL to `file` and returns 1; returns 0 if `pools` has another form or
 * `room` is too small, and `error` says why. */
int32_t rmwbench_roudi_file(const char *pools, char *file, size_t room, rmwbench_error *error);

/* The layer times (SPAN records, docs/formats/records.md) of an endpoint in a traced trial: NULL if
 * the plan has no room for them, else valid as long as the process. Call it once, at creation. */
typedef struct rmwbench_spans rmwbench_spans;
const rmwbench_spans *rmwbench_spans_of(uint32_t endpoint);
/* Records that message `seq` of `writer` passed `layer` at `time_ns`. Callable from any thread; no
 * allocation, lock or system call. */
void rmwbench_span(const rmwbench_spans *spans, uint32_t writer, uint64_t seq, uint32_t layer,
                   int64_t time_ns);

/* What a manager of lifecycle nodes does with each node, and how the step ends. */
enum {
  RMWBENCH_STEP_SERVICE = 0,   /* waits until the node's services are there */
  RMWBENCH_STEP_CONFIGURE = 1, /* change_state, and get_state to see it done */
  RMWBENCH_STEP_ACTIVATE = 2
};
enum {
  RMWBENCH_STEP_DONE = 0,
  RMWBENCH_STEP_TIMED_OUT = 1, /* no service or no answer in time */
  RMWBENCH_STEP_REFUSED = 2    /* the node answered no, or was in another state afterwards */
};
/* Reports the end of a step with `node`, which began at `asked_ns`. Callable from any thread; not
 * in the path of a message. */
void rmwbench_step(const char *node, int32_t step, int32_t outcome, int64_t asked_ns,
                   int64_t answered_ns);

/* The whole main() of a worker: `return rmwbench_worker_main(&table, argc, argv);`. The table must
 * outlive the call. Returns the process's exit code; a table of another ABI version or size is
 * refused with a message on stderr and code 2. */
int rmwbench_worker_main(const rmwbench_middleware *middleware, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
