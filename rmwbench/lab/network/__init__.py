"""The network between the hosts of a trial: their addresses and devices, the link between them, and
the checks that it does what was asked for."""

from rmwbench.lab.network.emulation import Emulation
from rmwbench.lab.network.host_network import NetworkBroken
from rmwbench.lab.network.network_probe import NetworkFinding

__all__ = ["Emulation", "NetworkBroken", "NetworkFinding"]
