"""Tensor-parallel decoding: columns and rows of the weights split over ranks, two all_reduces a layer, the logits all-gathered; one
step captured in a graph and replayed token after token, as servers of language models do."""
import torch
import torch.distributed as dist
import torch.nn.functional as functional

TOKENS, BLOCKS, TIMED = 24, 7, 8  # tokens decoded and checked; blocks of TIMED further ones
# Logits of bfloat16 through some layers against those of one process: what is split is rounded at other places. A sum that misses a
# rank is off by more than half.
BOUND = 0.05


class Shape:
    def __init__(self, gpu, world):
        self.width, self.layers, self.heads, self.vocabulary = (2048, 8, 16, 8192) if gpu else (64, 2, 4, 256)
        self.heads = -(-self.heads // world) * world  # a whole number a rank
        self.head = self.width // 16 if gpu else 16
        self.vocabulary = -(-self.vocabulary // world) * world
        self.batch, self.places = (8, 128) if gpu else (2, 64)
        self.middle = 4 * self.width // world * world


def weights_of(shape, device):
    """All of them, the same on every rank."""
    generator = torch.Generator(device).manual_seed(30)

    def random(*size):
        return (torch.randn(*size, generator=generator, device=device) * size[0]**-0.5).to(torch.bfloat16)
    inner = shape.heads * shape.head
    layers = [{"qkv": random(shape.width, 3, inner), "out": random(inner, shape.width), "up": random(shape.width, shape.middle),
               "down": random(shape.middle, shape.width)} for _ in range(shape.layers)]
    return layers, random(shape.vocabulary, shape.width), random(shape.width, shape.vocabulary)


def own_part(tensor, dim, env):
    return tensor.chunk(env.world, dim)[env.rank].contiguous()


class Decoder:
    """split: over the ranks of env; otherwise all of it here, without communication."""

    def __init__(self, env, shape, weights, split):
        self.env, self.shape, self.split = env, shape, split
        ranks = env.world if split else 1
        layers, self.embedding, head = weights
        self.layers, self.head = layers, head
        if split:
            self.head = own_part(head, 1, env)
            self.layers = [{"qkv": own_part(layer["qkv"], 2, env), "out": own_part(layer["out"], 0, env),
                            "up": own_part(layer["up"], 1, env), "down": own_part(layer["down"], 0, env)} for layer in layers]
        bf16 = {"dtype": torch.bfloat16, "device": env.device}
        self.heads = shape.heads // ranks
        self.cache = [torch.zeros(2, shape.batch, self.heads, shape.places, shape.head, **bf16) for _ in layers]
        self.parts = torch.zeros(ranks, shape.batch, shape.vocabulary // ranks, **bf16)
        self.logits = torch.zeros(shape.batch, shape.vocabulary, **bf16)
        self.token = torch.zeros(shape.batch, dtype=torch.int64, device=env.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=env.device)
        self.places = torch.arange(shape.places, device=env.device)
        self.restart()

    def restart(self):
        self.token.copy_(torch.arange(self.shape.batch) * 17 % self.shape.vocabulary)
        self.place.zero_()
        for cache in self.cache:
            cache.zero_()

    def add_up(self, x):
        if self.split:
            dist.all_reduce(x)
        return x

    def attention(self, x, layer, cache):
        shape = self.shape
        parts = torch.einsum("bw,wti->tbi", functional.layer_norm(x, x.shape[-1:]), layer["qkv"])
        parts = parts.view(3, shape.batch, self.heads, 1, shape.head)
        cache.index_copy_(3, self.place, parts[1:])
        scores = (parts[0] @ cache[0].transpose(-1, -2)) * shape.head**-0.5
        scores = scores.masked_fill(self.places > self.place, float("-inf"))
        mixed = torch.softmax(scores.float(), -1).to(x.dtype) @ cache[1]
        return self.add_up(mixed.reshape(shape.batch, -1) @ layer["out"])

    def step(self):
        """One token: reads `token` and `place`, leaves `logits`, and the next token and place."""
        x = self.embedding[self.token]
        for layer, cache in zip(self.layers, self.cache):
            x = x + self.attention(x, layer, cache)
            x = x + self.add_up(functional.gelu(functional.layer_norm(x, x.shape[-1:]) @ layer["up"]) @ layer["down"])
        own = functional.layer_norm(x, x.shape[-1:]) @ self.head
        if self.split:
            dist.all_gather_into_tensor(self.parts.view(-1), own.view(-1))
        else:
            self.parts[0].copy_(own)
        self.logits.copy_(self.parts.transpose(0, 1).reshape(self.shape.batch, -1))
        self.token.copy_(self.logits.argmax(-1))
        self.place.add_(1)
        self.place.remainder_(self.shape.places)


def decode(decoder, step, tokens=None):
    """Logits and tokens of TOKENS steps from the start; `tokens` are taken in place of the decoder's own choice."""
    decoder.restart()
    logits, chosen = [], []
    for number in range(TOKENS):
        if tokens is not None and number > 0:
            decoder.token.copy_(tokens[number - 1])
        step()
        logits.append(decoder.logits.clone())
        chosen.append(decoder.token.clone())
    return torch.stack(logits), torch.stack(chosen)


def run(env):
    shape = Shape(env.is_gpu, env.world)
    weights = weights_of(shape, env.device)
    split = Decoder(env, shape, weights, split=True)
    split.step()  # cuBLAS and the library make what they need before a capture
    replay = env.dev.capture(split.step)
    logits, tokens = decode(split, replay)
    eager, _ = decode(split, split.step, tokens)
    whole = Decoder(env, shape, weights, split=False)
    single, _ = decode(whole, whole.step, tokens)
    for number in range(TOKENS):
        env.near("token %d, graph beside eager" % number, logits[number], eager[number], BOUND)
        env.near("token %d, graph beside one process" % number, logits[number], single[number], BOUND)
    env.values["graph and eager"] = "same bits" if torch.equal(logits, eager) else "rounded otherwise"
    fingerprints = env.gather(tokens.cpu().tolist())
    env.holds(all(one == fingerprints[0] for one in fingerprints), "the ranks chose different tokens")
    env.must_agree("norm of the logits", [float(logits.double().norm())], BOUND)
    for _ in env.blocks(BLOCKS):
        for label, step in (("token, graph", replay), ("token, eager", split.step)):
            step()
            env.record_time(label, env.dev.wall_microseconds(step, TIMED), tokens=shape.batch)
