// The functions that src/sys.rs calls: iceoryx 2.0's classes behind plain functions. Nothing here
// decides anything.
//
// Publishers use the port below UntypedPublisher, as iceoryx's own C binding does: the class
// reports whether there are subscribers and not how many.

#include <cstdint>
#include <cstring>
#include <memory>

#include <iceoryx_posh/popo/listener.hpp>
#include <iceoryx_posh/popo/untyped_client.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_server.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/user_trigger.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <iceoryx_posh/runtime/service_discovery.hpp>

namespace {

constexpr uint32_t alignment = 8;

iox::capro::IdString_t id(const char *text) {
  return iox::capro::IdString_t(iox::cxx::TruncateToCapacity, text);
}

iox::capro::ServiceDescription description(const char *service, const char *instance,
                                           const char *event) {
  return {id(service), id(instance), id(event)};
}

iox::popo::QueueFullPolicy full(bool block) {
  return block ? iox::popo::QueueFullPolicy::BLOCK_PRODUCER
               : iox::popo::QueueFullPolicy::DISCARD_OLDEST_DATA;
}

iox::popo::ConsumerTooSlowPolicy slow(bool block) {
  return block ? iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER
               : iox::popo::ConsumerTooSlowPolicy::DISCARD_OLDEST_DATA;
}

size_t size_of(const void *payload) {
  return iox::mepoo::ChunkHeader::fromUserPayload(payload)->userPayloadSize();
}

}  // namespace

struct rmwbench_publisher {
  using Data = iox::PublisherPortUserType::MemberType_t;

  rmwbench_publisher(const iox::capro::ServiceDescription &service,
                     const iox::popo::PublisherOptions &options)
      : data(iox::runtime::PoshRuntime::getInstance().getMiddlewarePublisher(service, options)),
        port(data) {}

  ~rmwbench_publisher() {
    port.stopOffer();
    port.destroy();
  }

  Data *data;
  iox::PublisherPortUserType port;
};

// An object from which one thread at a time takes messages. It has one of the three.
//
// A client sends from another thread than the one that takes, without a lock: its port separates
// the two. A lock that is held during the wait for a full queue of requests would prevent the
// answers from being taken, for which the service waits.
struct rmwbench_origin {
  std::unique_ptr<iox::popo::UntypedSubscriber> subscriber;
  std::unique_ptr<iox::popo::UntypedClient> client;
  std::unique_ptr<iox::popo::UntypedServer> server;
  void (*arrived)(void *context) = nullptr;
  void *context = nullptr;

  // Calls `work` with the one that exists, and with the state and event that announce a message.
  template <typename Work>
  void with(Work work) {
    if (subscriber) {
      work(*subscriber, iox::popo::SubscriberState::HAS_DATA,
           iox::popo::SubscriberEvent::DATA_RECEIVED);
    } else if (client) {
      work(*client, iox::popo::ClientState::HAS_RESPONSE,
           iox::popo::ClientEvent::RESPONSE_RECEIVED);
    } else {
      work(*server, iox::popo::ServerState::HAS_REQUEST, iox::popo::ServerEvent::REQUEST_RECEIVED);
    }
  }
};

namespace {

template <typename Source>
void notify(Source *, rmwbench_origin *origin) {
  origin->arrived(origin->context);
}

}  // namespace

struct rmwbench_wait_set {
  static constexpr uint64_t wake_id = UINT64_MAX;

  iox::popo::WaitSet<> set;
  iox::popo::UserTrigger trigger;
};

extern "C" {

void rmwbench_runtime(const char *name) {
  iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kWarn,
                                                           iox::log::LogLevelOutput::kHideLogLevel);
  iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name));
}

// ---- Publishers ----

rmwbench_publisher *rmwbench_publisher_new(const char *service, const char *instance,
                                           const char *event, uint64_t history, bool block) {
  iox::popo::PublisherOptions options;
  options.historyCapacity = history;
  options.subscriberTooSlowPolicy = slow(block);
  return new rmwbench_publisher(description(service, instance, event), options);
}

void rmwbench_publisher_delete(rmwbench_publisher *publisher) { delete publisher; }

// NULL if no chunk is available.
void *rmwbench_publisher_loan(rmwbench_publisher *publisher, uint32_t bytes) {
  auto chunk = publisher->port.tryAllocateChunk(bytes, alignment);
  return chunk.has_error() ? nullptr : chunk.value()->userPayload();
}

