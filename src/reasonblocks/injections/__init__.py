"""What to ask for at a step, and what the answer means."""

from .base import BaseInjection
from .e1 import E1Injection
from .e2 import E2Injection
from .e3 import E3Injection
from .monitor_steering import MonitorSteeringInjection

__all__ = ["BaseInjection", "E1Injection", "E2Injection", "E3Injection", "MonitorSteeringInjection"]
