// The functions that src/sys.rs calls: roscpp's classes behind plain functions. Nothing here
// decides anything. roscpp throws if it does not accept a name, the master or memory; no exception
// may reach Rust.

#include <time.h>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <boost/make_shared.hpp>
#include <rmwbench_fault.hpp>

#include "bytes.hpp"

int64_t rmwbench::now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

using rmwbench::Bytes;
using rmwbench::guarded;
using rmwbench::infallible;
using rmwbench::now_ns;
using rmwbench::sent;

struct rmwbench_message {
  const uint8_t *data;
  size_t bytes;
  int64_t notified_ns;
  int64_t taken_ns;
  int32_t path;  // 0: from another process, 1: serialised within this one, 2: the very object that
                 // was published
};

struct rmwbench_queue {
  ros::CallbackQueue queue;
  std::unique_ptr<ros::AsyncSpinner> spinner;
};

struct rmwbench_publisher {
  ros::Publisher publisher;
  boost::shared_ptr<Bytes> loan;
};

struct rmwbench_subscriber {
  ros::Subscriber subscriber;
  void (*deliver)(void *context, const rmwbench_message *message);
  void *context;

  void take(const ros::MessageEvent<Bytes const> &event) {
    const int64_t taken_ns = now_ns();
    const Bytes &bytes = *event.getConstMessage();
    const bool own = event.getPublisherName() == ros::this_node::getName();
    const bool in_place = bytes.begun_ns == 0;
    const rmwbench_message message{bytes.data.data(), bytes.data.size(),
                                   in_place ? taken_ns : bytes.begun_ns, taken_ns,
                                   in_place ? 2 : (own ? 1 : 0)};
    deliver(context, &message);
  }
};

struct rmwbench_server {
  ros::ServiceServer server;
  void (*handle)(void *context, const rmwbench_message *request, void *response);
  void *context;

  bool answer(rmwbench::Request &request, rmwbench::Response &response) {
    const int64_t taken_ns = now_ns();
    const rmwbench_message message{request.data.data(), request.data.size(), request.begun_ns,
                                   taken_ns, 0};
    handle(context, &message, &response);
    return true;
  }
};

struct rmwbench_client {
  ros::ServiceClient client;
  rmwbench::Request request;
  rmwbench::Response response;
};

