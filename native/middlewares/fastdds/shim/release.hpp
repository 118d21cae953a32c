// The release date of each version (the dates of the tagged commits of eProsima/Fast-DDS, up to
// August 2026), because reports flag comparisons of old with new versions; and the date until which
// eProsima supports each series (RELEASE_SUPPORT.md of the same repository at that time), because a
// report does not use the middleware's bare name for a version that is no longer supported.
#pragma once

#include <cstddef>
#include <cstring>

namespace rmwbench {

struct Release {
  const char *version;
  const char *date;
};

constexpr Release releases[] = {
    {"2.5.0", "2021-12-23"},  {"2.5.1", "2022-02-28"},  {"2.5.2", "2022-07-20"},
    {"2.6.0", "2022-03-17"},  {"2.6.1", "2022-06-09"},  {"2.6.2", "2022-07-27"},
    {"2.6.3", "2022-12-01"},  {"2.6.4", "2023-01-17"},  {"2.6.5", "2023-06-15"},
    {"2.6.6", "2023-08-04"},  {"2.6.7", "2024-01-17"},  {"2.6.8", "2024-04-25"},
    {"2.6.9", "2024-07-04"},  {"2.6.10", "2025-04-23"}, {"2.6.11", "2025-12-17"},
    {"2.6.12", "2026-07-22"}, {"2.7.0", "2022-07-04"},  {"2.7.1", "2022-07-28"},
    {"2.7.2", "2023-02-10"},  {"2.8.0", "2022-09-29"},  {"2.8.1", "2022-11-15"},
    {"2.8.2", "2023-04-18"},  {"2.9.0", "2022-12-13"},  {"2.9.1", "2023-01-19"},
    {"2.9.2", "2023-07-18"},  {"2.10.0", "2023-03-29"}, {"2.10.1", "2023-04-04"},
    {"2.10.2", "2023-08-18"}, {"2.10.3", "2024-01-25"}, {"2.10.4", "2024-05-22"},
    {"2.10.5", "2024-10-02"}, {"2.10.6", "2024-11-13"}, {"2.10.7", "2025-06-02"},
    {"2.11.0", "2023-07-06"}, {"2.11.1", "2023-07-18"}, {"2.11.2", "2023-08-11"},
    {"2.11.3", "2024-02-19"}, {"2.12.0", "2023-09-29"}, {"2.12.1", "2023-11-17"},
    {"2.12.2", "2024-03-22"}, {"2.13.0", "2023-12-19"}, {"2.13.1", "2024-01-12"},
    {"2.13.2", "2024-02-15"}, {"2.13.3", "2024-02-23"}, {"2.13.4", "2024-04-04"},
    {"2.13.5", "2024-06-06"}, {"2.13.6", "2024-07-12"}, {"2.14.0", "2024-03-20"},
    {"2.14.1", "2024-05-13"}, {"2.14.2", "2024-06-21"}, {"2.14.3", "2024-07-11"},
    {"2.14.4", "2024-12-02"}, {"2.14.5", "2025-08-01"}, {"2.14.6", "2026-02-12"},
    {"3.0.0", "2024-08-26"},  {"3.0.1", "2024-09-13"},  {"3.0.2", "2025-02-20"},
    {"3.1.0", "2024-10-11"},  {"3.1.1", "2024-12-18"},  {"3.1.2", "2025-02-11"},
    {"3.1.3", "2025-06-09"},  {"3.2.0", "2025-03-24"},  {"3.2.1", "2025-04-07"},
    {"3.2.2", "2025-04-28"},  {"3.2.3", "2025-10-29"},  {"3.2.4", "2026-03-12"},
    {"3.2.5", "2026-07-21"},  {"3.3.0", "2025-07-10"},  {"3.3.1", "2026-01-29"},
    {"3.4.0", "2025-10-13"},  {"3.4.1", "2025-11-14"},  {"3.4.2", "2026-01-29"},
    {"3.4.3", "2026-06-16"},  {"3.5.0", "2026-02-26"},  {"3.6.0", "2026-03-30"},
    {"3.6.1", "2026-04-21"},  {"3.6.2", "2026-07-01"},
};

// The month in the column "EOL Date", by series; eProsima may still extend future ones.
constexpr Release ends_of_life[] = {
    {"2.5", "2022-06"},  {"2.6", "2027-05"},  {"2.7", "2023-01"},  {"2.8", "2023-03"},
    {"2.9", "2023-07"},  {"2.10", "2025-06"}, {"2.11", "2024-01"}, {"2.12", "2024-03"},
    {"2.13", "2024-07"}, {"2.14", "2029-05"}, {"3.0", "2025-02"},  {"3.1", "2025-06"},
    {"3.2", "2026-12"},  {"3.3", "2026-01"},  {"3.4", "2026-06"},  {"3.5", "2026-04"},
    {"3.6", "2027-03"},
};

// The table's entry for the release or series that `version` is or belongs to; empty if there is
// none. Some tags have a fourth number (3.6.2.0), which names the same release.
template <size_t count>
const char *dated(const Release (&table)[count], const char *version) {
  for (const Release &release : table) {
    const size_t length = std::strlen(release.version);
    if (std::strncmp(release.version, version, length) == 0 &&
        (version[length] == '\0' || version[length] == '.'))
      return release.date;
  }
  return "";
}

inline const char *release_date(const char *version) { return dated(releases, version); }
inline const char *end_of_life(const char *version) { return dated(ends_of_life, version); }

}  // namespace rmwbench
