#include "kube/curl_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <mutex>
#include <sys/epoll.h>
#include <unistd.h>
#include <unordered_map>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"

namespace muster::kube {

namespace {

// Transfers have deadlines inside libcurl, on its own clock; ours must be the same one.
Duration CurlNow() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

struct EasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyFree>;
using HeaderLines = std::unique_ptr<curl_slist, ListFree>;

struct Lane;

struct CurlTransfer : std::enable_shared_from_this<CurlTransfer> {
  uint64_t id = 0;
  Exchange exchange;
  ExchangeEvents events;
  std::shared_ptr<const TlsIdentity> tls;  // libcurl borrows the PEM texts
  Lane* lane = nullptr;
  Easy easy;
  HeaderLines headers, connect_to;
  std::string url;
  std::array<char, CURL_ERROR_SIZE> detail{};
  // What came and was not handed over yet.
  ResponseHead head;
  std::string inbox;
  bool head_complete = false, head_given = false, ended = false, dirty = false, gone = false;
  CURLcode code = CURLE_OK;
};

// One multi handle. Its transfers go over one connection where the server speaks HTTP/2.
struct Lane {
  CURLM* multi = nullptr;
  uint32_t index = 0;
  int epoll = -1;
  std::vector<std::shared_ptr<CurlTransfer>>* dirty = nullptr;  // of the loop: has news
  int limit = 0;                                                // transfers at once
  int in_flight = 0;
  Duration deadline = Duration::max();
  std::deque<uint64_t> waiting;
};

void MarkDirty(CurlTransfer& transfer) {
  if (!transfer.dirty) transfer.lane->dirty->push_back(transfer.shared_from_this());
  transfer.dirty = true;
}

void AddLine(HeaderLines& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return;
  static_cast<void>(list.release());
  list.reset(longer);
}

void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

// "https://host:port" -> host, with brackets.
std::string HostOf(const std::string& server) {
  const size_t begin = server.find("://");
  std::string rest = begin == std::string::npos ? server : server.substr(begin + 3);
  if (rest.starts_with('[')) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find_first_of(":/"));
}

Error ErrorOf(const CurlTransfer& transfer) {
  const char* said =
      transfer.detail[0] != '\0' ? transfer.detail.data() : curl_easy_strerror(transfer.code);
  Error error{Code::kUnavailable, Shorten(Printable(said), 300), {}};
  error.retryable = true;
  switch (transfer.code) {
    case CURLE_OPERATION_TIMEDOUT:
      error.code = Code::kTimeout;
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
      error.code = Code::kPermission;
      error.retryable = false;
      error.message +=
          "; the server's certificate is not signed by the certificate-authority of this context";
      break;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      error.code = Code::kPermission;
      error.retryable = false;
      error.message += "; the client certificate, its key or the CA is no readable PEM";
      break;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      error.code = Code::kParse;
      error.retryable = false;
      break;
    default:
      break;
  }
  return error;
}

}  // namespace

