"""A small gloo job that goes wrong in the way $MODE names: hang, kill, mismatch, or not at all. Started by torchrun."""
import datetime
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

mode = os.environ["MODE"]
if mode == "mismatch":
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
rank = dist.get_rank()
print(f"rank {rank} of world_size={dist.get_world_size()} began", flush=True)
for step in range(4):
    if rank == 3 and step == 3:
        if mode == "hang":
            time.sleep(25)
            break
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    size = 16 if mode == "mismatch" and rank == 3 and step == 2 else 8
    try:
        dist.all_reduce(torch.ones(size))
    except RuntimeError as error:
        # A gloo process group has no watchdog that dumps; the recorder is asked by hand, as an operator would.
        dump = json.loads(torch._C._distributed_c10d._dump_fr_trace_json()) if mode == "hang" else None
        if dump is not None:
            dump["rank"] = rank
            print("\n" + json.dumps(dump), flush=True)
        raise error
    print(f"rank {rank} step {step} loss 0.5", flush=True)
if mode == "hang" and rank == 3:
    dump = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    dump["rank"] = rank
    print("\n" + json.dumps(dump), flush=True)
    sys.exit(1)
print(f"rank {rank} training done", flush=True)
dist.destroy_process_group()
