// The hidden verbs of this room as a program of their own, so that tests can start real ranks and a
// real server without the muster binary: rank_main train|serve [arguments].
#include <cstdio>
#include <string>
#include <vector>

#include "backend/lab/work/serve.h"
#include "backend/lab/work/train_rank.h"
#include "world/posix/posix_world.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  muster::PosixWorld machine;
  muster::World world = machine.ports();
  if (!args.empty() && args[0] == "train")
    return muster::lab::TrainRankMain(std::span(args).subspan(1), world);
  if (!args.empty() && args[0] == "serve")
    return muster::lab::ServeMain(std::span(args).subspan(1), world);
  std::fputs("usage: rank_main train|serve [arguments]\n", stderr);
  return 2;
}