class CurlTransport::Loop {
 public:
  explicit Loop(const CurlOptions& options)
      : options_(options), tls_(std::make_shared<TlsIdentity>(options.tls)) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll_ >= 0, "an epoll instance is a file descriptor and some memory");
    loopback_ = [](const std::string& host) {
      return host == "localhost" || host.starts_with("127.") || host == "[::1]";
    }(ToLower(HostOf(options.server)));
    const bool tls = options.server.starts_with("https://");
    lanes_.resize(static_cast<size_t>(std::max(1, options.connections)) + 1);
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      lane.index = i;
      lane.epoll = epoll_;
      lane.dirty = &dirty_;
      // Without TLS there is no HTTP/2: each transfer takes a connection.
      lane.limit = i == 0 ? 1000 : tls ? options.streams : std::min(options.streams, 16);
      lane.multi = curl_multi_init();
      curl_multi_setopt(lane.multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
      curl_multi_setopt(lane.multi, CURLMOPT_SOCKETFUNCTION, OnSocket);
      curl_multi_setopt(lane.multi, CURLMOPT_SOCKETDATA, &lane);
      curl_multi_setopt(lane.multi, CURLMOPT_TIMERFUNCTION, OnTimer);
      curl_multi_setopt(lane.multi, CURLMOPT_TIMERDATA, &lane);
    }
  }

  ~Loop() {
    for (auto& [id, transfer] : transfers_) {
      if (transfer->easy != nullptr) {
        curl_multi_remove_handle(transfer->lane->multi, transfer->easy.get());
      }
    }
    dirty_.clear();
    transfers_.clear();
    idle_.clear();
    for (Lane& lane : lanes_) curl_multi_cleanup(lane.multi);
    close(epoll_);
  }

  uint64_t Start(Exchange exchange, ExchangeEvents events) {
    auto transfer = std::make_shared<CurlTransfer>();
    transfer->id = ++last_id_;
    transfer->exchange = std::move(exchange);
    transfer->events = std::move(events);
    transfer->lane = &Choose(transfer->exchange.long_lived);
    Lane& lane = *transfer->lane;
    const uint64_t id = transfer->id;
    transfers_.emplace(id, std::move(transfer));
    lane.waiting.push_back(id);
    Fill(lane);
    return id;
  }

  void Cancel(uint64_t id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    Lane& lane = *found->second->lane;
    const std::shared_ptr<CurlTransfer> transfer = std::move(found->second);
    transfers_.erase(found);
    transfer->gone = true;
    if (transfer->easy == nullptr) return;  // Fill passes over its id
    Detach(*transfer);
    // A stream cut short leaves state in the handle that only libcurl knows: it is not used again.
    Fill(lane);
  }

  void Poll(Duration timeout) {
    if (dirty_.empty()) Wait(timeout);
    Deliver();
  }

  void UseTls(const TlsIdentity& tls) { tls_ = std::make_shared<TlsIdentity>(tls); }
  size_t open() const { return transfers_.size(); }

 private:
  Lane& Choose(bool long_lived) {
    if (long_lived) return lanes_[0];
    Lane* best = &lanes_[1];
    const auto load = [](const Lane& lane) {
      return static_cast<size_t>(lane.in_flight) + lane.waiting.size();
    };
    for (size_t i = 2; i < lanes_.size(); ++i) {
      if (load(lanes_[i]) < load(*best)) best = &lanes_[i];
    }
    return *best;
  }

  void Fill(Lane& lane) {
    while (lane.in_flight < lane.limit && !lane.waiting.empty()) {
      const auto found = transfers_.find(lane.waiting.front());
      lane.waiting.pop_front();
      if (found == transfers_.end()) continue;
      CurlTransfer& transfer = *found->second;
      Prepare(transfer);
      ++lane.in_flight;
      if (curl_multi_add_handle(lane.multi, transfer.easy.get()) != CURLM_OK) {
        transfer.code = CURLE_FAILED_INIT;
        transfer.ended = true;
        MarkDirty(transfer);
      }
    }
  }

  void Prepare(CurlTransfer& transfer) {
    if (idle_.empty()) {
      transfer.easy.reset(curl_easy_init());
    } else {
      transfer.easy = std::move(idle_.back());
      idle_.pop_back();
    }
    CURL* easy = transfer.easy.get();
    CHECK(easy != nullptr, "libcurl gives no handle only when memory is out");
    transfer.tls = tls_;
    SetTarget(transfer);
    SetBody(transfer);
    AddLine(transfer.headers, "Expect:");
    for (const auto& [name, value] : transfer.exchange.headers) {
      AddLine(transfer.headers, name + ": " + value);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.detail.data());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  }

  void SetTarget(CurlTransfer& transfer) {
    CURL* easy = transfer.easy.get();
    const TlsIdentity& tls = *transfer.tls;
    transfer.url = options_.server + transfer.exchange.path;
    if (!tls.server_name.empty()) {
      // The name goes into the URL, the address stays what it was.
      const size_t at = options_.server.find(HostOf(options_.server));
      std::string named = options_.server;
      named.replace(at, HostOf(options_.server).size(), tls.server_name);
      transfer.url = named + transfer.exchange.path;
      AddLine(transfer.connect_to, fmt::format("::{}:", HostOf(options_.server)));
      curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
    }
    curl_easy_setopt(easy, CURLOPT_URL, transfer.url.c_str());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(transfer.exchange.timeout).count();
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<int64_t>(0, ms)));
    if (!options_.proxy.empty()) {
      curl_easy_setopt(easy, CURLOPT_PROXY, options_.proxy.c_str());
      curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
      // Plain http too goes through a tunnel: the proxy is not to read it.
      curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    } else if (loopback_) {
      curl_easy_setopt(easy, CURLOPT_PROXY, "");
    }
    // Not for watches: libcurl 7.88 breaks off a long gzip stream ("failed writing received data").
    if (options_.compress && !transfer.exchange.long_lived) {
      curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    SetBlob(easy, CURLOPT_CAINFO_BLOB, tls.ca_pem);
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, tls.cert_pem);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, tls.key_pem);
    if (tls.skip_verify) {
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
  }

  static void SetBody(CurlTransfer& transfer) {
    CURL* easy = transfer.easy.get();
    const Exchange& exchange = transfer.exchange;
    if (!exchange.body.empty() || exchange.method == "POST" || exchange.method == "PUT" ||
        exchange.method == "PATCH") {
      curl_easy_setopt(easy, CURLOPT_POST, 1L);
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange.body.data());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(exchange.body.size()));
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
  }

  void Wait(Duration timeout) {
    Duration until = CurlNow() + std::max(timeout, Duration::zero());
    for (const Lane& lane : lanes_) until = std::min(until, lane.deadline);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - CurlNow()).count();
    std::array<epoll_event, 64> ready;
    const int count = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()),
                                 static_cast<int>(std::clamp<int64_t>(left, 0, 60000)));
    int running = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<size_t>(i)];
      Lane& lane = lanes_[event.data.u64 >> 32];
      int mask = 0;
      if ((event.events & (EPOLLIN | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
      if ((event.events & EPOLLERR) != 0) mask |= CURL_CSELECT_ERR;
      curl_multi_socket_action(lane.multi, static_cast<curl_socket_t>(event.data.u64 & 0xFFFFFFFF),
                               mask, &running);
    }
    const Duration now = CurlNow();
    for (Lane& lane : lanes_) {
      if (lane.deadline <= now) {
        lane.deadline = Duration::max();
        curl_multi_socket_action(lane.multi, CURL_SOCKET_TIMEOUT, 0, &running);
        // libcurl's clock may say that it is not quite time yet; it does not call back for a time
        // that it has named before.
        long again_ms = -1;
        curl_multi_timeout(lane.multi, &again_ms);
        if (again_ms >= 0) {
          lane.deadline = std::min(lane.deadline,
                                   CurlNow() + std::chrono::milliseconds(std::max(1L, again_ms)));
        }
      }
      Reap(lane);
    }
  }

  void Reap(Lane& lane) {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(lane.multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CurlTransfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      transfer->code = message->data.result;
      transfer->ended = true;
      MarkDirty(*transfer);
    }
  }

  // Callbacks may start and cancel anything, this transfer too.
  void Deliver() {
    std::vector<std::shared_ptr<CurlTransfer>> news;
    news.swap(dirty_);
    for (const std::shared_ptr<CurlTransfer>& transfer : news) {
      transfer->dirty = false;
      if (!transfer->gone && transfer->head_complete && !transfer->head_given) {
        transfer->head_given = true;
        if (transfer->events.head) transfer->events.head(transfer->head);
      }
      if (!transfer->gone && !transfer->inbox.empty()) {
        std::string bytes;
        bytes.swap(transfer->inbox);
        if (transfer->events.body) transfer->events.body(bytes);
      }
      if (!transfer->gone && transfer->ended) End(*transfer);
    }
  }

  void End(CurlTransfer& transfer) {
    Lane& lane = *transfer.lane;
    transfers_.erase(transfer.id);
    transfer.gone = true;
    Detach(transfer);
    if (idle_.size() < 256 && transfer.code == CURLE_OK) {
      curl_easy_reset(transfer.easy.get());
      idle_.push_back(std::move(transfer.easy));
    }
    Fill(lane);
    if (!transfer.events.end) return;
    transfer.events.end(transfer.code == CURLE_OK ? Status() : Fail(ErrorOf(transfer)));
  }

  void Detach(CurlTransfer& transfer) {
    curl_multi_remove_handle(transfer.lane->multi, transfer.easy.get());
    --transfer.lane->in_flight;
  }

  static size_t OnBody(char* data, size_t, size_t size, void* user) {
    auto& transfer = *static_cast<CurlTransfer*>(user);
    transfer.head_complete = true;
    transfer.inbox.append(data, size);
    MarkDirty(transfer);
    return size;
  }

  static size_t OnHeader(char* data, size_t, size_t size, void* user) {
    auto& transfer = *static_cast<CurlTransfer*>(user);
    const std::string_view line = Trim({data, size});
    if (line.starts_with("HTTP/")) {  // an interim answer came before: only the last one counts
      transfer.head = {};
      const auto words = SplitBlank(line);
      if (words.size() > 1) {
        transfer.head.status = static_cast<int>(ParseInt(words[1]).value_or(0));
      }
      return size;
    }
    if (line.empty()) {
      if (transfer.head.status >= 200) {
        transfer.head_complete = true;
        MarkDirty(transfer);
      }
      return size;
    }
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      transfer.head.headers[ToLower(Trim(line.substr(0, colon)))] = Trim(line.substr(colon + 1));
    }
    return size;
  }

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* user, void*) {
    auto& lane = *static_cast<Lane*>(user);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(lane.epoll, EPOLL_CTL_DEL, fd, nullptr);
      return 0;
    }
    epoll_event event{};
    if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
    if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
    event.data.u64 = static_cast<uint64_t>(lane.index) << 32 | static_cast<uint32_t>(fd);
    // The kernel forgets a closed socket by itself, and its number comes again.
    if (epoll_ctl(lane.epoll, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT) {
      epoll_ctl(lane.epoll, EPOLL_CTL_ADD, fd, &event);
    }
    return 0;
  }

  static int OnTimer(CURLM*, long timeout_ms, void* user) {
    auto& lane = *static_cast<Lane*>(user);
    lane.deadline =
        timeout_ms < 0 ? Duration::max() : CurlNow() + std::chrono::milliseconds(timeout_ms);
    return 0;
  }

  const CurlOptions options_;
  std::shared_ptr<const TlsIdentity> tls_;
  bool loopback_ = false;
  int epoll_ = -1;
  std::vector<Lane> lanes_;  // 0 is for watches
  std::unordered_map<uint64_t, std::shared_ptr<CurlTransfer>> transfers_;
  std::vector<std::shared_ptr<CurlTransfer>> dirty_;
  std::vector<Easy> idle_;
  uint64_t last_id_ = 0;
};

CurlTransport::CurlTransport(const CurlOptions& options) : loop_(std::make_unique<Loop>(options)) {}
CurlTransport::~CurlTransport() = default;
uint64_t CurlTransport::Start(Exchange exchange, ExchangeEvents events) {
  return loop_->Start(std::move(exchange), std::move(events));
}
void CurlTransport::Cancel(uint64_t id) { loop_->Cancel(id); }
void CurlTransport::Poll(Duration timeout) { loop_->Poll(timeout); }
void CurlTransport::UseTls(const TlsIdentity& tls) { loop_->UseTls(tls); }
size_t CurlTransport::open() const { return loop_->open(); }

}  // namespace muster::kube
