// The host backend against a real sshd: run.sh has started it and written an ssh_config with the
// hosts "host-a" and "host-b" (both this machine), "host-dead" (nobody listens), "host-refused" (a
// key it does not know) and "host-strange" (a host key we do not know).
//   driver run FOLDER           every check; PASS, FAIL and SKIP lines
//   driver gang FOLDER NAME     a gang that would run for ever; run.sh and `run` kill it
#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <numeric>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "backend/host/host_jobs.h"
#include "backend/host/host_site.h"
#include "base/strings.h"
#include "world/posix/posix_world.h"

namespace muster::host {
namespace {

int failures = 0;
std::string why;  // of the check that runs

void Expect(bool condition, const std::string& what) {
  if (!condition && why.empty()) why = what;
}
#define EXPECT(condition, ...)                                                       \
  do {                                                                               \
    if (!(condition)) {                                                              \
      Expect(false, fmt::format("line {}: {}", __LINE__, fmt::format(__VA_ARGS__))); \
      return;                                                                        \
    }                                                                                \
  } while (false)

void Check(std::string_view name, const std::function<void()>& check) {
  why.clear();
  check();
  if (why.empty()) {
    fmt::print("PASS sshd_{}\n", name);
  } else {
    fmt::print("FAIL sshd_{}: {}\n", name, Printable(why));
    ++failures;
  }
  std::fflush(stdout);
}

template <typename T>
std::string Say(const Result<T>& result) {
  return result.ok()
             ? "no error"
             : std::string(ToString(result.error().code)) + ": " + result.error().ToString();
}

Site SiteOf(const std::string& folder, const std::vector<std::string>& names) {
  Site site;
  site.kind = SiteKind::kHost;
  for (const std::string& name : names) {
    Node node;
    node.name = name;
    node.family = GpuFamily::kNone;
    site.cluster.nodes.push_back(node);
  }
  site.ssh = {{"config", folder + "/ssh_config"}, {"connect_timeout", "5"}};
  return site;
}

HostJobsOptions JobsOptions(const std::string& folder) {
  HostJobsOptions options;
  options.failure_grace = std::chrono::milliseconds(200);
  options.site.runtime_parent = folder;
  return options;
}

GangSpec GangOf(std::string name, std::string script) {
  GangSpec spec;
  spec.name = std::move(name);
  spec.nodes = {"host-a", "host-b"};
  spec.ranks_per_node = 2;
  spec.gpus_per_rank = 0;
  spec.argv = {"/bin/sh", "-c", std::move(script)};
  spec.timeout = std::chrono::seconds(60);
  return spec;
}

// A zombie has ended too.
bool Runs(int64_t pid) {
  const auto stat = PosixFiles().Read(fmt::format("/proc/{}/stat", pid));
  return stat.ok() && !Contains(*stat, ") Z ");
}

class Driver {
 public:
  Driver(std::string folder, std::string self)
      : folder_(std::move(folder)),
        self_(std::move(self)),
        hosts_(std::make_unique<HostSite>(
            SiteOf(folder_, {"host-a", "host-b", "host-dead", "host-refused", "host-strange"}),
            folder_, world_.ports(), HostSiteOptions{folder_})) {}

  int Run() {
    Commands();
    Endings();
    Troubles();
    FilesOfAHost();
    HttpFromAHost();
    ManyAtOnce();
    Gangs();
    KilledCaller();
    Check("connections_and_their_folder_are_gone_at_the_end", [this] {
      hosts_.reset();
      const auto list = world_.ports().files.List(folder_);
      for (const FileInfo& info : *list) {
        EXPECT(!StartsWith(info.name, "muster-ssh."), "{} is still there", info.name);
      }
    });
    return failures == 0 ? 0 : 1;
  }

 private:
  World On(std::string_view host) { return hosts_->At(host)->world; }

