"""Finds the ranks of a server, to stall or to kill one."""

import pathlib


def ranks_below(process):
    """The ranks that a process has started, by their number."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rpartition(")")[2]
                         .split()[1])
        except (OSError, ValueError):
            continue
        for each in environment:
            if each.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[parent, int(each.partition(b"=")[2])] = int(path.name)
    children = {process}
    for path in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        children.update(int(each) for each in path.read_text().split())
    return {rank: pid for (parent, rank), pid in found.items()
            if parent in children}
