"""The custom resources of a cluster with Auto Mode: Karpenter's NodePool and NodeClaim, and EKS's NodeClass.

AWS publishes no definition of NodeClass. This one has the fields of the EKS user guide (create-node-class).
"""

from typing import Any

import yaml

from local.kubernetes.api import Object
from stacks.charts.kept import karpenter_crd_chart, kept_versions

GROUP, NODE_CLASS = "eks.amazonaws.com", "NodeClass"
CLASSES = f"/apis/{GROUP}/v1/nodeclasses"
POOLS, CLAIMS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
ADDRESS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OF_KARPENTER = ("karpenter.sh_nodepools.yaml", "karpenter.sh_nodeclaims.yaml")


def definitions() -> list[Object]:
    """The three definitions."""
    folder = karpenter_crd_chart(kept_versions()[-1]) / "templates"
    return [*(_plain((folder / name).read_text("utf-8")) for name in _OF_KARPENTER), _node_class()]


def _plain(template: str) -> Object:
    """A definition of the chart without its only template, for annotations of the user."""
    document: Object = yaml.safe_load("\n".join(line for line in template.splitlines() if "{{" not in line))
    return document


def _text(**more: Any) -> Object:
    return {"type": "string", **more}


def _table(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def _list(items: Object, **more: Any) -> Object:
    return {"type": "array", "items": items, **more}


_TAGS: Object = {"type": "object", "additionalProperties": {"type": "string"}}
_WHOLE: Object = {"type": "integer"}


def _spec() -> Object:
    by_tags_or_id = _list(_table(id=_text(), tags=_TAGS), maxItems=30)
    groups = _list(_table(id=_text(), name=_text(), tags=_TAGS), maxItems=30)
    interface = _table(
        deviceIndex=_WHOLE,
        networkCardIndex=_WHOLE,
        interfaceType=_text(enum=["interface", "efa-only"]),
        secondaryIPv4Count=_WHOLE,
        secondaryIPv4PrefixCount=_WHOLE,
    )
    interface["x-kubernetes-validations"] = [
        {
            "rule": "!has(self.secondaryIPv4Count) || !has(self.secondaryIPv4PrefixCount)",
            "message": "secondaryIPv4Count and secondaryIPv4PrefixCount cannot both be set",
        },
        {
            "rule": "self.interfaceType == 'interface' && self.networkCardIndex == 0"
            " || !has(self.secondaryIPv4Count) && !has(self.secondaryIPv4PrefixCount)",
            "message": "secondary addresses are of an interface on networkCardIndex 0",
        },
    ]
    interface["required"] = ["networkCardIndex", "deviceIndex", "interfaceType"]
    spec = _table(
        role=_text(minLength=1),
        instanceProfile=_text(minLength=1),
        subnetSelectorTerms=by_tags_or_id,
        securityGroupSelectorTerms=groups,
        podSubnetSelectorTerms=by_tags_or_id,
        podSecurityGroupSelectorTerms=groups,
        snatPolicy=_text(enum=["Random", "Disabled"]),
        networkPolicy=_text(enum=["DefaultAllow", "DefaultDeny"]),
        networkPolicyEventLogs=_text(enum=["Enabled", "Disabled"]),
        ephemeralStorage=_table(size=_text(), iops=_WHOLE, throughput=_WHOLE, kmsKeyID=_text()),
        capacityReservationSelectorTerms=_list(_table(id=_text(), ownerID=_text(), tags=_TAGS), maxItems=30),
        placementGroupSelector=_table(name=_text(), id=_text(), tags=_TAGS),
        advancedNetworking=_table(
            associatePublicIPAddress={"type": "boolean"},
            networkInterfaces=_list(interface),
            httpsProxy=_text(),
            noProxy=_list(_text()),
        ),
        advancedSecurity=_table(fips={"type": "boolean"}),
        certificateBundles=_list(_table(name=_text(), data=_text())),
        tags=_TAGS,
    )
    return spec | {
        "required": ["subnetSelectorTerms", "securityGroupSelectorTerms"],
        "x-kubernetes-validations": [
            {
                "rule": "has(self.role) != has(self.instanceProfile)",
                "message": "must specify exactly one of ['role', 'instanceProfile']",
            }
        ],
    }


def _node_class() -> Object:
    condition = _table(
        type=_text(),
        status=_text(),
        reason=_text(),
        message=_text(),
        lastTransitionTime=_text(format="date-time"),
        observedGeneration=_WHOLE,
    )
    resolved = _list(_table(id=_text(), zone=_text(), name=_text()))
    status = _table(
        conditions=_list(
            condition, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
        ),
        instanceProfile=_text(),
        subnets=resolved,
        securityGroups=resolved,
    )
    condition["required"] = ["type", "status"]
    schema = _table(
        apiVersion=_text(), kind=_text(), metadata={"type": "object"}, spec=_spec(), status=status
    )
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {
        "kind": NODE_CLASS,
        "plural": "nodeclasses",
        "singular": "nodeclass",
        "listKind": "NodeClassList",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"nodeclasses.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }
