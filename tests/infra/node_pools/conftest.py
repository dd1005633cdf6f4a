"""The labs of these tests, each synthesised once under cdk-nag."""

from tests.infra.conftest import checked

OF_LAB = {"name": "gpu-lab", "notify": {"email": "oncall@example.com"}}
KARPENTER = {
    **OF_LAB,
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "pools": {"gpu": {"kind": "karpenter"}},
}
MIXED = {
    **OF_LAB,
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "gpu_operator": {"enabled": False},
    "device_plugin": {"enabled": True},
    "pools": {
        "gpu": {},
        "plain": {"kind": "karpenter", "zone_index": 1, "drain": "5m"},
        "rocket": {"kind": "karpenter", "image": "bottlerocket@v1.42.0", "max_nodes": 4, "packages": []},
    },
}
AUTO_MODE = {
    **OF_LAB,
    "cluster": {"auto_mode": {"enabled": True}},
    "gpu_operator": {"enabled": False},
    "pools": {"gpu": {"kind": "auto-mode", "price_per_hour": "1.33", "packages": []}},
}
ADOPTED = {
    **OF_LAB,
    "cluster": {"existing": "theirs", "karpenter": {"existing": True, "role": "TheirKarpenter"}},
    "pools": {"gpu": {"kind": "karpenter", "existing": "their-gpus", "price_per_hour": "1.2"}},
}


karpenter = checked(KARPENTER)
mixed = checked(MIXED)
auto_mode = checked(AUTO_MODE)
adopted = checked(ADOPTED)