void rmwbench_publisher_send(rmwbench_publisher *publisher, void *payload) {
  publisher->port.sendChunk(iox::mepoo::ChunkHeader::fromUserPayload(payload));
}

uint32_t rmwbench_publisher_matched(rmwbench_publisher *publisher) {
  auto &sender = publisher->data->m_chunkSenderData;
  const rmwbench_publisher::Data::ChunkDistributorData_t::LockGuard_t lock(sender);
  return static_cast<uint32_t>(sender.m_queues.size());
}

// ---- Taking ----

rmwbench_origin *rmwbench_subscriber_new(const char *service, const char *instance,
                                         const char *event, uint64_t queue, uint64_t history,
                                         bool block) {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = queue;
  options.historyRequest = history;
  options.requiresPublisherHistorySupport = history > 0;
  options.queueFullPolicy = full(block);
  auto *origin = new rmwbench_origin;
  origin->subscriber = std::make_unique<iox::popo::UntypedSubscriber>(
      description(service, instance, event), options);
  return origin;
}

rmwbench_origin *rmwbench_client_new(const char *service, const char *instance, const char *event,
                                     uint64_t queue, bool block) {
  iox::popo::ClientOptions options;
  options.responseQueueCapacity = queue;
  options.responseQueueFullPolicy = full(block);
  options.serverTooSlowPolicy = slow(block);
  auto *origin = new rmwbench_origin;
  origin->client =
      std::make_unique<iox::popo::UntypedClient>(description(service, instance, event), options);
  return origin;
}

rmwbench_origin *rmwbench_server_new(const char *service, const char *instance, const char *event,
                                     uint64_t queue, bool block) {
  iox::popo::ServerOptions options;
  options.requestQueueCapacity = queue;
  options.requestQueueFullPolicy = full(block);
  options.clientTooSlowPolicy = slow(block);
  auto *origin = new rmwbench_origin;
  origin->server =
      std::make_unique<iox::popo::UntypedServer>(description(service, instance, event), options);
  return origin;
}

void rmwbench_origin_delete(rmwbench_origin *origin) { delete origin; }

// NULL if there is no message.
const void *rmwbench_origin_take(rmwbench_origin *origin, size_t *bytes) {
  const void *payload = nullptr;
  origin->with([&](auto &source, auto, auto) {
    source.take().and_then([&](const void *taken) { payload = taken; });
  });
  if (payload != nullptr) *bytes = size_of(payload);
  return payload;
}

void rmwbench_origin_release(rmwbench_origin *origin, const void *payload) {
  if (origin->subscriber) origin->subscriber->release(payload);
  if (origin->client) origin->client->releaseResponse(payload);
  if (origin->server) origin->server->releaseRequest(payload);
}

// Whether messages were overwritten since the last call.
bool rmwbench_origin_missed(rmwbench_origin *origin) {
  if (origin->subscriber) return origin->subscriber->hasMissedData();
  if (origin->client) return origin->client->hasMissedResponses();
  return origin->server->hasMissedRequests();
}

// Whether there is a peer.
bool rmwbench_origin_connected(rmwbench_origin *origin) {
  if (origin->subscriber)
    return origin->subscriber->getSubscriptionState() == iox::SubscribeState::SUBSCRIBED;
  if (origin->client)
    return origin->client->getConnectionState() == iox::ConnectionState::CONNECTED;
  return origin->server->hasClients();
}

void *rmwbench_client_loan(rmwbench_origin *origin, uint32_t bytes) {
  auto loan = origin->client->loan(bytes, alignment);
  return loan.has_error() ? nullptr : loan.value();
}

bool rmwbench_client_send(rmwbench_origin *origin, void *request) {
  return !origin->client->send(request).has_error();
}

// 0: sent, 1: no chunk available, 2: the client is gone.
int32_t rmwbench_server_reply(rmwbench_origin *origin, const void *request, const uint8_t *reply,
                              uint32_t bytes) {
  auto loan =
      origin->server->loan(iox::popo::RequestHeader::fromPayload(request), bytes, alignment);
  if (loan.has_error()) return 1;
  std::memcpy(loan.value(), reply, bytes);
  return origin->server->send(loan.value()).has_error() ? 2 : 0;
}

// ---- Waiting ----

