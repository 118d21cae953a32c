// Request and reply as in rmw_fastrtps: two topics, `rq/…Request` and `rr/…Reply`, which every
// client and service with that name share. A request says where its reply is to go (the identity of
// the client's reader), a reply says which request it answers; every client gets every reply and
// keeps its own.
//
// Option reply_filter: a client filters replies by a content filter, so that a service does not
// send it the replies to others. A filter must be known before the reader is, so replies are then
// addressed by the identity of the request's writer, as in rmw_fastrtps when a client omits the
// other identity.
#pragma once

#include <atomic>

#include <rmwbench_worker.h>

#include "reader.hpp"
#include "writer.hpp"

struct rmwbench_client : private rmwbench::Reader {
  rmwbench_client(rmwbench_session &session, const rmwbench_endpoint_config &config,
                  const rmwbench_sink &replies);
  ~rmwbench_client() override { close(); }

  rmwbench_status request(const uint8_t *payload, size_t bytes);
  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;

 private:
  void deliver(const rmwbench::fd::SampleInfo &info, const rmwbench_delivery &delivery) override;

  const rmwbench_sink sink_;
  const bool filtering_;
  std::atomic<int64_t> others_{0}, other_bytes_{0};
  rmwbench::Writer requests_;
  rmwbench::rtps::SampleIdentity reply_to_;
  // Replies to others may come before the constructor knows the reader's identity; replies to this
  // client cannot.
  rmwbench::rtps::GUID_t reader_;
  std::atomic<bool> known_{false};
};

struct rmwbench_service : private rmwbench::Reader {
  rmwbench_service(rmwbench_session &session, const rmwbench_endpoint_config &config,
                   const rmwbench_handler &handler);
  ~rmwbench_service() override { close(); }

  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;

 private:
  void deliver(const rmwbench::fd::SampleInfo &info, const rmwbench_delivery &delivery) override;

  const rmwbench_handler handler_;
  rmwbench::Writer replies_;
};
