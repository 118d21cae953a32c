// A DataWriter of raw CDR: of a publisher, of a client for its requests, or of a service for its
// replies.
#pragma once

#include <string>

#include <fastdds/dds/publisher/DataWriter.hpp>

#include "raw_type.hpp"
#include "session.hpp"

namespace rmwbench {

class Writer {
 public:
  // `topic` and `type` are DDS's; the rest is as in `config`. Throws Fault.
  Writer(rmwbench_session &session, const rmwbench_endpoint_config &config, const char *topic,
         const rmwbench_message_type &type);
  ~Writer();
  Writer(const Writer &) = delete;

  // The one call that a user of this API makes.
  rmwbench_status publish(const uint8_t *payload, size_t bytes);
  // Publishes a request or a reply, which names the sample to which it is related.
  rmwbench_status publish(const uint8_t *payload, size_t bytes,
                          const rtps::SampleIdentity &related);
  rmwbench_status loan(size_t bytes, uint8_t **memory);
  rmwbench_status commit(uint8_t *memory, size_t bytes);

  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;
  const rtps::GUID_t &guid() const { return writer_->guid(); }

 private:
  rmwbench_session &session_;
  Layout layout_;
  const std::string content_filter_;  // as requested for its readers; empty: none
  RawType *type_ = nullptr;
  fd::Topic *topic_ = nullptr;
  fd::DataWriter *writer_ = nullptr;
};

}  // namespace rmwbench

struct rmwbench_publisher : rmwbench::Writer {
  rmwbench_publisher(rmwbench_session &session, const rmwbench_endpoint_config &config)
      : Writer(session, config, config.dds_topic, config.type) {}
};
