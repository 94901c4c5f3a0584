"""A small transformer, and batches of tokens that differ between ranks."""
import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch import nn


class Shape:
    def __init__(self, gpu):
        self.width, self.layers, self.heads, self.vocabulary = (1024, 4, 16, 8192) if gpu else (64, 2, 4, 256)
        self.length, self.batch = (512, 8) if gpu else (16, 2)

    def tokens(self):
        return self.length * self.batch


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        with sdpa_kernel(SDPBackend.MATH):  # others may sum in any order: no two runs would be alike
            mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.before_mlp(x))))


class Transformer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.last = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def make(shape, device, dtype):
    """The same on every rank and side."""
    torch.manual_seed(20)
    with torch.device(device):
        return Transformer(shape).to(dtype)


def batch_of(shape, rank, step, device):
    """Two batches a rank in turn, so that there is something to learn."""
    generator = torch.Generator().manual_seed(1000 * rank + step % 2)
    tokens = torch.randint(shape.vocabulary, (shape.batch, shape.length + 1), generator=generator)
    return tokens[:, :-1].to(device), tokens[:, 1:].to(device)


def loss_of(model, batch):
    tokens, following = batch
    logits = model(tokens)
    return functional.cross_entropy(logits.flatten(0, 1).float(), following.flatten())
