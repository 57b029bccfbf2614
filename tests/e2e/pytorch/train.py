#!/usr/bin/env python3
"""A small data-parallel job in PyTorch (gloo, CPU) that speaks the JSON lines of src/measure/training/rank_report.h.

torchrun gives it its identity. Arguments: OUT STEPS. Each rank writes OUT/rankN.log, the checkpoint goes to OUT/checkpoint by
torch.distributed.checkpoint, and rank 0 seals it with a manifest of SHA-256 digests, last. KILL_RANK and KILL_STEP in the
environment make one rank die in the middle.
"""
import hashlib
import json
import os
import signal
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.nn.parallel import DistributedDataParallel

OUT, STEPS = sys.argv[1], int(sys.argv[2])
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
VOCABULARY, WINDOW, WIDTH, HIDDEN, BATCH = 96, 16, 16, 256, 512
TEXT = "A gang starts together or it does not start. Each rank has a number, and the number is its name. " * 40

log = open(os.path.join(OUT, f"rank{RANK}.log"), "w", buffering=1)


def say(event, **fields):
    for key, value in fields.items():
        if isinstance(value, float) and value != value:
            fields[key] = "nan"
    # rank_report.h knows its lines by how they begin.
    log.write(json.dumps({"event": event, **fields}, separators=(",", ":")) + "\n")


def measured_peak():
    """FLOP/s of this rank while all ranks multiply matrices."""
    a = torch.rand(256, 256)
    dist.barrier()
    began, flops = time.monotonic(), 0
    while time.monotonic() - began < 0.5:
        torch.mm(a, a)
        flops += 2 * 256**3
    return flops / (time.monotonic() - began)


def save(model, folder):
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder)
    # Which rank writes which tensors is DCP's choice; a rank without any has an empty shard of its own.
    mine = f"__{RANK}_0.distcp"
    path = os.path.join(folder, mine)
    if not os.path.exists(path):
        open(path, "w").close()
    data = open(path, "rb").read()
    shard = {"file": mine, "rank": RANK, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    say("checkpoint", folder=folder, file=mine, bytes=len(data), sha256=shard["sha256"], written=True)
    shards = [None] * WORLD
    dist.all_gather_object(shards, shard)
    if RANK == 0:
        with open(os.path.join(folder, "manifest.tmp"), "w") as f:
            json.dump({"format": "dcp-sealed-1", "step": STEPS, "shards": shards}, f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(os.path.join(folder, "manifest.tmp"), os.path.join(folder, "manifest.json"))
        say("manifest", folder=folder, written=True)


def main():
    say("start", rank=RANK, world=WORLD, local_rank=int(os.environ["LOCAL_RANK"]), node=os.environ.get("NODE", ""), unix_s=time.time())
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(
        torch.nn.Sequential(
            torch.nn.Embedding(VOCABULARY, WIDTH),
            torch.nn.Flatten(),
            torch.nn.Linear(WINDOW * WIDTH, HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, VOCABULARY),
        )
    )
    flops_per_token = 6.0 * (WINDOW * WIDTH * HIDDEN + HIDDEN * VOCABULARY)
    say("config", flops_per_token=flops_per_token, parameters=sum(p.numel() for p in model.parameters()), tokens_per_step=BATCH, dtype="fp32", smoke=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    text = torch.tensor([ord(c) - 32 for c in TEXT])
    random = torch.Generator().manual_seed(1000 + RANK)
    peak = measured_peak()
    times = []
    for step in range(1, STEPS + 1):
        began, cpu = time.monotonic(), time.thread_time()
        at = torch.randint(0, len(text) - WINDOW - 1, (BATCH,), generator=random)
        window = text[at[:, None] + torch.arange(WINDOW)]
        if RANK == int(os.environ.get("KILL_RANK", -1)) and step == int(os.environ.get("KILL_STEP", 0)):
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(window), text[at + WINDOW])
        local = loss.item()
        compute = time.thread_time() - cpu
        loss.backward()
        optimizer.step()
        shared = torch.tensor([local])
        dist.all_reduce(shared)
        times.append(time.monotonic() - began)
        say("step", step=step, loss=shared.item() / WORLD, local_loss=local, step_time_s=times[-1], compute_time_s=max(compute, 1e-9), tokens=BATCH)
    folder = os.path.join(OUT, "checkpoint")
    os.makedirs(folder, exist_ok=True)
    dist.barrier()
    save(model.module, folder)
    peak = max(peak, measured_peak())
    step_time = statistics.median(times[10:] or times)
    say("end", steps=STEPS, peak_flops=peak, mfu=BATCH / step_time * flops_per_token / peak, step_time_s=step_time)
    dist.barrier()
    dist.destroy_process_group()


main()
