"""The audit of one target: sweep, census, reduction. The one core that every face uses."""

from __future__ import annotations

from isolation_kit.audit.campaign import Campaign
from isolation_kit.audit.plan import BLOCK, DEFAULT_FAMILIES, FAMILIES, Plan, blocks, items

__all__ = ["BLOCK", "DEFAULT_FAMILIES", "FAMILIES", "Campaign", "Plan", "blocks", "items"]
