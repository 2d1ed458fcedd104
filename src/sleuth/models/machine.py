"""What this machine offers to an embedded model: cores and memory. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cores() -> int:
    """Physical cores this process may run on, by affinity and by a container's quota; at least 1."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = len({_siblings(cpu) for cpu in allowed})
    quota = _quota()
    return max(1, min(cores, round(quota)) if quota else cores)


def free_memory() -> int | None:
    """Bytes that can be used without swapping, where the system tells (Linux), else None."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    limit = _read("/sys/fs/cgroup/memory.max")
    return min(available, int(limit)) if limit.isdigit() else available


def _siblings(cpu: int) -> str:
    """The hardware threads that share this one's core, as text; the thread itself where unknown."""
    return _read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") or str(cpu)


def _quota() -> float | None:
    """Cores a container may use (cgroup v2), or None."""
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
