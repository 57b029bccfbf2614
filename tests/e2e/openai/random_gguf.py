#!/usr/bin/env python3
"""random_gguf.py FILE: a small Llama with random weights as GGUF version 3, so that llama-server has a model to serve and nothing is
downloaded. 512 tokens (three special ones, 256 bytes, 253 pieces of text), 64 wide, two layers, about 0.6 MB. The same file every time.
Format: ggml's docs/gguf.md."""
import random
import struct
import sys

VOCABULARY, WIDTH, LAYERS, HEADS, FEED = 512, 64, 2, 4, 128
ALIGNMENT = 32
U32, F32, I32, STRING, ARRAY = 4, 6, 5, 8, 9  # value types
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # token types

rng = random.Random(20260501)


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(kind, v):
    if kind == STRING:
        return text(v)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], v)


def entry(key, kind, v):
    if isinstance(v, list):
        body = struct.pack("<IQ", kind, len(v)) + b"".join(value(kind, x) for x in v)
        return text(key) + struct.pack("<I", ARRAY) + body
    return text(key) + struct.pack("<I", kind) + value(kind, v)


def vocabulary():
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    tokens += [(f"<0x{b:02X}>", BYTE) for b in range(256)]
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    pieces = ["\u2581"] + list(letters) + ["\u2581" + c for c in letters]
    pieces += [a + b for a in letters for b in letters]
    tokens += [(p, NORMAL) for p in pieces[: VOCABULARY - len(tokens)]]
    return tokens


def tensors():
    """Names and shapes, fastest dimension first."""
    yield "token_embd.weight", (WIDTH, VOCABULARY)
    for n in range(LAYERS):
        for name, shape in (
            ("attn_norm", (WIDTH,)),
            ("attn_q", (WIDTH, WIDTH)),
            ("attn_k", (WIDTH, WIDTH)),
            ("attn_v", (WIDTH, WIDTH)),
            ("attn_output", (WIDTH, WIDTH)),
            ("ffn_norm", (WIDTH,)),
            ("ffn_gate", (WIDTH, FEED)),
            ("ffn_up", (WIDTH, FEED)),
            ("ffn_down", (FEED, WIDTH)),
        ):
            yield f"blk.{n}.{name}.weight", shape
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (WIDTH, VOCABULARY)


def weights(name, shape):
    count = 1
    for d in shape:
        count *= d
    if "norm" in name:
        return struct.pack(f"<{count}f", *([1.0] * count))
    return struct.pack(f"<{count}f", *(rng.gauss(0, 0.05) for _ in range(count)))


def main():
    tokens = vocabulary()
    entries = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "random"),
        entry("llama.context_length", U32, 2048),
        entry("llama.embedding_length", U32, WIDTH),
        entry("llama.block_count", U32, LAYERS),
        entry("llama.feed_forward_length", U32, FEED),
        entry("llama.vocab_size", U32, VOCABULARY),
        entry("llama.rope.dimension_count", U32, WIDTH // HEADS),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.head_count_kv", U32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.tokens", STRING, [t for t, _ in tokens]),
        entry("tokenizer.ggml.scores", F32, [-float(i) for i in range(len(tokens))]),
        entry("tokenizer.ggml.token_type", I32, [kind for _, kind in tokens]),
        entry("tokenizer.ggml.unknown_token_id", U32, 0),
        entry("tokenizer.ggml.bos_token_id", U32, 1),
        entry("tokenizer.ggml.eos_token_id", U32, 2),
        entry("tokenizer.chat_template", STRING, "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"),
    ]
    infos, data = b"", b""
    layout = list(tensors())
    for name, shape in layout:
        infos += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += weights(name, shape)
        data += b"\0" * (-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(layout), len(entries)) + b"".join(entries) + infos
    head += b"\0" * (-len(head) % ALIGNMENT)
    with open(sys.argv[1], "wb") as f:
        f.write(head + data)


main()
