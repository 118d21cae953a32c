// A discovery server of the host, as a daemon in a process of its own: it does the same as
// `fast-discovery-server`, without that program's package. Several may serve one trial: `server`,
// `server-1`, `server-2` …
#pragma once

#include <string>

#include <fastdds/dds/domain/DomainParticipant.hpp>

#include <rmwbench_worker.h>

struct rmwbench_daemon {
  rmwbench_daemon(const std::string &name, const rmwbench_session_config &config);
  ~rmwbench_daemon();

 private:
  eprosima::fastdds::dds::DomainParticipant *participant_ = nullptr;
};
