// The release date of each version of an RMW, because reports flag comparisons of old with new
// versions. The dates are those of the changelogs in ROS 2's release repositories
// (ros2-gbp/RMW-release, August 2026), for the versions in distributions from Humble on. A version
// that is not here has no date, and gets none from another version.
#pragma once

#include <string>

namespace rmwbench {

struct RmwRelease {
  const char *rmw;
  const char *version;
  const char *date;
};

constexpr RmwRelease rmw_releases[] = {
    {"rmw_cyclonedds_cpp", "1.3.3", "2022-04-06"}, {"rmw_cyclonedds_cpp", "1.3.4", "2022-11-07"},
    {"rmw_cyclonedds_cpp", "1.3.5", "2026-08-21"}, {"rmw_cyclonedds_cpp", "1.6.0", "2023-04-12"},
    {"rmw_cyclonedds_cpp", "2.2.0", "2024-04-09"}, {"rmw_cyclonedds_cpp", "2.2.1", "2024-05-13"},
    {"rmw_cyclonedds_cpp", "2.2.2", "2024-07-12"}, {"rmw_cyclonedds_cpp", "2.2.3", "2025-03-12"},
    {"rmw_cyclonedds_cpp", "2.2.4", "2026-08-21"}, {"rmw_cyclonedds_cpp", "4.0.2", "2025-04-18"},
    {"rmw_cyclonedds_cpp", "4.0.3", "2026-08-21"}, {"rmw_cyclonedds_cpp", "4.1.4", "2026-04-14"},
    {"rmw_cyclonedds_cpp", "4.1.5", "2026-08-21"}, {"rmw_cyclonedds_cpp", "4.2.1", "2026-08-21"},
    {"rmw_fastrtps_cpp", "6.2.1", "2022-03-28"},   {"rmw_fastrtps_cpp", "6.2.2", "2022-11-07"},
    {"rmw_fastrtps_cpp", "6.2.3", "2023-07-18"},   {"rmw_fastrtps_cpp", "6.2.4", "2023-09-19"},
    {"rmw_fastrtps_cpp", "6.2.5", "2023-11-13"},   {"rmw_fastrtps_cpp", "6.2.6", "2024-01-24"},
    {"rmw_fastrtps_cpp", "6.2.7", "2024-07-26"},   {"rmw_fastrtps_cpp", "6.2.8", "2025-07-16"},
    {"rmw_fastrtps_cpp", "6.2.9", "2025-09-24"},   {"rmw_fastrtps_cpp", "6.2.10", "2026-02-16"},
    {"rmw_fastrtps_cpp", "7.1.1", "2023-04-12"},   {"rmw_fastrtps_cpp", "7.1.2", "2023-11-17"},
    {"rmw_fastrtps_cpp", "7.1.3", "2024-02-07"},   {"rmw_fastrtps_cpp", "7.1.4", "2024-07-11"},
    {"rmw_fastrtps_cpp", "8.4.0", "2024-04-09"},   {"rmw_fastrtps_cpp", "8.4.1", "2024-06-27"},
    {"rmw_fastrtps_cpp", "8.4.2", "2025-03-12"},   {"rmw_fastrtps_cpp", "8.4.3", "2025-08-14"},
    {"rmw_fastrtps_cpp", "9.3.2", "2025-04-18"},   {"rmw_fastrtps_cpp", "9.3.3", "2025-09-24"},
    {"rmw_fastrtps_cpp", "9.3.4", "2026-04-09"},   {"rmw_fastrtps_cpp", "9.4.7", "2026-04-14"},
    {"rmw_zenoh_cpp", "0.1.0", "2025-01-02"},      {"rmw_zenoh_cpp", "0.1.1", "2025-02-04"},
    {"rmw_zenoh_cpp", "0.1.2", "2025-06-19"},      {"rmw_zenoh_cpp", "0.1.4", "2025-07-11"},
    {"rmw_zenoh_cpp", "0.1.5", "2025-08-21"},      {"rmw_zenoh_cpp", "0.1.6", "2025-09-10"},
    {"rmw_zenoh_cpp", "0.1.7", "2025-10-05"},      {"rmw_zenoh_cpp", "0.1.8", "2025-11-12"},
    {"rmw_zenoh_cpp", "0.1.9", "2026-07-22"},      {"rmw_zenoh_cpp", "0.2.0", "2025-01-02"},
    {"rmw_zenoh_cpp", "0.2.1", "2025-02-04"},      {"rmw_zenoh_cpp", "0.2.2", "2025-02-19"},
    {"rmw_zenoh_cpp", "0.2.3", "2025-03-20"},      {"rmw_zenoh_cpp", "0.2.4", "2025-04-20"},
    {"rmw_zenoh_cpp", "0.2.5", "2025-06-18"},      {"rmw_zenoh_cpp", "0.2.6", "2025-08-21"},
    {"rmw_zenoh_cpp", "0.2.7", "2025-09-10"},      {"rmw_zenoh_cpp", "0.2.8", "2025-10-05"},
    {"rmw_zenoh_cpp", "0.2.9", "2025-11-12"},      {"rmw_zenoh_cpp", "0.2.10", "2026-07-22"},
    {"rmw_zenoh_cpp", "0.6.0", "2025-04-18"},      {"rmw_zenoh_cpp", "0.6.1", "2025-05-20"},
    {"rmw_zenoh_cpp", "0.6.2", "2025-06-18"},      {"rmw_zenoh_cpp", "0.6.3", "2025-08-21"},
    {"rmw_zenoh_cpp", "0.6.4", "2025-09-10"},      {"rmw_zenoh_cpp", "0.6.5", "2025-10-04"},
    {"rmw_zenoh_cpp", "0.6.6", "2025-11-13"},      {"rmw_zenoh_cpp", "0.6.7", "2026-07-22"},
    {"rmw_zenoh_cpp", "0.10.3", "2026-04-14"},     {"rmw_zenoh_cpp", "0.10.4", "2026-04-30"},
    {"rmw_zenoh_cpp", "0.10.5", "2026-07-22"},     {"rmw_connextdds", "0.11.0", "2022-04-08"},
    {"rmw_connextdds", "0.11.1", "2022-04-26"},    {"rmw_connextdds", "0.11.2", "2023-07-18"},
    {"rmw_connextdds", "0.11.3", "2024-11-25"},    {"rmw_connextdds", "0.11.5", "2025-10-21"},
    {"rmw_connextdds", "0.11.6", "2026-02-16"},    {"rmw_connextdds", "0.14.0", "2023-04-12"},
    {"rmw_connextdds", "0.14.1", "2023-05-11"},    {"rmw_connextdds", "0.22.0", "2024-04-09"},
    {"rmw_connextdds", "0.22.1", "2025-03-12"},    {"rmw_connextdds", "0.22.2", "2025-10-21"},
    {"rmw_connextdds", "0.22.3", "2026-01-21"},    {"rmw_connextdds", "1.1.0", "2025-04-18"},
    {"rmw_connextdds", "1.1.1", "2025-10-20"},     {"rmw_connextdds", "1.2.4", "2025-11-18"},
    {"rmw_connextdds", "1.2.5", "2026-04-14"},     {"rmw_connextdds", "1.2.6", "2026-04-30"},
    {"rmw_connextdds", "1.2.7", "2026-05-12"},
};

// The date; empty if it is not known.
inline const char *release_date(const std::string &rmw, const std::string &version) {
  // Both variants of rmw_fastrtps are in one repository and are released together.
  const std::string name = rmw == "rmw_fastrtps_dynamic_cpp" ? "rmw_fastrtps_cpp" : rmw;
  for (const RmwRelease &release : rmw_releases) {
    if (name == release.rmw && version == release.version) return release.date;
  }
  return "";
}

}  // namespace rmwbench
