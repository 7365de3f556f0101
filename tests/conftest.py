"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long examples take to make is a matter of what else the machine does; it says nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
