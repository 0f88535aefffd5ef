"""All of Locust that the kit uses. The one file that imports it, because it patches sockets."""

from __future__ import annotations

import gevent
from gevent.socket import wait_read
from locust import FastHttpUser, LoadTestShape, events, task
from locust.contrib.fasthttp import FastHttpSession, FastResponse, LocustBadStatusCode
from locust.env import Environment
from locust.exception import InterruptTaskSet, RescheduleTask, StopUser
from locust.runners import MasterRunner, WorkerRunner

__all__ = [
    "Environment",
    "FastHttpSession",
    "FastHttpUser",
    "FastResponse",
    "InterruptTaskSet",
    "LoadTestShape",
    "LocustBadStatusCode",
    "MasterRunner",
    "RescheduleTask",
    "StopUser",
    "WorkerRunner",
    "events",
    "gevent",
    "task",
    "wait_read",
]
