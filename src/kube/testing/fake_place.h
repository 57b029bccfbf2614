// A client with everything that it borrows, over the API server in memory: what the tests of this
// room begin with.
#pragma once

#include "kube/client.h"
#include "kube/testing/fake_api.h"
#include "world/random.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::kube::testing {

struct FakePlace {
  explicit FakePlace(uint64_t seed = 1, AuthConfig auth = {})
      : api(clock, seed),
        random(seed),
        config(MakeConfig(std::move(auth))),
        credentials(config, clock, files, processes),
        client(config, api, credentials, clock, random) {}

  static ClusterConfig MakeConfig(AuthConfig auth) {
    ClusterConfig config;
    config.server = "https://fake:6443";
    config.source = "a test";
    config.auth = std::move(auth);
    return config;
  }
  // Polls until `done`, at most `polls` times.
  template <typename Done>
  bool Until(Done done, int polls = 20000) {
    for (int i = 0; i < polls; ++i) {
      if (done()) return true;
      client.Poll(std::chrono::seconds(1));
    }
    return done();
  }
  void Run(int polls) {
    for (int i = 0; i < polls; ++i) client.Poll(std::chrono::milliseconds(20));
  }

  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files;
  muster::testing::ScriptedProcesses processes;
  FakeApi api;
  SeededRandom random;
  ClusterConfig config;
  Credentials credentials;
  Client client;
};

}  // namespace muster::kube::testing
