// Hosts for tests that act: each is a folder with stand-ins for its tools (tests/host_tools), which
// remember what was done to them; scripts are run by this machine's own sh. All of it is rehearsed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/actuator.h"
#include "backend/hosts.h"
#include "model/site.h"
#include "world/posix/posix_world.h"
#include "world/testing/captures.h"
#include "world/testing/faulty.h"
#include "world/testing/scripted_http.h"

namespace muster::host {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using muster::testing::FaultPlan;
using muster::testing::FaultyProcesses;

inline void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// One host: a folder with its tools, its state, and what Muster keeps there.
class PlayedHost final : public Processes {
 public:
  PlayedHost(const std::string& source_dir, fs::path folder, int number)
      : folder_(std::move(folder)), boots_(*this) {
    fs::create_directories(folder_ / "bin");
    const std::string standin = source_dir + "/tests/host_tools/standin.py";
    for (const char* tool :
         {"nvidia-smi", "systemctl", "modprobe", "find", "apt-get", "apt-mark", "dpkg-query"}) {
      const fs::path path = folder_ / "bin" / tool;
      WriteText(path, fmt::format("#!/bin/sh\nexec python3 {} {} \"$@\"\n", standin, tool));
      fs::permissions(path, fs::perms::owner_all);
    }
    Json gpus = Json::array();
    for (int i = 0; i < 2; ++i)
      gpus.push_back({{"index", std::to_string(i)},
                      {"bus", fmt::format("00000000:{}{}:00.0", number, i)},
                      {"uuid", fmt::format("GPU-{}{}", number, i)},
                      {"persistence", "Disabled"},
                      {"power", "700.00"},
                      {"ecc", "Disabled"},
                      {"mig", "Disabled"},
                      {"errors", "0"},
                      {"driver", "570.211.01"},
                      {"instances", Json::array()}});
    Set({{"gpus", gpus},
         {"jobs", Json::array()},
         {"units",
          {{"nvidia-dcgm", {{"state", "active"}, {"id", "aaaa0001"}}},
           {"stopped", {{"state", "inactive"}, {"id", ""}}}}},
         {"modules", {{"nvidia", 77}}},
         {"packages", {{"cuda-drivers-570", "570.100-1"}}},
         {"mirror", {{"cuda-drivers-570", {"570.100-1", "570.211.01-1"}}}}});
    WriteText(folder_ / "boot_id", "11111111-2222-3333-4444-555555555555\n");
    WriteText(folder_ / "kmsg", "");
  }

  Result<CommandResult> Run(const Command& command) override {
    if (!answers) return Fail(Code::kUnavailable, "the host cannot be reached");
    Command here = command;
    here.env["PATH"] = (folder_ / "bin").string() + ":/usr/bin:/bin";
    here.env["MUSTER_STANDIN"] = folder_.string();
    here.env["MUSTER_STATE_DIR"] = (folder_ / "state").string();
    here.env["MUSTER_KMSG"] = (folder_ / "kmsg").string();
    return posix_.Run(here);
  }
  Result<std::unique_ptr<Child>> Start(const Command&, const std::string&) override {
    return Fail(Code::kInternal, "nothing is started here");
  }
  Files& files() { return boots_; }
  fs::path Folder() const { return folder_; }
  Json State() const {
    std::ifstream in(folder_ / "state.json");
    return Json::parse(in);
  }
  void Set(const Json& state) { WriteText(folder_ / "state.json", state.dump()); }
  std::string Asked() const {
    return muster::testing::ReadWhole((folder_ / "asked").string()).value_or("");
  }

  bool answers = true;

 private:
  // Its boot id is the stand-in's.
  class Boots final : public Files {
   public:
    explicit Boots(PlayedHost& host) : host_(host) {}
    Result<std::string> Read(const std::string& path, uint64_t) override {
      if (!host_.answers) return Fail(Code::kUnavailable, "the host cannot be reached");
      if (path != "/proc/sys/kernel/random/boot_id") return Fail(Code::kNotFound, path);
      return muster::testing::ReadWhole((host_.folder_ / "boot_id").string()).value_or("");
    }
    Status WriteAtomic(const std::string& p, std::string_view) override { return No(p); }
    Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& p) override { return No(p); }
    Status Truncate(const std::string& p, uint64_t) override { return No(p); }
    Result<std::vector<FileInfo>> List(const std::string& p) override { return No(p); }
    Result<FileInfo> Stat(const std::string& p) override { return No(p); }
    Status MakeFolders(const std::string& p) override { return No(p); }
    Status Remove(const std::string& p) override { return No(p); }
    Result<std::unique_ptr<FileLock>> Lock(const std::string& p, std::string_view) override {
      return No(p);
    }

