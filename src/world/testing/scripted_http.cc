#include "world/testing/scripted_http.h"

namespace muster::testing {

void ScriptedHttp::On(const std::string& what, HttpResponse response) {
  On(what, [response = std::move(response)](const HttpRequest&) -> Result<HttpResponse> {
    return response;
  });
}

void ScriptedHttp::On(const std::string& what, Error error) {
  On(what, [error = std::move(error)](const HttpRequest&) -> Result<HttpResponse> {
    return Fail(Error(error));
  });
}

void ScriptedHttp::On(const std::string& what, Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_[what] = std::move(answer);
}

void ScriptedHttp::Serves(const std::string& what, std::string body) {
  HttpResponse response;
  response.status = 200;
  response.body = std::move(body);
  On(what, std::move(response));
}

void ScriptedHttp::ServesPieces(const std::string& what, std::vector<std::string> pieces) {
  std::string whole;
  for (const std::string& piece : pieces) whole += piece;
  Serves(what, std::move(whole));
  const std::lock_guard lock(mutex_);
  pieces_[what] = std::move(pieces);
}

Result<HttpResponse> ScriptedHttp::Do(const HttpRequest& request) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    auto found = answers_.find(request.method + " " + request.url);
    if (found == answers_.end()) found = answers_.find(request.url);
    if (found != answers_.end()) answer = found->second;
  }
  if (!answer) {
    return Fail(Code::kUnavailable, request.method + " " + request.url + ": connection refused");
  }
  return answer(request);
}

Result<HttpResponse> ScriptedHttp::Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                          Duration& sent_at) {
  TRY(HttpResponse response, Do(request));
  std::vector<std::string> pieces = {std::move(response.body)};
  response.body.clear();
  {
    const std::lock_guard lock(mutex_);
    auto found = pieces_.find(request.method + " " + request.url);
    if (found == pieces_.end()) found = pieces_.find(request.url);
    if (found != pieces_.end()) pieces = found->second;
  }
  sent_at = Duration::zero();
  Duration at = sent_at;
  for (const std::string& piece : pieces) {
    at += std::chrono::milliseconds(1);
    if (!on_bytes(piece, at)) break;
  }
  response.took = at;
  return response;
}

std::vector<HttpRequest> ScriptedHttp::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace muster::testing
