// A DataWriter. `publish` is the one call that a user of this API makes.
#pragma once

#include <fastdds/dds/publisher/DataWriter.hpp>

#include "raw_type.hpp"
#include "session.hpp"

struct rmwbench_publisher {
  rmwbench_publisher(rmwbench_session &session, const rmwbench_endpoint_config &config);
  ~rmwbench_publisher();

  rmwbench_status publish(const uint8_t *payload, size_t bytes);
  uint32_t matched() const;
  void granted(rmwbench_granted &granted) const;
  void account(const rmwbench_account &account) const;

 private:
  rmwbench_session &session_;
  rmwbench::Layout layout_;
  rmwbench::fd::Topic *topic_ = nullptr;
  rmwbench::fd::DataWriter *writer_ = nullptr;
};
