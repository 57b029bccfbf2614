#include "world/stream_whole.h"

namespace muster {

Result<HttpResponse> StreamWhole(Http& http, Clock& clock, const HttpRequest& request,
                                 const Http::OnBytes& on_bytes, Duration& sent_at) {
  sent_at = clock.Monotonic();
  TRY(HttpResponse response, http.Do(request));
  on_bytes(response.body, clock.Monotonic());
  response.body.clear();
  return response;
}

}  // namespace muster
