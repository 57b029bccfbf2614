"""A small gloo job that goes wrong in the way $MODE names: hang, kill, mismatch, or not at all. Started by torchrun.

Nothing here waits for time to pass: the rank that hangs waits until the others have said, through the job's store, that they gave
up; they wait until its dump is written. Both waits are bounded."""
import datetime
import json
import os
import signal
import sys

import torch
import torch.distributed as dist

PATIENCE = datetime.timedelta(seconds=90)
mode = os.environ["MODE"]
if mode == "mismatch":
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
store = dist.distributed_c10d._get_default_store()
rank, world = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of world_size={world} began", flush=True)


def write_dump():
    # A gloo process group has no watchdog that dumps; the recorder is asked by hand, as an operator would.
    dump = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    dump["rank"] = rank
    print("\n" + json.dumps(dump), flush=True)
    store.set(f"dumped/{rank}", "1")
    store.wait([f"dumped/{r}" for r in range(world)], PATIENCE)


for step in range(4):
    if rank == 3 and step == 3:
        if mode == "hang":
            store.wait([f"gave up/{r}" for r in range(world) if r != rank], PATIENCE)
            write_dump()
            sys.exit(1)
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    size = 16 if mode == "mismatch" and rank == 3 and step == 2 else 8
    try:
        dist.all_reduce(torch.ones(size))
    except RuntimeError:
        if mode == "hang":
            store.set(f"gave up/{rank}", "1")
            write_dump()
        raise
    print(f"rank {rank} step {step} loss 0.5", flush=True)
print(f"rank {rank} training done", flush=True)
dist.destroy_process_group()
