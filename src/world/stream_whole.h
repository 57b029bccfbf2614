// The Stream of whoever has a body only whole.
#pragma once

#include "world/clock.h"
#include "world/http.h"

namespace muster {

// The body comes in one piece, at its end.
Result<HttpResponse> StreamWhole(Http& http, Clock& clock, const HttpRequest& request,
                                 const Http::OnBytes& on_bytes, Duration& sent_at);

}  // namespace muster