   private:
    static tl::unexpected<Error> No(const std::string& path) { return Fail(Code::kRefused, path); }
    PlayedHost& host_;
  };

  fs::path folder_;
  PosixProcesses posix_;
  Boots boots_;
};

class PlayedHosts final : public Hosts {
 public:
  // `source_dir`: MUSTER_SOURCE_DIR of the test.
  explicit PlayedHosts(const std::string& source_dir) {
    std::string name = (fs::temp_directory_path() / "muster-host.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (int i = 1; i <= 2; ++i)
      hosts_[fmt::format("n{}", i)] =
          std::make_unique<PlayedHost>(source_dir, folder_ / fmt::format("n{}", i), i);
  }
  ~PlayedHosts() override { fs::remove_all(folder_); }
  std::vector<std::string> Names() const override { return {"n1", "n2"}; }
  Result<HostPorts> At(std::string_view name) override {
    PlayedHost& host = *hosts_.at(std::string(name));
    if (plan == nullptr)
      return HostPorts{
          std::string(name), {clock_, host.files(), host, http_, random_}, Origin::kRehearsed};
    auto& faulty = faulty_[&host];
    faulty = std::make_unique<FaultyProcesses>(host, *plan);
    return HostPorts{
        std::string(name), {clock_, host.files(), *faulty, http_, random_}, Origin::kRehearsed};
  }
  Origin origin() const override { return Origin::kRehearsed; }
  int Parallel() const override { return plan == nullptr ? 2 : 1; }
  PlayedHost& Host(const std::string& name) { return *hosts_.at(name); }
  Clock& clock() { return clock_; }

  FaultPlan* plan = nullptr;

 private:
  fs::path folder_;
  PosixClock clock_;
  muster::testing::ScriptedHttp http_;
  SeededRandom random_{1};
  std::map<std::string, std::unique_ptr<PlayedHost>> hosts_;
  std::map<PlayedHost*, std::unique_ptr<FaultyProcesses>> faulty_;
};

// A site of two nodes with two GPUs each, reached without ssh unless the test says how.
inline Site TwoNodes(const std::string& first = "n1", const std::string& second = "n2") {
  Site site;
  site.kind = SiteKind::kHost;
  for (const std::string& name : {first, second}) {
    Node node;
    node.name = name;
    node.gpus = {Gpu{}, Gpu{}};
    node.gpus[1].index = 1;
    site.cluster.nodes.push_back(node);
  }
  site.packages["driver"] = {"cuda-drivers-570={value}-1"};
  return site;
}

// One act of a kind that every such host can do, for backend/testing/actuator_contract.h.
struct ContractAct {
  ActKind kind = ActKind::kObserve;
  std::map<std::string, std::string> params = {};
};
// `written` is a path on the second node that nothing else writes. The reboot is the last.
inline std::vector<ContractAct> ContractActs(const std::string& written,
                                             std::vector<ContractAct> more = {}) {
  std::vector<ContractAct> acts = {
      {ActKind::kServiceStop, {{"unit", "nvidia-dcgm"}}},
      {ActKind::kServiceStart, {{"unit", "nvidia-dcgm"}}},
      {ActKind::kServiceRestart, {{"unit", "nvidia-dcgm"}}},
      {ActKind::kModuleLoad, {{"module", "nvidia-peermem"}}},
      {ActKind::kModuleReload, {{"module", "nvidia"}}},
      {ActKind::kGpuReset},
      {ActKind::kFileWrite, {{"path", written}, {"content", "a 'b' \"c\" $d `e`\n\\"}}},
  };
  acts.insert(acts.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  acts.push_back({ActKind::kReboot});
  return acts;
}

}  // namespace muster::host
