// Messages that robots use, from ROS 2's own packages (rmwbench/suite/workload/message_type.py has
// their layouts).
#include <sensor_msgs/msg/imu.hpp>
#include <sensor_msgs/msg/laser_scan.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#if __has_include(<nav_msgs/msg/occupancy_grid.hpp>)
#include <nav_msgs/msg/occupancy_grid.hpp>
#define RMWBENCH_HAS_NAV_MSGS
#endif
#if __has_include(<tf2_msgs/msg/tf_message.hpp>)
#include <tf2_msgs/msg/tf_message.hpp>
#define RMWBENCH_HAS_TF2_MSGS
#endif

#include "typed.hpp"

namespace rmwbench {

#ifdef RMWBENCH_HAS_TF2_MSGS
template <>
struct PieceOf<geometry_msgs::msg::TransformStamped> {
  using Type = geometry_msgs::msg::Transform;
  static Type &of(geometry_msgs::msg::TransformStamped &element) { return element.transform; }
};
static_assert(sizeof(geometry_msgs::msg::Transform) == 7 * sizeof(double),
              "a transform must be seven numbers without gaps");
#endif

namespace {

struct OrientationField {
  auto &operator()(sensor_msgs::msg::Imu &message) const { return message.orientation_covariance; }
};

void dress_message(const sensor_msgs::msg::Imu &from, sensor_msgs::msg::Imu &to, OrientationField) {
  to = from;
}

struct RangesField {
  auto &operator()(sensor_msgs::msg::LaserScan &message) const { return message.ranges; }
};

void dress_message(const sensor_msgs::msg::LaserScan &from, sensor_msgs::msg::LaserScan &to,
                   RangesField) {
  to.header = from.header;
  to.angle_min = from.angle_min;
  to.angle_max = from.angle_max;
  to.angle_increment = from.angle_increment;
  to.time_increment = from.time_increment;
  to.scan_time = from.scan_time;
  to.range_min = from.range_min;
  to.range_max = from.range_max;
}

struct DataField {
  template <class T>
  auto &operator()(T &message) const {
    return message.data;
  }
};

void dress_message(const sensor_msgs::msg::PointCloud2 &from, sensor_msgs::msg::PointCloud2 &to,
                   DataField) {
  to.header = from.header;
  to.height = from.height;
  to.width = from.width;
  to.fields = from.fields;
  to.is_bigendian = from.is_bigendian;
  to.point_step = from.point_step;
  to.row_step = from.row_step;
  to.is_dense = from.is_dense;
}

#ifdef RMWBENCH_HAS_NAV_MSGS
void dress_message(const nav_msgs::msg::OccupancyGrid &from, nav_msgs::msg::OccupancyGrid &to,
                   DataField) {
  to.header = from.header;
  to.info = from.info;
}
#endif

#ifdef RMWBENCH_HAS_TF2_MSGS
struct TransformsField {
  auto &operator()(tf2_msgs::msg::TFMessage &message) const { return message.transforms; }
};

void dress_message(const tf2_msgs::msg::TFMessage &from, tf2_msgs::msg::TFMessage &to,
                   TransformsField) {
  to = from;
}
#endif

}  // namespace

void add_sensors(Registry &registry) {
  add_type<sensor_msgs::msg::Imu, OrientationField>(registry, "sensor_msgs/msg/Imu");
  add_type<sensor_msgs::msg::LaserScan, RangesField>(registry, "sensor_msgs/msg/LaserScan");
  add_type<sensor_msgs::msg::PointCloud2, DataField>(registry, "sensor_msgs/msg/PointCloud2");
#ifdef RMWBENCH_HAS_NAV_MSGS
  add_type<nav_msgs::msg::OccupancyGrid, DataField>(registry, "nav_msgs/msg/OccupancyGrid");
#endif
#ifdef RMWBENCH_HAS_TF2_MSGS
  add_type<tf2_msgs::msg::TFMessage, TransformsField>(registry, "tf2_msgs/msg/TFMessage");
#endif
}

}  // namespace rmwbench
