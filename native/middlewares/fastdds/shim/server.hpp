// A discovery server of the host, as a daemon in a process of its own: what `fast-discovery-server`
// is, without the package that brings it. Several may serve one trial: `server`, `server-1`,
// `server-2` …
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
