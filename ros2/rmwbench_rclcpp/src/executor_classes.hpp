// Which of the executors that only some distributions have are in this rclcpp.
#pragma once

#if __has_include(<rclcpp/experimental/executors/events_executor/events_executor.hpp>)
#define RMWBENCH_HAS_EVENTS_EXECUTOR 1
#else
#define RMWBENCH_HAS_EVENTS_EXECUTOR 0
#endif
#if __has_include(<rclcpp/executors/events_cbg_executor/events_cbg_executor.hpp>)
#define RMWBENCH_HAS_EVENTS_CBG_EXECUTOR 1
#else
#define RMWBENCH_HAS_EVENTS_CBG_EXECUTOR 0
#endif
#if __has_include(<rclcpp/executors/static_single_threaded_executor.hpp>)
#define RMWBENCH_HAS_STATIC_EXECUTOR 1
#else
#define RMWBENCH_HAS_STATIC_EXECUTOR 0
#endif