extern "C" {

// Joins the ROS graph as a node of this process; false if no master answers.
bool rmwbench_ros_start(const char *name, const char *master, bool rosout) {
  return infallible([&] {
    setenv("ROS_MASTER_URI", master, 1);
    setenv("ROS_IP", "127.0.0.1", 1);
    uint32_t options = ros::init_options::NoSigintHandler;
    if (!rosout) options |= ros::init_options::NoRosout;
    ros::init(ros::M_string{}, name, options);
    if (!ros::master::check()) return false;
    ros::start();
    return true;
  });
}

// A function that makes an object returns NULL if it fails, and `error` says why.
rmwbench_queue *rmwbench_queue_new(bool spinning, rmwbench_error *error) {
  return guarded(error, [&] {
    auto queue = std::make_unique<rmwbench_queue>();
    if (spinning) {
      queue->spinner = std::make_unique<ros::AsyncSpinner>(1, &queue->queue);
      queue->spinner->start();
    }
    return queue.release();
  });
}

void rmwbench_queue_delete(rmwbench_queue *queue) {
  infallible([&] { delete queue; });
}

// Runs the callbacks that have arrived; waits this long for one. 0: does not wait.
void rmwbench_queue_call(rmwbench_queue *queue, double timeout_s) {
  infallible([&] { queue->queue.callAvailable(ros::WallDuration(timeout_s)); });
}

rmwbench_publisher *rmwbench_publisher_new(const char *topic, uint32_t queue_size, bool latch,
                                           rmwbench_error *error) {
  return guarded(error, [&] {
    ros::NodeHandle node;
    return new rmwbench_publisher{node.advertise<Bytes>(topic, queue_size, latch), nullptr};
  });
}

void rmwbench_publisher_delete(rmwbench_publisher *publisher) {
  infallible([&] { publisher->publisher.shutdown(); });
  delete publisher;
}

int rmwbench_publish(rmwbench_publisher *publisher, const uint8_t *data, uint32_t size) {
  return sent([&] {
    publisher->publisher.publish(rmwbench::View{data, size});
    return RMWBENCH_OK;
  });
}

// False if there is no memory. Without bytes the place has no address.
bool rmwbench_loan(rmwbench_publisher *publisher, uint32_t size, uint8_t **place) {
  return infallible([&] {
    publisher->loan = boost::make_shared<Bytes>();
    publisher->loan->data.resize(size);
    *place = publisher->loan->data.data();
    return true;
  });
}

int rmwbench_publish_loan(rmwbench_publisher *publisher) {
  return sent([&] {
    const boost::shared_ptr<Bytes const> message = std::move(publisher->loan);
    publisher->publisher.publish(message);
    return RMWBENCH_OK;
  });
}

uint32_t rmwbench_publisher_matched(rmwbench_publisher *publisher) {
  return infallible([&] { return publisher->publisher.getNumSubscribers(); });
}

rmwbench_subscriber *rmwbench_subscriber_new(const char *topic, uint32_t queue_size, bool udp,
                                             bool nodelay, rmwbench_queue *queue,
                                             void (*deliver)(void *, const rmwbench_message *),
                                             void *context, rmwbench_error *error) {
  return guarded(error, [&] {
    auto subscriber =
        std::make_unique<rmwbench_subscriber>(rmwbench_subscriber{{}, deliver, context});
    ros::SubscribeOptions options;
    options.initByFullCallbackType<const ros::MessageEvent<Bytes const> &>(
        topic, queue_size, [taker = subscriber.get()](const ros::MessageEvent<Bytes const> &event) {
          taker->take(event);
        });
    options.callback_queue = &queue->queue;
    options.transport_hints =
        udp ? ros::TransportHints().unreliable() : ros::TransportHints().reliable();
    if (nodelay) options.transport_hints.tcpNoDelay();
    ros::NodeHandle node;
    subscriber->subscriber = node.subscribe(options);
    return subscriber.release();
  });
}

// After it returned, `deliver` is not called again.
void rmwbench_subscriber_delete(rmwbench_subscriber *subscriber) {
  infallible([&] { subscriber->subscriber.shutdown(); });
  delete subscriber;
}

uint32_t rmwbench_subscriber_matched(rmwbench_subscriber *subscriber) {
  return infallible([&] { return subscriber->subscriber.getNumPublishers(); });
}

rmwbench_server *rmwbench_server_new(const char *service, rmwbench_queue *queue,
                                     void (*handle)(void *, const rmwbench_message *, void *),
                                     void *context, rmwbench_error *error) {
  return guarded(error, [&] {
    auto server = std::make_unique<rmwbench_server>(rmwbench_server{{}, handle, context});
    ros::AdvertiseServiceOptions options;
    options.init<rmwbench::Request, rmwbench::Response>(
        service,
        [answerer = server.get()](rmwbench::Request &request, rmwbench::Response &response) {
          return answerer->answer(request, response);
        });
    options.callback_queue = &queue->queue;
    ros::NodeHandle node;
    server->server = node.advertiseService(options);
    return server.release();
  });
}

void rmwbench_server_delete(rmwbench_server *server) {
  infallible([&] { server->server.shutdown(); });
  delete server;
}

void rmwbench_response(void *response, const uint8_t *data, size_t size) {
  infallible([&] { static_cast<rmwbench::Response *>(response)->data.assign(data, data + size); });
}

rmwbench_client *rmwbench_client_new(const char *service, bool persistent, rmwbench_error *error) {
  return guarded(error, [&] {
    ros::ServiceClientOptions options;
    options.init<rmwbench::Request, rmwbench::Response>(service, persistent, ros::M_string{});
    // A persistent connection is opened at once, and there may be no service yet.
    ros::NodeHandle node;
    return new rmwbench_client{node.serviceClient(options), {}, {}};
  });
}

void rmwbench_client_delete(rmwbench_client *client) {
  infallible([&] { client->client.shutdown(); });
  delete client;
}

// Sends a request and waits for its answer; false if there was none. `message` points into the
// client until the next call.
bool rmwbench_client_call(rmwbench_client *client, const uint8_t *data, size_t size,
                          rmwbench_message *message) {
  return infallible([&] {
    client->request.data.assign(data, data + size);
    if (!client->client.call(client->request, client->response)) return false;
    const auto &response = client->response;
    *message = {response.data.data(), response.data.size(), response.begun_ns, now_ns(), 0};
    return true;
  });
}

bool rmwbench_service_exists(const char *service) {
  return infallible([&] { return ros::service::exists(service, false); });
}

void rmwbench_param_set(const char *name) {
  infallible([&] { ros::param::set(name, 1); });
}

void rmwbench_param_delete(const char *name) {
  infallible([&] { ros::param::del(name); });
}

uint32_t rmwbench_param_children(const char *name) {
  return infallible([&]() -> uint32_t {
    XmlRpc::XmlRpcValue value;
    if (!ros::param::get(name, value)) return 0;
    if (value.getType() != XmlRpc::XmlRpcValue::TypeStruct) return 0;
    return static_cast<uint32_t>(value.size());
  });
}

}  // extern "C"