  void Commands() {
    Check("arguments_survive_two_shells", [this] {
      const std::vector<std::string> words = {"a b",   "it's",  "\"q\"",     "$(touch /tmp/x)",
                                              "`id`",  "$HOME", "new\nline", "\\",
                                              "\\n",   "*",     "~",         "!!",
                                              "#",     "",      "-n",        "--",
                                              ";",     "&&",    "|",         "\xff\xfe",
                                              "{a,b}", "%s"};
      Command command{{"printf", "%s\\0"}};
      command.argv.insert(command.argv.end(), words.begin(), words.end());
      const auto result = On("host-a").processes.Run(command);
      EXPECT(result.ok(), "{}", Say(result));
      std::string expected;
      for (const std::string& word : words) expected += word + '\0';
      EXPECT(result->out == expected, "got {}", result->out);
    });
    Check("streams_stay_apart_and_bytes_stay_bytes", [this] {
      std::string all(256, '\0');
      std::iota(all.begin(), all.end(), '\0');
      Command command{{"sh", "-c", "cat; printf 'only err' >&2"}};
      command.stdin_text = all;
      const auto result = On("host-a").processes.Run(command);
      EXPECT(result.ok(), "{}", Say(result));
      EXPECT(result->out == all, "stdout differs");
      EXPECT(result->err == "only err", "stderr is {}", result->err);
    });
    Check("environment_and_folder_arrive", [this] {
      Command command{{"sh", "-c", "printf '%s|' \"$ONE\" \"$TWO\"; pwd"}};
      command.env = {{"ONE", "a 'b' $c"}, {"TWO", "x\ny"}};
      command.folder = "/usr";
      const auto result = On("host-b").processes.Run(command);
      EXPECT(result.ok(), "{}", Say(result));
      EXPECT(result->out == "a 'b' $c|x\ny|/usr\n", "got {}", result->out);
    });
  }

