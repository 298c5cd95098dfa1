"""A price book for everything in the tests' environment, with invented amounts."""

from __future__ import annotations

from clouds.base.prices import Key, MachineKey, PartKey
from components.model.prices.book import PriceBook
from tests.longhaul.prices.conftest import price

CPU = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge")
P5_SPOT = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge", spot=True)
H100_SPOT = MachineKey(cloud="azure", region="westeurope", machine_type="Standard_ND96isr_H100_v5", spot=True)
AMOUNTS: dict[Key, str] = {
    MachineKey(cloud="azure", region="westeurope", machine_type="Standard_L8s_v3"): "0.75",
    MachineKey(cloud="azure", region="westeurope", machine_type="Standard_D8s_v5"): "0.4605",
    CPU: "0.25",
    P5_SPOT.on_demand(): "100.5",
    P5_SPOT: "31.2",
    H100_SPOT.on_demand(): "110.125",
    H100_SPOT: "22.5",
    PartKey(cloud="azure", region="westeurope", part="load-balancer"): "0.03",
    PartKey(cloud="azure", region="westeurope", part="nat-gateway"): "0.06",
    PartKey(cloud="azure", region="westeurope", part="public-address"): "0.005",
    PartKey(cloud="azure", region="westeurope", part="vpn-gateway"): "0.6",
    PartKey(cloud="aws", region="us-east-1", part="nat-gateway"): "0.05",
    PartKey(cloud="aws", region="us-east-1", part="public-address"): "0.006",
    PartKey(cloud="aws", region="us-east-1", part="vpn-connection"): "0.04",
}


def book(*without: Key) -> PriceBook:
    """Return the book without some of its prices."""
    return PriceBook({key: price(amount) for key, amount in AMOUNTS.items() if key not in without})
