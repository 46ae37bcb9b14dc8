"""The hidden state of a small Llama behind its last norm, in plain Python.

It reads the model's folder alone, and computes in double precision.
"""

import json
import math
import struct


def read_tensors(path):
    """The tensors of a safetensors file of BF16, as lists of rows."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "BF16", entry
        begin, end = entry["data_offsets"]
        words = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
        values = [struct.unpack("<f", struct.pack("<I", word << 16))[0]
                  for word in words]
        width = entry["shape"][-1]
        tensors[name] = [values[i:i + width]
                         for i in range(0, len(values), width)]
    return tensors


def poison(path, token):
    """Makes the logits behind a token infinite, and behind no other.

    The first channel of the residual stream is 1 for the token and 0 for all
    others; the last norm and the matmul to the vocabulary multiply it until it
    overflows. A loader refuses weights that are not finite themselves.
    """
    zero, one, huge = b"\0\0", b"\x80\x3f", b"\0\x7f"  # BF16
    with open(path, "r+b") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))

        def write(name, row, channel, value):
            entry = header[name]
            at = row * entry["shape"][-1] + channel
            file.seek(8 + size + entry["data_offsets"][0] + 2 * at)
            file.write(value)

        for row in range(header["lm_head.weight"]["shape"][0]):
            write("model.embed_tokens.weight", row, 0,
                  one if row == token else zero)
            write("lm_head.weight", row, 0, huge)
        write("model.norm.weight", 0, 0, huge)
        for name in ("self_attn.o_proj", "mlp.down_proj"):
            weight = f"model.layers.0.{name}.weight"
            for channel in range(header[weight]["shape"][1]):
                write(weight, 0, channel, zero)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def product(matrix, vector):
    return [dot(row, vector) for row in matrix]


def add(a, b):
    return [x + y for x, y in zip(a, b)]


class TinyLlama:
    def __init__(self, folder):
        with open(f"{folder}/config.json") as file:
            self.config = json.load(file)
        self.tensors = read_tensors(f"{folder}/model.safetensors")

    def norm(self, x, name):
        scale = 1 / math.sqrt(dot(x, x) / len(x) + self.config["rms_norm_eps"])
        return [value * scale * weight
                for value, weight in zip(x, self.tensors[name][0])]

    def rotate(self, head, position):
        """Rotary positions: channel i is paired with i + half."""
        half = len(head) // 2
        turned = list(head)
        for i in range(half):
            angle = position * self.config["rope_theta"] ** (-i / half)
            a, b = head[i], head[i + half]
            turned[i] = a * math.cos(angle) - b * math.sin(angle)
            turned[i + half] = b * math.cos(angle) + a * math.sin(angle)
        return turned

    def heads(self, x, name, position=None):
        width = self.config["head_dim"]
        flat = product(self.tensors[name], x)
        heads = [flat[i:i + width] for i in range(0, len(flat), width)]
        return heads if position is None else [
            self.rotate(head, position) for head in heads]

    def attention(self, normed, layer):
        at = f"model.layers.{layer}.self_attn."
        count = len(normed)
        query = [self.heads(x, at + "q_proj.weight", i)
                 for i, x in enumerate(normed)]
        key = [self.heads(x, at + "k_proj.weight", i)
               for i, x in enumerate(normed)]
        value = [self.heads(x, at + "v_proj.weight") for x in normed]
        group = len(query[0]) // len(key[0])
        results = []
        for i in range(count):
            joined = []
            for head, q in enumerate(query[i]):
                scores = [dot(q, key[j][head // group]) / math.sqrt(len(q))
                          for j in range(i + 1)]
                weights = [math.exp(each - max(scores)) for each in scores]
                joined += [sum(weight * value[j][head // group][channel]
                               for j, weight in enumerate(weights)) /
                           sum(weights) for channel in range(len(q))]
            results.append(product(self.tensors[at + "o_proj.weight"], joined))
        return results

    def mlp(self, x, layer):
        at = f"model.layers.{layer}.mlp."
        gate = product(self.tensors[at + "gate_proj.weight"], x)
        up = product(self.tensors[at + "up_proj.weight"], x)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
        return product(self.tensors[at + "down_proj.weight"], inner)

    def embedding(self, ids):
        """Of the last token, divided by its length."""
        x = [self.tensors["model.embed_tokens.weight"][each] for each in ids]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            normed = [self.norm(each, at + "input_layernorm.weight")
                      for each in x]
            x = [add(a, b) for a, b in zip(x, self.attention(normed, layer))]
            x = [add(each, self.mlp(self.norm(
                each, at + "post_attention_layernorm.weight"), layer))
                 for each in x]
        last = self.norm(x[-1], "model.norm.weight")
        length = math.sqrt(dot(last, last))
        return [each / length for each in last]
