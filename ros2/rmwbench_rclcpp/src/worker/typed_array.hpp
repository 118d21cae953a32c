#pragma once

#include "typed.hpp"

namespace rmwbench {

struct ArrayField {
  template <class T>
  auto &operator()(T &message) const {
    return message.array;
  }
};

template <class T>
void dress_message(const T &from, T &to, ArrayField) {
  to.time = from.time;
  to.id = from.id;
}

}  // namespace rmwbench
