"""A service with cookie sessions that is not the kit's, and its twin whose turns answer for who came last."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route


class Sessions:
    """Log in, chat, read what was said; `leaky` reads the session again after it has waited."""

    def __init__(self, *, leaky: bool) -> None:
        self.leaky = leaky
        self.said: dict[str, list[str]] = {}
        self.current: list[str] = []

    def routes(self) -> Sequence[BaseRoute]:
        """What is served."""
        return (
            Route("/login", self.login, methods=["POST"]),
            Route("/chat", self.chat, methods=["POST"]),
            Route("/history", self.history),
        )

    async def login(self, request: Request) -> Response:
        """Slower than a turn: what breaks off early would hit it."""
        await asyncio.sleep(0.02)
        key = secrets.token_hex(8)
        self.said[key] = []
        answer = JSONResponse({"user": (await request.json())["user"]})
        answer.set_cookie("session", key)
        return answer

    async def chat(self, request: Request) -> Response:
        """One turn, answered with the talk so far; 401 without a session."""
        said = self.said.get(request.cookies.get("session", ""))
        if said is None:
            return JSONResponse({"error": "log in"}, 401)
        said.append((await request.json())["text"])
        self.current = said
        await asyncio.sleep(0.003)
        return JSONResponse({"answer": self.current if self.leaky else said})

    async def history(self, request: Request) -> Response:
        """All that was said in the session."""
        said = self.said.get(request.cookies.get("session", ""))
        return JSONResponse({"error": "log in"}, 401) if said is None else JSONResponse(said)


def main() -> None:
    """Serve both twins on a free port and say where."""
    twins = {"/clean": Sessions(leaky=False), "/leaky": Sessions(leaky=True)}
    app = Starlette(routes=[Mount(path, routes=twin.routes()) for path, twin in twins.items()])
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])


if __name__ == "__main__":
    main()
