// An Event as Muster writes it: about one object, with a reason of one word and a message for a
// person.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/request.h"

namespace muster::kube {

struct Saying {
  Resource about;
  std::string ns, name, uid;  // of the object that it is about
  std::string reason, message;
  bool warning = true;
};

// Its name ends in `suffix`: a random one, or one made of what is said, so that the same is not
// said twice (the server answers 409). What is in no namespace is spoken of in "default".
Request CreateEvent(const Saying& saying, std::string_view suffix, TimePoint now);

}  // namespace muster::kube
