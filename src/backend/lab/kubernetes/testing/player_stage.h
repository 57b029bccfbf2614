// A player over the API server in memory: what the tests of played kubelets begin with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/lab/kubernetes/player.h"
#include "kube/testing/fake_place.h"

namespace muster::lab {

struct PlayerStage {
  kube::testing::FakePlace place;
  std::vector<std::string> notes;
  std::unique_ptr<Player> player;

  void Begin(PlayerOptions options) {
    auto made = Player::Make(place.client, place.processes, std::move(options),
                             [this](const std::string& note) { notes.push_back(note); });
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    player = std::move(*made);
    player->Start();
    ASSERT_TRUE(place.Until([&] { return player->ready(); }));
  }
  // Looks while the player goes on; time goes by.
  template <typename Done>
  bool Becomes(Done done, int polls) {
    return place.Until(
        [&] {
          player->Tick();
          return done();
        },
        polls);
  }
};

}  // namespace muster::lab
