#include <rmwbench_msgs/msg/nav_sat_fix.hpp>
#include <rmwbench_msgs/msg/radar_track.hpp>

#include "typed.hpp"

namespace rmwbench {
namespace {

struct CovarianceField {
  auto &operator()(rmwbench_msgs::msg::NavSatFix &message) const {
    return message.position_covariance;
  }
};

void dress_message(const rmwbench_msgs::msg::NavSatFix &from, rmwbench_msgs::msg::NavSatFix &to,
                   CovarianceField) {
  to = from;
}

struct ShapeField {
  auto &operator()(rmwbench_msgs::msg::RadarTrack &message) const { return message.shape; }
};

void dress_message(const rmwbench_msgs::msg::RadarTrack &from, rmwbench_msgs::msg::RadarTrack &to,
                   ShapeField) {
  to = from;
}

}  // namespace

void add_records(Registry &registry) {
  static_assert(sizeof(rmwbench_msgs::msg::RadarTrack) == 840, "the published size");
  add_type<rmwbench_msgs::msg::NavSatFix, CovarianceField>(registry, "rmwbench_msgs/msg/NavSatFix");
  add_type<rmwbench_msgs::msg::RadarTrack, ShapeField>(registry, "rmwbench_msgs/msg/RadarTrack");
}

}  // namespace rmwbench
