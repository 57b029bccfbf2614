// One rank of Muster's own training job: a small character-level language model, trained
// data-parallel by real processes that sum their gradients over loopback. It is what gate 7 runs in
// a lab, and on hosts whose site names no job of its own.
//
// Identity comes from the environment, as torchrun gives it: RANK, WORLD_SIZE, LOCAL_RANK,
// MASTER_ADDR, MASTER_PORT; and MUSTER_NODE (the node's name) and MUSTER_LAB (the lab's folder,
// whose faults apply; without it there are none).
//
// On stdout, one JSON object a line, then one line as TorchTitan prints it:
//   {"event":"start","rank":0,"world":8,"local_rank":0,"node":"node000","unix_s":...}
//   {"event":"config","flops_per_token":...,"parameters":...,"tokens_per_step":512,"gemm":"avx2+fma","smoke":true}
//   {"event":"step","step":1,"loss":4.56,"local_loss":4.55,"step_time_s":...,"compute_time_s":...,"tokens":512}
//   {"event":"checkpoint","folder":...,"file":...,"bytes":...,"sha256":...,"written":true}   or
//   "written":false,"error":...
//   {"event":"manifest","folder":...,"written":true}                                           rank
//   0 only
//   {"event":"error","what":...}
//   {"event":"end","steps":60,"peak_flops":...,"mfu":...,"step_time_s":...,"wall_s":...}
//   step: 60  loss:  1.9876  grad_norm:  0.1234  memory:  0.01GiB(0.05%)  tps: 12,345  tflops: 0.01
//   mfu: 61.20%
//
// compute_time_s is processor time of the forward and backward pass: ranks of a lab share cores, so
// wall time would charge a rank for its neighbours. peak_flops is FLOP/s of 256^3 matrix products
// per rank, as wall time, while every rank runs them, mean over ranks; measured before and after
// the training, the better of the two (a peak is what can be reached).
#pragma once

#include <span>
#include <string>

#include "world/world.h"

namespace muster::lab {

// Arguments, all optional: --steps N (60), --seed N (1), --batch N (512 tokens a rank and step),
// --checkpoint FOLDER (none is written without), --resume FOLDER, --rendezvous-timeout 15s. Returns
// the exit code: 0 when all steps ran and the checkpoint (if asked for) is whole; 1 otherwise, with
// the reason on stderr; 2 for arguments or an environment that cannot be meant.
int TrainRankMain(std::span<const std::string> args, World& world);

}  // namespace muster::lab