rmwbench_wait_set *rmwbench_wait_set_new() {
  auto *waiting = new rmwbench_wait_set;
  waiting->set.attachEvent(waiting->trigger, rmwbench_wait_set::wake_id).or_else([](auto) {});
  return waiting;
}

void rmwbench_wait_set_delete(rmwbench_wait_set *waiting) { delete waiting; }

void rmwbench_wait_set_wake(rmwbench_wait_set *waiting) { waiting->trigger.trigger(); }

bool rmwbench_wait_set_attach(rmwbench_wait_set *waiting, rmwbench_origin *origin, uint64_t id) {
  bool attached = false;
  origin->with([&](auto &source, auto state, auto) {
    attached = !waiting->set.attachState(source, state, id).has_error();
  });
  return attached;
}

void rmwbench_wait_set_detach(rmwbench_wait_set *waiting, rmwbench_origin *origin) {
  origin->with([&](auto &source, auto state, auto) { waiting->set.detachState(source, state); });
}

// Fills `ids` with those of the origins that have messages; returns their number. Also returns
// after a wake-up.
size_t rmwbench_wait_set_wait(rmwbench_wait_set *waiting, uint64_t *ids, size_t max) {
  size_t count = 0;
  for (const iox::popo::NotificationInfo *notification : waiting->set.wait()) {
    const uint64_t id = notification->getNotificationId();
    if (id != rmwbench_wait_set::wake_id && count < max) ids[count++] = id;
  }
  return count;
}

iox::popo::Listener *rmwbench_listener_new() { return new iox::popo::Listener; }

void rmwbench_listener_delete(iox::popo::Listener *listener) { delete listener; }

bool rmwbench_listener_attach(iox::popo::Listener *listener, rmwbench_origin *origin,
                              void (*arrived)(void *context), void *context) {
  origin->arrived = arrived;
  origin->context = context;
  bool attached = false;
  origin->with([&](auto &source, auto, auto event) {
    using Source = std::remove_reference_t<decltype(source)>;
    auto callback = iox::popo::createNotificationCallback(notify<Source>, *origin);
    attached = !listener->attachEvent(source, event, callback).has_error();
  });
  return attached;
}

// After it returned, `arrived` is not called again.
void rmwbench_listener_detach(iox::popo::Listener *listener, rmwbench_origin *origin) {
  origin->with([&](auto &source, auto, auto event) { listener->detachEvent(source, event); });
}

// ---- Presence ----

iox::runtime::ServiceDiscovery *rmwbench_discovery_new() {
  return new iox::runtime::ServiceDiscovery;
}

void rmwbench_discovery_delete(iox::runtime::ServiceDiscovery *discovery) { delete discovery; }

// How many publishers are offered with this service and instance.
uint32_t rmwbench_discovery_count(iox::runtime::ServiceDiscovery *discovery, const char *service,
                                  const char *instance) {
  uint32_t count = 0;
  discovery->findService(
      id(service), id(instance), iox::cxx::nullopt,
      [&](const iox::capro::ServiceDescription &) { ++count; },
      iox::popo::MessagingPattern::PUB_SUB);
  return count;
}

// How many services have this name: iceoryx ends a process that requests a second one.
uint32_t rmwbench_discovery_services(iox::runtime::ServiceDiscovery *discovery, const char *service,
                                     const char *instance, const char *event) {
  uint32_t count = 0;
  discovery->findService(
      id(service), id(instance), id(event),
      [&](const iox::capro::ServiceDescription &) { ++count; },
      iox::popo::MessagingPattern::REQ_RES);
  return count;
}

uint32_t rmwbench_limit_queue() { return iox::MAX_SUBSCRIBER_QUEUE_CAPACITY; }
uint32_t rmwbench_limit_history() { return static_cast<uint32_t>(iox::MAX_PUBLISHER_HISTORY); }
uint32_t rmwbench_limit_requests() { return iox::MAX_REQUEST_QUEUE_CAPACITY; }
uint32_t rmwbench_limit_responses() { return iox::MAX_RESPONSE_QUEUE_CAPACITY; }
uint32_t rmwbench_limit_waiting() {
  return static_cast<uint32_t>(iox::popo::WaitSet<>::capacity()) - 1;
}
uint32_t rmwbench_limit_name() {
  return static_cast<uint32_t>(iox::capro::IdString_t().capacity());
}

}  // extern "C"
