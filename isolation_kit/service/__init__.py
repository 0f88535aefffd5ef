"""The reference runtime behind HTTP, for load tests: sessions, shards, metrics, a recording side channel.

A turn travels `web` (bytes, sizes, statuses), `sharded` (which parent serves the user), `desk` (sessions, and
the two reference parents), `script` (what stands in for models and tools). `twins` are the same service with
one seeded defect each. `recording` streams what children saw; it is off unless somebody turns it on.
`guard` bounds heads of requests. Starlette is imported in `web` and `guard` only, uvicorn also in `serving`.
"""

from isolation_kit.service.settings import ServiceSettings, TargetName

__all__ = ["ServiceSettings", "TargetName"]
