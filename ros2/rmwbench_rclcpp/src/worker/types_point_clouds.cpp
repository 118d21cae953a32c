#include <rmwbench_msgs/msg/point_cloud1m.hpp>
#include <rmwbench_msgs/msg/point_cloud2m.hpp>
#include <rmwbench_msgs/msg/point_cloud4m.hpp>
#include <rmwbench_msgs/msg/point_cloud512k.hpp>
#include <rmwbench_msgs/msg/point_cloud8m.hpp>

#include "typed.hpp"

namespace rmwbench {
namespace {

struct CloudField {
  template <class T>
  auto &operator()(T &message) const {
    return message.data;
  }
};

template <class T>
void dress_message(const T &from, T &to, CloudField) {
  to.header = from.header;
  to.height = from.height;
  to.width = from.width;
  to.fields = from.fields;
  to.is_bigendian = from.is_bigendian;
  to.point_step = from.point_step;
  to.row_step = from.row_step;
  to.is_dense = from.is_dense;
  to.time = from.time;
  to.id = from.id;
}

}  // namespace

void add_point_clouds(Registry &registry) {
  using namespace rmwbench_msgs::msg;
  add_type<PointCloud512k, CloudField>(registry, "rmwbench_msgs/msg/PointCloud512k");
  add_type<PointCloud1m, CloudField>(registry, "rmwbench_msgs/msg/PointCloud1m");
  add_type<PointCloud2m, CloudField>(registry, "rmwbench_msgs/msg/PointCloud2m");
  add_type<PointCloud4m, CloudField>(registry, "rmwbench_msgs/msg/PointCloud4m");
  add_type<PointCloud8m, CloudField>(registry, "rmwbench_msgs/msg/PointCloud8m");
}

}  // namespace rmwbench
