#!/usr/bin/env python3
"""Writes `sys` and `proc` of a host with two NUMA nodes, four GPUs and five NICs.

usage: make_machine.py DIR

GPUs 0 to 2 share a PCIe switch with a NIC each; GPU 3 and its NIC have root
ports of their own, and the GPU uses 8 of its 16 lanes. One NIC is down, one is
slower than the others, and one is no RDMA device.
"""

import os
import sys

root = sys.argv[1]
CORES = {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}


def write(path, text, mode="w"):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as file:
        file.write(text)


def link(path, target):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(os.path.relpath(os.path.join(root, target),
                               os.path.dirname(path)), path)


def mask(cores):
    return f"{sum(1 << core for core in cores):08x}\n"


def write_processors():
    everything = sum(CORES.values(), [])
    for name in ("online", "possible", "present"):
        write(f"sys/devices/system/cpu/{name}", "0-7\n")
    for node, cores in CORES.items():
        for core in cores:
            folder = f"sys/devices/system/cpu/cpu{core}/topology"
            write(f"{folder}/physical_package_id", f"{node}\n")
            write(f"{folder}/core_id", f"{core}\n")
            write(f"{folder}/core_siblings", mask(cores))
            write(f"{folder}/thread_siblings", mask([core]))
        write(f"sys/devices/system/node/node{node}/cpumap", mask(cores))
        write(f"sys/devices/system/node/node{node}/meminfo",
              f"Node {node} MemTotal: 536870912 kB\n")
    write("sys/devices/system/node/online", "0-1\n")
    write("proc/meminfo", "MemTotal: 1073741824 kB\n")
    write("proc/cpuinfo", "".join(
        f"processor\t: {core}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
        f"model\t\t: 143\nmodel name\t: test\nstepping\t: 8\n"
        f"physical id\t: {core // 4}\ncore id\t\t: {core}\n\n"
        for core in everything))


def write_pci(path, node, code, vendor="0x8086", device="0x1234", buses=None,
              speed="32.0 GT/s PCIe", width=16, used=None):
    """A PCI device; a bridge has its first and last bus below."""
    folder = f"sys/devices/{path}"
    bus_id = os.path.basename(path)
    config = bytearray(64)
    if buses:
        config[0x0e] = 1
        config[0x18] = int(bus_id[5:7], 16)
        config[0x19], config[0x1a] = buses
    write(f"{folder}/config", bytes(config), "wb")
    for name, text in (("class", code), ("vendor", vendor), ("device", device),
                       ("subsystem_vendor", vendor),
                       ("subsystem_device", "0x0001"),
                       ("numa_node", str(node)),
                       ("max_link_speed", speed), ("max_link_width", str(width)),
                       ("current_link_width", str(used or width))):
        write(f"{folder}/{name}", text + "\n")
    write(f"{folder}/local_cpus", mask(CORES[node]))
    link(f"sys/bus/pci/devices/{bus_id}", folder)
    return folder


def write_gpu(path, node, **more):
    write_pci(path, node, "0x030200", "0x10de", "0x2335", **more)


def write_rdma(path, node, name, state, gigabits, interface):
    folder = write_pci(path, node, "0x020700", "0x15b3", "0x1021")
    device = f"{folder}/infiniband/{name}"
    write(f"{device}/node_guid", f"946d:ae03:00aa:000{name[-1]}\n")
    write(f"{device}/ports/1/state", state + "\n")
    write(f"{device}/ports/1/rate", f"{gigabits} Gb/sec (4X NDR)\n")
    write(f"{device}/ports/1/link_layer", "InfiniBand\n")
    link(f"sys/class/infiniband/{name}", device)
    write(f"{folder}/net/{interface}/operstate", "up\n")
    link(f"sys/class/net/{interface}", f"{folder}/net/{interface}")


def write_switch(first, node):
    """A root port and a switch with two ports; returns the paths of these."""
    bus = f"pci0000:{first:02x}/0000:{first:02x}:01.0"
    write_pci(bus, node, "0x060400", buses=(first + 1, first + 4))
    bus += f"/0000:{first + 1:02x}:00.0"
    write_pci(bus, node, "0x060400", "0x1000", buses=(first + 2, first + 4))
    ports = []
    for port in (0, 1):
        path = f"{bus}/0000:{first + 2:02x}:{port:02x}.0"
        below = first + 3 + port
        write_pci(path, node, "0x060400", "0x1000", buses=(below, below))
        ports.append(f"{path}/0000:{below:02x}:00.0")
    return ports


def main():
    write_processors()
    for index, (first, node) in enumerate(((0x16, 0), (0x26, 0), (0x96, 1))):
        gpu, nic = write_switch(first, node)
        write_gpu(gpu, node)
        state = "1: DOWN" if index == 2 else "4: ACTIVE"
        write_rdma(nic, node, f"mlx5_{index}", state, 400, f"ib{index}")
    for port, below in ((1, 0xa7), (2, 0xa8)):
        write_pci(f"pci0000:a6/0000:a6:0{port}.0", 1, "0x060400",
                  buses=(below, below))
    write_gpu("pci0000:a6/0000:a6:01.0/0000:a7:00.0", 1, used=8)
    write_rdma("pci0000:a6/0000:a6:02.0/0000:a8:00.0", 1, "mlx5_3",
               "4: ACTIVE", 100, "ib3")
    ethernet = write_pci("pci0000:00/0000:00:1f.6", 0, "0x020000",
                         speed="Unknown", width=0)
    write(f"{ethernet}/net/eth0/operstate", "up\n")
    write(f"{ethernet}/net/eth0/speed", "25000\n")
    link("sys/class/net/eth0", f"{ethernet}/net/eth0")


main()
