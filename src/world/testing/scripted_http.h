// Web servers that answer from a script; whatever is not in it refuses the connection.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "world/http.h"

namespace muster::testing {

// Safe for threads. Looked up by "METHOD url" first, then by url. Stream hands the body over in the
// pieces given (one a millisecond apart, beginning at `sent_at` + 1 ms), or whole.
class ScriptedHttp final : public Http {
 public:
  using Answer = std::function<Result<HttpResponse>(const HttpRequest&)>;

  void On(const std::string& what, HttpResponse response);
  void On(const std::string& what, Error error);
  void On(const std::string& what, Answer answer);
  // Status 200 with this body.
  void Serves(const std::string& what, std::string body);
  void ServesPieces(const std::string& what, std::vector<std::string> pieces);

  Result<HttpResponse> Do(const HttpRequest& request) override;
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override;

  std::vector<HttpRequest> requests() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, std::vector<std::string>> pieces_;
  std::vector<HttpRequest> requests_;
};

}  // namespace muster::testing
