#include "world/posix/curl_http.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/strings.h"
#include "world/posix/posix_clock.h"

namespace muster {

namespace {

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListFree>;

Duration Now() { return PosixClock().Monotonic(); }

struct Origin {
  std::string key;  // scheme, host and port: handles of one key have a connection to that server
  std::string host;
};

Result<Origin> OriginOf(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return Fail(Code::kInvalid, fmt::format("\"{}\" is not a URL", Shorten(url, 200)));
  }
  const auto part = [&](CURLUPart what, unsigned flags) {
    char* text = nullptr;
    std::string copy;
    if (curl_url_get(parsed.get(), what, &text, flags) == CURLUE_OK && text != nullptr) copy = text;
    curl_free(text);
    return copy;
  };
  const std::string host = ToLower(part(CURLUPART_HOST, 0));
  return Origin{
      part(CURLUPART_SCHEME, 0) + "://" + host + ":" + part(CURLUPART_PORT, CURLU_DEFAULT_PORT),
      host};
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") ||
         host == "[::1]";
}

// What the callbacks of one transfer work on.
struct Transfer {
  HttpResponse response;
  size_t max_body = 0;
  bool too_large = false;
  bool ended_by_caller = false;
  const Http::OnBytes* on_bytes = nullptr;  // null: the body is kept
  Duration sent_at{};
};

size_t OnBody(char* data, size_t, size_t size, void* user) {
  const Duration at = Now();
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.on_bytes != nullptr) {
    if ((*transfer.on_bytes)({data, size}, at)) return size;
    transfer.ended_by_caller = true;
    return 0;
  }
  if (transfer.response.body.size() + size > transfer.max_body) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(data, size);
  return size;
}

size_t OnHeader(char* data, size_t, size_t size, void* user) {
  auto& headers = static_cast<Transfer*>(user)->response.headers;
  const std::string_view line(data, size);
  // An interim answer (100 Continue) came before; only the last answer's headers count.
  if (line.starts_with("HTTP/")) headers.clear();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string& value = headers[ToLower(Trim(line.substr(0, colon)))];
  if (!value.empty()) value += ", ";
  value += Trim(line.substr(colon + 1));
  return size;
}

int OnConnected(void* user, char*, char*, int, int) {
  static_cast<Transfer*>(user)->sent_at = Now();
  return CURL_PREREQFUNC_OK;
}

HeaderList Headers(const HttpRequest& request) {
  HeaderList list;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer != nullptr) {
      static_cast<void>(list.release());
      list.reset(longer);
    }
  };
  // curl would wait a second for "100 Continue" before a large body.
  add("Expect:");
  for (const auto& [name, value] : request.headers) {
    // "Name;" is how curl is told to send a header without a value.
    add(value.empty() ? name + ";" : name + ": " + value);
  }
  return list;
}

void Prepare(CURL* curl, const HttpRequest& request, const std::string& host,
             const HeaderList& headers, Transfer& transfer) {
  const auto millis =
      std::max<int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(request.timeout).count());
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(millis));
  curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (IsLoopback(host)) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, OnConnected);
  curl_easy_setopt(curl, CURLOPT_PREREQDATA, &transfer);
}

Error CurlError(CURLcode code, const char* detail, const HttpRequest& request) {
  Code kind = Code::kUnavailable;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      kind = Code::kTimeout;
      break;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      kind = Code::kInvalid;
      break;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_BAD_CONTENT_ENCODING:
      kind = Code::kParse;
      break;
    default:
      break;
  }
  // A server that answers without a status line speaks no HTTP that we know.
  if (code == CURLE_UNSUPPORTED_PROTOCOL && Contains(detail, "HTTP/0.9")) kind = Code::kParse;
  const char* said = *detail != '\0' ? detail : curl_easy_strerror(code);
  Error error{kind, fmt::format("{} {}: {}", request.method, request.url, said), {}};
  error.retryable = kind == Code::kUnavailable || kind == Code::kTimeout;
  return error;
}

}  // namespace

class CurlHttp::Pool {
 public:
  struct EasyFree {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };
  using Handle = std::unique_ptr<CURL, EasyFree>;

  Handle Take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    std::vector<Handle>& idle = idle_[key];
    if (idle.empty()) return Handle(curl_easy_init());
    Handle handle = std::move(idle.back());
    idle.pop_back();
    return handle;
  }

  void Give(const std::string& key, Handle handle) {
    curl_easy_reset(handle.get());  // options only; its connections stay
    const std::lock_guard lock(mutex_);
    std::vector<Handle>& idle = idle_[key];
    if (idle.size() < kIdlePerOrigin && idle_.size() <= kOrigins) idle.push_back(std::move(handle));
  }

 private:
  static constexpr size_t kIdlePerOrigin = 256;
  static constexpr size_t kOrigins = 2048;
  std::mutex mutex_;
  std::map<std::string, std::vector<Handle>> idle_;
};

CurlHttp::CurlHttp(TlsTrust trust) : trust_(std::move(trust)) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  pool_ = std::make_unique<Pool>();
}
CurlHttp::~CurlHttp() = default;

Result<HttpResponse> CurlHttp::Do(const HttpRequest& request) {
  Duration sent_at{};
  return Stream(request, nullptr, sent_at);
}

Result<HttpResponse> CurlHttp::Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                      Duration& sent_at) {
  TRY(const Origin origin, OriginOf(request.url));
  Pool::Handle handle = pool_->Take(origin.key);
  if (handle == nullptr) return Fail(Code::kInternal, "libcurl gave no handle");
  const HeaderList headers = Headers(request);
  std::array<char, CURL_ERROR_SIZE> detail{};
  Transfer transfer;
  transfer.max_body = request.max_body;
  transfer.on_bytes = on_bytes ? &on_bytes : nullptr;
  Prepare(handle.get(), request, origin.host, headers, transfer);
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, detail.data());
  if (!trust_.ca_file.empty())
    curl_easy_setopt(handle.get(), CURLOPT_CAINFO, trust_.ca_file.c_str());
  if (!trust_.unverified_because.empty()) {
    curl_easy_setopt(handle.get(), CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle.get(), CURLOPT_SSL_VERIFYHOST, 0L);
  }

  const Duration started = Now();
  const CURLcode code = curl_easy_perform(handle.get());
  transfer.response.took = Now() - started;
  sent_at = transfer.sent_at;
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  pool_->Give(origin.key, std::move(handle));
  if (transfer.too_large) {
    return Fail(Code::kParse, fmt::format("{} {}: the body is larger than {} bytes", request.method,
                                          request.url, request.max_body));
  }
  if (code != CURLE_OK && !transfer.ended_by_caller) {
    return Fail(CurlError(code, detail.data(), request));
  }
  return std::move(transfer.response);
}

}  // namespace muster
