"""The client's whole pipeline over recorded runs: no model, no network, no clock, always the same answer."""
