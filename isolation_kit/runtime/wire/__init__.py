"""The wire format: `contract.proto`, and what is generated from it."""
