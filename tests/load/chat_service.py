"""A small chat service that is not the kit's: it mixes users up under load, and sometimes answers badly."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

TOO_LONG = 50 << 20  # bytes


class Chat:
    """Echoes what it is told; who it talks to stands where all requests see it."""

    def __init__(self) -> None:
        self.said = ""
        self.count = 0

    async def answer(self, request: Request) -> Response:
        """One turn in five is answered badly."""
        self.count += 1
        bad = {4: self.failing, 9: self.page, 14: self.endless, 19: self.broken}.get(self.count % 20)
        if bad is not None:
            return bad()
        self.said = (await request.json())["text"]
        await asyncio.sleep(0.05)
        return JSONResponse({"answer": f"You said: {self.said}"})

    def failing(self) -> Response:
        """An error page."""
        return HTMLResponse("<h1>Something went wrong</h1>", 500)

    def page(self) -> Response:
        """A page where JSON was due; its cookie is somebody else's."""
        return PlainTextResponse("maintenance", 503, {"set-cookie": f"last={quote(self.said)}"})

    def endless(self) -> Response:
        """Far more than anybody reads."""

        async def parts() -> object:
            for _ in range(TOO_LONG >> 16):
                yield b"x" * (1 << 16)

        return StreamingResponse(parts(), media_type="application/json")  # type: ignore[arg-type]

    def broken(self) -> Response:
        """Less than was promised, and then nothing."""
        return Response(b"{", headers={"content-length": "1000"}, media_type="application/json")


def main() -> None:
    """Serve on a free port and say where."""
    chat = Chat()
    app = Starlette(routes=[Route("/chat", chat.answer, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])


if __name__ == "__main__":
    main()
