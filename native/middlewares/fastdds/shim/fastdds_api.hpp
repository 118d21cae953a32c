// One spelling for Fast DDS 2.x and 3.x.
//
// 3.0 renamed the library, moved `fastrtps` headers and namespaces to `fastdds`, and made return
// codes plain integers. Every difference that concerns the shim is handled here, in raw_type.hpp
// and in qos.cpp, so that the rest reads as one API.
//
// Built and tested: 2.9.1 (Debian 12) and 3.6.2; with the tests of modes and options also 2.14.6
// (Jazzy). Checked by the compiler against the headers, never run, before modes, services and
// filters: 2.5.0 (Ubuntu 22.04), 2.6.10 (Humble), 2.11.2 (Ubuntu 24.04), 3.1.2 (Debian 13).
#pragma once

#if __has_include(<fastdds/config.hpp>)
#include <fastdds/config.hpp>
#define RMWBENCH_FASTDDS_MAJOR FASTDDS_VERSION_MAJOR
#define RMWBENCH_FASTDDS_MINOR FASTDDS_VERSION_MINOR
#define RMWBENCH_FASTDDS_VERSION FASTDDS_VERSION_STR
#else
#include <fastrtps/config.h>
#define RMWBENCH_FASTDDS_MAJOR FASTRTPS_VERSION_MAJOR
#define RMWBENCH_FASTDDS_MINOR FASTRTPS_VERSION_MINOR
#define RMWBENCH_FASTDDS_VERSION FASTRTPS_VERSION_STR
#endif

#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/core/policy/QosPolicies.hpp>
#if RMWBENCH_FASTDDS_MAJOR >= 3
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>
#else
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#endif

namespace rmwbench {

namespace fd = eprosima::fastdds::dds;
namespace transports = eprosima::fastdds::rtps;  // the descriptors' namespace in both

#if RMWBENCH_FASTDDS_MAJOR >= 3
namespace rtps = eprosima::fastdds::rtps;
using ReturnCode = fd::ReturnCode_t;
constexpr ReturnCode ok = fd::RETCODE_OK;
constexpr ReturnCode timed_out = fd::RETCODE_TIMEOUT;
constexpr ReturnCode out_of_resources = fd::RETCODE_OUT_OF_RESOURCES;
constexpr ReturnCode bad_parameter = fd::RETCODE_BAD_PARAMETER;
using Duration = fd::Duration_t;
inline const Duration forever = fd::c_TimeInfinite;
inline const Duration at_once{0, 0};
inline int number(ReturnCode code) { return code; }
#else
namespace rtps = eprosima::fastrtps::rtps;
using ReturnCode = eprosima::fastrtps::types::ReturnCode_t;
constexpr auto ok = ReturnCode::RETCODE_OK;
constexpr auto timed_out = ReturnCode::RETCODE_TIMEOUT;
constexpr auto out_of_resources = ReturnCode::RETCODE_OUT_OF_RESOURCES;
constexpr auto bad_parameter = ReturnCode::RETCODE_BAD_PARAMETER;
using Duration = eprosima::fastrtps::Duration_t;
inline const Duration forever = eprosima::fastrtps::c_TimeInfinite;
inline const Duration at_once{0, 0};
inline int number(const ReturnCode &code) { return static_cast<int>(code()); }
#endif

}  // namespace rmwbench
