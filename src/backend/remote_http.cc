// HTTP as a host sees it: curl, run there. For exporters that listen on the host's own loopback.
#include <fmt/format.h>

#include "backend/remote_ports.h"
#include "base/strings.h"
#include "world/stream_whole.h"

namespace muster {

namespace {

// A value in curl's configuration file (curl(1), --config).
std::string ConfigQuote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '\\':
        quoted += "\\\\";
        break;
      case '"':
        quoted += "\\\"";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      case '\t':
        quoted += "\\t";
        break;
      case '\v':
        quoted += "\\v";
        break;
      default:
        quoted += c;
    }
  }
  return quoted + "\"";
}

// On standard input and not in argv, where every user of the host could read a token.
std::string Config(const HttpRequest& request) {
  std::string config =
      fmt::format("url = {}\nrequest = {}\nmax-time = {:.3f}\n", ConfigQuote(request.url),
                  ConfigQuote(request.method), Seconds(request.timeout));
  config +=
      "silent\nshow-error\ninclude\ngloboff\nhttp1.1\nproto = \"=http,https\"\nnoproxy = "
      "\"localhost,127.0.0.1,::1\"\nheader = \"Expect:\"\n";
  if (request.method == "HEAD") config += "head\n";
  for (const auto& [name, value] : request.headers) {
    config +=
        fmt::format("header = {}\n", ConfigQuote(value.empty() ? name + ";" : name + ": " + value));
  }
  if (!request.body.empty()) config += fmt::format("data-raw = {}\n", ConfigQuote(request.body));
  return config;
}

// Splits "HTTP/1.1 200 OK\r\n...\r\n\r\nbody"; interim answers come before it.
Result<HttpResponse> Parse(std::string_view text, const std::string& url) {
  for (;;) {
    const size_t end = text.find("\r\n\r\n");
    if (!text.starts_with("HTTP/") || end == std::string_view::npos) {
      return Fail(Code::kParse, fmt::format("{}: this is no HTTP answer", url));
    }
    const std::vector<std::string_view> lines = Lines(text.substr(0, end));
    const std::vector<std::string_view> words = SplitBlank(lines[0]);
    if (words.size() < 2) return Fail(Code::kParse, fmt::format("{}: this is no HTTP answer", url));
    TRY(const int64_t status, ParseInt(words[1]));
    text.remove_prefix(end + 4);
    if (status < 200 && text.starts_with("HTTP/")) continue;
    HttpResponse response;
    response.status = static_cast<int>(status);
    for (size_t i = 1; i < lines.size(); ++i) {
      const size_t colon = lines[i].find(':');
      if (colon == std::string_view::npos) continue;
      std::string& value = response.headers[ToLower(Trim(lines[i].substr(0, colon)))];
      if (!value.empty()) value += ", ";
      value += Trim(lines[i].substr(colon + 1));
    }
    response.body = std::string(text);
    return response;
  }
}

class RemoteHttp final : public Http {
 public:
  RemoteHttp(std::string host, RunThere run, Clock& clock)
      : host_(std::move(host)), run_(std::move(run)), clock_(clock) {}

  Result<HttpResponse> Do(const HttpRequest& request) override {
    if (request.body.find('\0') != std::string::npos) {
      return Fail(Code::kInvalid, "a body with NUL cannot be sent through curl's configuration");
    }
    Command command{{"curl", "--config", "-"}};
    command.stdin_text = Config(request);
    command.timeout = request.timeout + std::chrono::seconds(5);
    command.max_output = request.max_body + (64u << 10);
    TRY(const CommandResult result, run_(command));
    if (result.timed_out || result.exit_code == 28) {
      return Fail(Code::kTimeout, fmt::format("{} {} on {}: no answer in time", request.method,
                                              request.url, host_));
    }
    if (result.exit_code != 0) {
      // 3: a malformed URL, 1: a protocol that is not HTTP (curl(1), EXIT CODES), also when the
      // answer is none.
      const bool no_http = Contains(result.err, "HTTP/0.9");
      return Fail(no_http                                          ? Code::kParse
                  : result.exit_code == 3 || result.exit_code == 1 ? Code::kInvalid
                                                                   : Code::kUnavailable,
                  fmt::format("{} {} on {}: {}", request.method, request.url, host_,
                              Shorten(Printable(Trim(result.err)), 200)));
    }
    TRY(HttpResponse response, Parse(result.out, request.url));
    if (result.truncated || response.body.size() > request.max_body) {
      return Fail(Code::kParse, fmt::format("{} {}: the body is larger than {} bytes",
                                            request.method, request.url, request.max_body));
    }
    response.took = result.took;
    return response;
  }

  // Over this road pieces have lost their times: the whole body comes at its end.
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    return StreamWhole(*this, clock_, request, on_bytes, sent_at);
  }

 private:
  const std::string host_;
  const RunThere run_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<Http> MakeRemoteHttp(std::string host, RunThere run, Clock& clock) {
  return std::make_unique<RemoteHttp>(std::move(host), std::move(run), clock);
}

}  // namespace muster
