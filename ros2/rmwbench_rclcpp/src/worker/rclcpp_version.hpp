// RCLCPP_VERSION_GTE: whether this rclcpp is of that version or newer; false if its version is not
// defined.
#pragma once

#if __has_include(<rclcpp/version.h>)
#include <rclcpp/version.h>
#endif
#ifndef RCLCPP_VERSION_GTE
#define RCLCPP_VERSION_GTE(major, minor, patch) 0
#endif
