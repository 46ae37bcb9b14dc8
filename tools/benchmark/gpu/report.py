"""Prints the rows that `table` measured as Markdown."""

import statistics

import rows
import runs

BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def version(number, thousands):
    """NVIDIA's version numbers as text: `9.19.0` from 91900."""
    if not isinstance(number, int):
        return str(number)
    major, rest = divmod(number, thousands)
    return f"{major}.{rest // 100}.{rest % 100}"


class Measured:
    """The measurements of a row over all rounds."""

    def __init__(self, record):
        self.row = rows.BY_NAME[record["row"]]
        self.beside = record["beside"]
        self.ours = record["ours"]
        self.peers = record.get("peer", [])
        self.failed = record.get("peer_failed")
        self.seconds = [each for run in self.ours for each in run["seconds"]]
        first = self.ours[0]
        self.step = statistics.median(self.seconds)
        self.speed = first["tokens"] / self.step / self.row.gpus
        self.flops = self.speed * first["flops_per_token"]
        self.is_fp8 = first["peak_flops"] > runs.PEAK
        self.taken = max(run["taken"] for run in self.ours)
        self.predicted = first["predicted"]
        self.start = max(run["start_seconds"] for run in self.ours)
        self.host = statistics.median(run["host_share"] for run in self.ours)

    def peer_speed(self):
        return statistics.median(run["tokens_per_second"] for run in self.peers)

    def mfu(self):
        share = f"{self.flops / runs.PEAK:.1%}"
        if self.is_fp8:
            share += f" ({self.flops / runs.PEAK_FP8:.1%})"
        return share

    def goal(self, others):
        """The goal of a row, and the reached share of it."""
        if self.row.goal:
            return f"{self.row.goal:,}", f"{self.speed / self.row.goal:.1%}"
        if not self.row.base:
            return "", ""
        wanted = f"{self.row.share:.0%} of {self.row.base}"
        if self.row.base not in others:
            return wanted, "not measured"
        share = self.flops / others[self.row.base].flops
        return wanted, f"{share:.1%} of it"


def speeds(measured):
    yield ("| work | GPUs | tok/s/GPU | TFLOP/s | MFU | peer tok/s/GPU | "
           "ratio | others | to reach | reached |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for each in measured.values():
        peer, ratio = "", ""
        if each.peers:
            peer = f"{each.peer_speed():,.0f}"
            ratio = f"{each.speed / each.peer_speed():.2f}"
        elif each.failed:
            peer = "failed"
        wanted, reached = each.goal(measured)
        yield (f"| {each.row.work} | {each.row.gpus} | {each.speed:,.0f} | "
               f"{each.flops / 1e12:.0f} | {each.mfu()} | {peer} | {ratio} | "
               f"{each.row.published} | {wanted} | {reached} |")


def costs(measured):
    yield ("| recipe | step, ms | steps | start, s | host | predicted, GiB | "
           "taken, GiB | apart | peer allocates |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in measured.values():
        peer = ""
        if each.peers:
            peer = f"{max(p['allocated'] for p in each.peers) / runs.GIB:.1f}"
        yield (f"| {each.row.recipe} | {each.step * 1e3:.1f} | "
               f"{len(each.seconds)} | {each.start:.1f} | {each.host:.2%} | "
               f"{each.predicted / runs.GIB:.2f} | "
               f"{each.taken / runs.GIB:.2f} | "
               f"{each.taken / each.predicted - 1:+.2%} | {peer} |")


def mean_of(sides, field, unit):
    seen = [side[field] for side in sides if field in side]
    return f"{statistics.mean(seen):,.0f} {unit}" if seen else ""


def powers(measured):
    yield "| recipe | how | ours | | peer | |"
    yield "|---|---|---|---|---|---|"
    for each in measured.values():
        how = "side by side" if each.beside else "in turn"
        yield (f"| {each.row.recipe} | {how if each.peers else ''} | "
               f"{mean_of(each.ours, 'mhz', 'MHz')} | "
               f"{mean_of(each.ours, 'watts', 'W')} | "
               f"{mean_of(each.peers, 'mhz', 'MHz')} | "
               f"{mean_of(each.peers, 'watts', 'W')} |")


def raw(measured):
    """The commands of each run, and their output."""
    for each in measured.values():
        for run in each.ours:
            yield f"$ {run['compiled']}"
            yield f"$ {run['command']}"
            yield "step_seconds: " + " ".join(f"{s:.5f}"
                                              for s in run["seconds"])
            yield run["memory"]
        for run in each.peers:
            yield f"$ {run['command']}"
            yield run["line"]
        if each.failed:
            yield f"the peer failed: {each.failed}"


def head(facts, measured):
    ours, peer = facts["ours"], facts["peer"]
    yield (f"{facts['gpus']} {facts['gpu']} ({facts['memory_mib']:,} MiB), "
           f"power limit {facts['power_limit_w']:.0f} W, at most "
           f"{facts['largest_mhz']:,} MHz; driver {facts['driver']}.")
    yield (f"Ours: cuBLASLt {version(ours['cuBLASLt'], 10000)}, cuDNN "
           f"{version(ours['cuDNN'], 10000)}, NCCL "
           f"{version(ours['NCCL'], 10000)}.")
    if peer and any(each.peers for each in measured.values()):
        yield (f"Peer: PyTorch {peer['torch']}, transformers "
               f"{peer['transformers']}, CUDA {peer['CUDA']}, cuDNN "
               f"{version(peer['cuDNN'], 10000)}, NCCL {peer['NCCL']}.")
    yield ""
    for call in facts["calls"]:
        yield f"    {call}"


def markdown(records, facts):
    found = {row.recipe: Measured(records[row.recipe]) for row in rows.ROWS
             if row.recipe in records}
    warmup = max(record["warmup"] for record in records.values())
    lines = [
        *head(facts, found), "", *speeds(found), "",
        "MFU: " + " ".join(runs.__doc__.split("\n\n")[1].split())
        .removeprefix("MFU is ") +
        " Of fp8 that against 989 comes first, then that against 1,979. "
        f"The median of the steps counts, without the first {warmup} of each "
        "round.", "",
        "Start is from exec of `mpirun` to the end of the first step, the "
        "longer one of the rounds; host is the part of a step for which the "
        "host's processor computes; memory is what the device has taken at the "
        "peak, of the rank that takes most.", "",
        *costs(found), "",
        "Means over the steps that count:", "", *powers(found), "",
        "The raw output:", "", "```", *raw(found), "```"]
    return "\n".join(lines)


def put_into(path, text):
    """Replaces the text between the two marker lines of a file."""
    whole = path.read_text()
    if whole.count(BEGIN) != 1 or whole.count(END) != 1:
        raise SystemExit(f"error: {path} has not one line `{BEGIN}` and one "
                         f"`{END}` behind it")
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
