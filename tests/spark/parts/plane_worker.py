"""Processes of control planes: `python -m tests.spark.parts.plane_worker ROLE`.

work    reads a pickled (plane, attempt), and runs that attempt until it is killed; when the setting
        "permits" comes it takes some from the endpoint of that name
drive   writes a pickled plane, and is a driver until it is killed
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from concurrent.futures import Future
from typing import Any

from flinkish.rpc import RpcEndpoint, RpcGateway
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.limits.endpoint import PermitsGateway
from flinkish.spark.limits.messages import LeaseRequest


class SiteGateway(RpcGateway):
    def pid(self) -> Future[int]: ...

    def never(self) -> Future[int]: ...


class Site(RpcEndpoint, SiteGateway):
    def pid(self) -> Any:
        return os.getpid()

    def never(self) -> Any:
        return Future()


def drive() -> None:
    with ControlPlane(heartbeat_interval=20, heartbeat_timeout=600_000) as plane:
        sys.stdout.buffer.write(pickle.dumps(plane))
        sys.stdout.flush()
        sys.stdin.read()


def work() -> None:
    plane, attempt = pickle.load(sys.stdin.buffer)
    worker = plane.worker()
    Site(worker.service, "site").start()
    took = False
    with worker.task(attempt.operator, attempt) as task:
        while True:
            task.check()
            if not took and (token := task.settings.get("permits")):
                gateway = worker.connect("permits", PermitsGateway, token)
                gateway.lease(REQUEST).result(60)
                took = True
            time.sleep(0.01)


REQUEST = LeaseRequest(
    worker="the worker",
    token=0,
    number=0,
    wanted=0,
    unused=0,
    holding=2,
    waiting=2,
    throttled=False,
    started_ns=0,
    retry_after_ns=0,
)

if __name__ == "__main__":
    {"work": work, "drive": drive}[sys.argv[1]]()