  void Endings() {
    Check("exit_codes_are_the_programs_own", [this] {
      for (const int code : {0, 1, 7, 124, 127, 226, 255}) {
        const auto result =
            On("host-a").processes.Run({{"sh", "-c", fmt::format("echo e >&2; exit {}", code)}});
        EXPECT(result.ok(), "{}: {}", code, Say(result));
        EXPECT(result->exit_code == code && !result->timed_out, "{} became {}", code,
               result->exit_code);
        EXPECT(result->err == "e\n", "stderr is {}", result->err);
      }
      const auto killed = On("host-a").processes.Run({{"sh", "-c", "kill -SEGV $$"}});
      EXPECT(killed.ok() && killed->exit_code == 139, "a crash became {}",
             killed.ok() ? killed->exit_code : -1);
    });
    Check("missing_program_and_folder_are_not_found", [this] {
      EXPECT(On("host-a").processes.Run({{"no-such-program-here"}}).error().code == Code::kNotFound,
             "program");
      EXPECT(On("host-a").processes.Run({{"/etc/passwd"}}).error().code == Code::kPermission,
             "no program");
      Command command{{"true"}};
      command.folder = "/no/such";
      EXPECT(On("host-a").processes.Run(command).error().code == Code::kNotFound, "folder");
    });
    Check("timeout_ends_the_program_on_the_host", [this] {
      Command command{{"sh", "-c", "echo $$; sleep 1000 & echo $!; wait"}};
      command.timeout = std::chrono::seconds(1);
      const auto result = On("host-a").processes.Run(command);
      EXPECT(result.ok(), "{}", Say(result));
      EXPECT(result->timed_out, "not timed out, exit {}", result->exit_code);
      EXPECT(Lines(result->out).size() == 2, "printed {}", result->out);
      for (const std::string_view pid : Lines(result->out))
        EXPECT(!Runs(*ParseInt(pid)), "process {} still runs", pid);
    });
    Check("started_child_ends_with_its_handle", [this] {
      auto child = On("host-b").processes.Start({{"sh", "-c", "echo $$; exec sleep 1000"}}, "");
      EXPECT(child.ok(), "{}", Say(child));
      while (!Contains((*child)->Output(), "\n") && !(*child)->Poll()) ::usleep(10'000);
      const auto pid = ParseInt(Trim((*child)->Output()));
      EXPECT(pid.ok(), "printed {}", (*child)->Output());
      EXPECT(Runs(*pid), "it does not run");
      child->reset();
      for (int i = 0; i < 500 && Runs(*pid); ++i) ::usleep(10'000);
      EXPECT(!Runs(*pid), "process {} still runs", *pid);
    });
  }

  void Troubles() {
    Check("dead_host_is_unavailable", [this] {
      const auto result = On("host-dead").processes.Run({{"true"}});
      EXPECT(!result.ok() && result.error().code == Code::kUnavailable, "{}", Say(result));
      EXPECT(Contains(result.error().message, "refused"), "{}", result.error().message);
    });
    Check("refused_key_is_no_permission", [this] {
      const auto result = On("host-refused").processes.Run({{"true"}});
      EXPECT(!result.ok() && result.error().code == Code::kPermission, "{}", Say(result));
    });
    Check("unknown_host_key_is_not_accepted", [this] {
      const auto result = On("host-strange").processes.Run({{"true"}});
      EXPECT(!result.ok() && result.error().code == Code::kPermission, "{}", Say(result));
    });
    Check("fault_of_a_reading_names_the_reason", [this] {
      const Reading dead = ReadCommand(*hosts_->At("host-dead"), "p.q", {{"true"}});
      EXPECT(dead.fault && dead.fault->reason == UnknownReason::kUnreachable, "dead");
      const Reading refused = ReadCommand(*hosts_->At("host-refused"), "p.q", {{"true"}});
      EXPECT(refused.fault && refused.fault->reason == UnknownReason::kNotPermitted, "refused");
      const Reading missing = ReadCommand(*hosts_->At("host-a"), "p.q", {{"no-such-program-here"}});
      EXPECT(missing.fault && missing.fault->reason == UnknownReason::kToolFault, "missing");
    });
  }

  void FilesOfAHost() {
    Check("files_are_read_listed_and_looked_at", [this] {
      const std::string tree = folder_ + "/tree's $(x)";
      Files& local = world_.ports().files;
      std::string bytes(70000, '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
      EXPECT(local.MakeFolders(tree + "/sub").ok(), "local");
      EXPECT(local.WriteAtomic(tree + "/bytes", bytes).ok(), "local");
      EXPECT(local.WriteAtomic(tree + "/odd\nname", "1").ok(), "local");
      Files& files = On("host-a").files;
      const auto read = files.Read(tree + "/bytes");
      EXPECT(read.ok() && *read == bytes, "read: {}", Say(read));
      EXPECT(files.Read(tree + "/bytes", 69999).error().code == Code::kInvalid, "limit");
      EXPECT(files.Read(tree + "/bytes", 70000).ok(), "limit");
      EXPECT(files.Read(tree + "/absent").error().code == Code::kNotFound, "absent");
      EXPECT(files.Read(tree).error().code == Code::kInvalid, "folder");
      EXPECT(files.Read("/proc/self/status").ok(), "proc");
      const auto list = files.List(tree);
      EXPECT(list.ok(), "{}", Say(list));
      EXPECT(list->size() == 3 && (*list)[0].name == "bytes" && (*list)[0].size == 70000 &&
                 (*list)[1].name == "odd\nname" && (*list)[2].is_directory,
             "{} entries", list->size());
      EXPECT(files.List(tree + "/absent").error().code == Code::kNotFound, "absent");
      const auto stat = files.Stat(tree + "/bytes");
      EXPECT(stat.ok() && stat->size == 70000 &&
                 stat->modified == local.Stat(tree + "/bytes")->modified,
             "stat: {}", Say(stat));
      EXPECT(files.WriteAtomic(tree + "/bytes", "x").error().code == Code::kRefused, "writing");
    });
  }

  void HttpFromAHost() {
    if (!On("host-a").processes.Run({{"curl", "--version"}}).ok()) {
      fmt::print("SKIP sshd_http_is_asked_from_the_host: no curl\n");
      return;
    }
    Check("http_is_asked_from_the_host", [this] {
      const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
      ::listen(listener, 4);
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
      std::string heard;
      std::thread server([&] {
        const int peer = ::accept(listener, nullptr, nullptr);
        char buffer[8192];
        while (heard.find("a \"b\"\n") == std::string::npos) {
          const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
          if (got <= 0) break;
          heard.append(buffer, static_cast<size_t>(got));
        }
        const std::string answer =
            "HTTP/1.1 503 Busy\r\nX-Answer: yes\r\nContent-Length: 6\r\n\r\nbody\r\n";
        ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        ::close(peer);
      });
      HttpRequest request;
      request.method = "POST";
      request.url = fmt::format("http://127.0.0.1:{}/path?q=1", ntohs(address.sin_port));
      request.headers["X-Mine"] = "it's \"quoted\"";
      request.body = "a \"b\"\n";
      const auto response = On("host-a").http.Do(request);
      ::shutdown(listener, SHUT_RDWR);
      server.join();
      ::close(listener);
      EXPECT(response.ok(), "{}", Say(response));
      EXPECT(response->status == 503 && response->body == "body\r\n" &&
                 response->headers.at("x-answer") == "yes",
             "status {}", response->status);
      EXPECT(Contains(heard, "X-Mine: it's \"quoted\"") && Contains(heard, "POST /path?q=1"),
             "heard {}", heard);
      request.url = "http://127.0.0.1:1/";
      EXPECT(On("host-a").http.Do(request).error().code == Code::kUnavailable, "closed port");
    });
  }

  void ManyAtOnce() {
    Check("many_threads_share_the_connections", [this] {
      std::atomic<int> right = 0;
      std::mutex mutex;
      std::string wrong;
      std::vector<std::thread> threads;
      for (int t = 0; t < hosts_->Parallel(); ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < 5; ++i) {
            const std::string word = fmt::format("{}-{}", t, i);
            const auto result =
                On(t % 2 == 0 ? "host-a" : "host-b").processes.Run({{"echo", word}});
            if (result.ok() && result->out == word + "\n" && result->err.empty()) {
              ++right;
              continue;
            }
            const std::lock_guard lock(mutex);
            wrong = result.ok() ? result->out + result->err : result.error().ToString();
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT(right == hosts_->Parallel() * 5, "{} of {} right, the last wrong one: {}",
             right.load(), hosts_->Parallel() * 5, wrong);
      const std::string log = world_.ports().files.Read(folder_ + "/sshd.log").value_or("");
      size_t logins = 0;
      for (const std::string_view line : Lines(log))
        logins += Contains(line, "Accepted publickey") ? 1 : 0;
      EXPECT(logins == 2, "{} logins for two hosts", logins);
    });
  }

  std::string Name(std::string_view what) { return fmt::format("e2e-{}-{}", ::getpid(), what); }

  void Gangs() {
    HostJobs jobs(SiteOf(folder_, {"host-a", "host-b"}), world_.ports(), JobsOptions(folder_));
    const auto nothing_left = [&](const std::string& name) {
      const auto left = jobs.Leftovers(name);
      Expect(left.ok() && left->empty(), left.ok() && !left->empty() ? left->front() : Say(left));
    };
    Check("gang_of_four_ranks_starts_together_and_ends", [&] {
      const GangSpec spec = GangOf(
          Name("four"),
          "echo $RANK/$WORLD_SIZE $LOCAL_RANK $GROUP_RANK; echo said >&2; exit $((RANK * 85))");
      const auto result = jobs.RunGang(spec);
      EXPECT(result.ok(), "{}", Say(result));
      EXPECT(result->all_started && result->ranks.size() == 4, "{} ranks", result->ranks.size());
      for (int rank = 0; rank < 4; ++rank) {
        const RankResult& one = result->ranks[static_cast<size_t>(rank)];
        EXPECT(one.result.out == fmt::format("{}/4 {} {}\n", rank, rank % 2, rank / 2),
               "rank {} printed {}", rank, one.result.out);
        EXPECT(one.result.err == "said\n", "rank {} said {}", rank, one.result.err);
        EXPECT(one.result.exit_code == rank * 85, "rank {} ended with {}", rank,
               one.result.exit_code);
        EXPECT(one.started_after <= std::chrono::seconds(20), "rank {} started after {}", rank,
               FormatDuration(one.started_after));
      }
      nothing_left(spec.name);
    });
    Check("gang_with_a_failing_rank_is_ended", [&] {
      const GangSpec spec = GangOf(
          Name("failing"), "[ $RANK = 3 ] && exit 9; trap '' TERM; while :; do sleep 1000; done");
      const auto result = jobs.RunGang(spec);
      EXPECT(result.ok(), "{}", Say(result));
      EXPECT(result->ranks[3].result.exit_code == 9, "rank 3 ended with {}",
             result->ranks[3].result.exit_code);
      EXPECT(result->ranks[0].result.exit_code != 0, "rank 0 ended well");
      nothing_left(spec.name);
    });
    Check("gang_at_its_timeout_leaves_nothing", [&] {
      GangSpec spec =
          GangOf(Name("late"),
                 "trap '' TERM HUP; setsid sleep 1000 & echo half; while :; do sleep 1000; done");
      spec.timeout = std::chrono::seconds(2);
      const auto result = jobs.RunGang(spec);
      EXPECT(result.ok(), "{}", Say(result));
      for (const RankResult& rank : result->ranks) {
        EXPECT(rank.result.timed_out, "rank {} ended with {}", rank.rank, rank.result.exit_code);
        EXPECT(rank.result.out == "half\n", "rank {} printed {}", rank.rank, rank.result.out);
      }
      nothing_left(spec.name);
    });
    Check("gang_with_a_dead_node_starts_nowhere", [&] {
      HostJobs with_dead(SiteOf(folder_, {"host-a", "host-dead"}), world_.ports(),
                         JobsOptions(folder_));
      GangSpec spec = GangOf(Name("dead"), fmt::format("echo ran >> '{}/ran'", folder_));
      spec.nodes = {"host-a", "host-dead"};
      const auto result = with_dead.RunGang(spec);
      EXPECT(!result.ok() && result.error().code == Code::kRefused &&
                 Contains(result.error().message, "host-dead"),
             "{}", Say(result));
      EXPECT(!world_.ports().files.Stat(folder_ + "/ran").ok(), "a rank ran");
      nothing_left(spec.name);
      const auto left = with_dead.Leftovers(spec.name);
      EXPECT(left.ok() && left->size() == 1 && Contains(left->front(), "cannot be asked"),
             "a dead node proves nothing");
    });
  }

  void KilledCaller() {
    Check("ranks_end_when_their_muster_is_killed", [this] {
      const std::string name = Name("killed");
      const pid_t caller = ::fork();
      if (caller == 0)
        ::execl(self_.c_str(), self_.c_str(), "gang", folder_.c_str(), name.c_str(), nullptr);
      Files& files = world_.ports().files;
      std::vector<int64_t> pids;
      for (int i = 0; i < 3000 && pids.size() < 4; ++i) {
        ::usleep(10'000);
        pids.clear();
        const std::string text = files.Read(folder_ + "/" + name).value_or("");
        for (const std::string_view line : Lines(text)) pids.push_back(ParseInt(line).value_or(0));
      }
      EXPECT(pids.size() == 4, "{} ranks came up", pids.size());
      for (const int64_t pid : pids) EXPECT(Runs(pid), "rank {} does not run", pid);
      ::kill(caller, SIGKILL);
      ::waitpid(caller, nullptr, 0);
      // Their connections are gone; nobody has to tell them.
      for (const int64_t pid : pids) {
        for (int i = 0; i < 1500 && Runs(pid); ++i) ::usleep(10'000);
        EXPECT(!Runs(pid), "rank {} outlived its Muster", pid);
      }
      HostJobs jobs(SiteOf(folder_, {"host-a", "host-b"}), world_.ports(), JobsOptions(folder_));
      const auto left = jobs.Leftovers(name);
      EXPECT(left.ok() && !left->empty(), "the gang's folders should still be there");
      const Status cleaned = jobs.Clean(name);
      EXPECT(cleaned.ok(), "{}", Say(cleaned));
      const auto after = jobs.Leftovers(name);
      EXPECT(after.ok() && after->empty(), "{}", after.ok() ? after->front() : Say(after));
    });
  }

  PosixWorld world_;
  std::string folder_, self_;
  std::unique_ptr<HostSite> hosts_;
};

int Gang(const std::string& folder, const std::string& name) {
  PosixWorld world;
  HostJobsOptions options = JobsOptions(folder);
  options.site.runtime_parent = folder + "/killed";
  HostJobs jobs(SiteOf(folder, {"host-a", "host-b"}), world.ports(), options);
  const auto result =
      jobs.RunGang(GangOf(name, fmt::format("echo $$ >> '{}/{}'; sleep 1000; true", folder, name)));
  return result.ok() ? 0 : 1;
}

}  // namespace
}  // namespace muster::host

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() == 3 && args[1] == "run") return muster::host::Driver(args[2], args[0]).Run();
  if (args.size() == 4 && args[1] == "gang") return muster::host::Gang(args[2], args[3]);
  return 2;
}
