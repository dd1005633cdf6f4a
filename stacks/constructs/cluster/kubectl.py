"""Helm charts and manifests in the cluster, through CDK's own kubectl handler and layer v35.

The handler runs outside the VPC and calls the public endpoint, so a destroy leaves no network interface. The callers
define the order.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aws_cdk import CfnElement, CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer
from constructs import Construct, IConstruct, IDependable

from stacks.constructs.accepted import accept, accept_managed_policies, accept_wildcard
from stacks.constructs.cluster.control_plane import ControlPlane

# The handler runs for at most 900 s. A Helm time-out of that length ends with it and leaves `pending-upgrade`.
HELM_TIMEOUT = Duration.seconds(600)
# CloudFormation gives up shortly after the handler's end, instead of after an hour.
ANSWER_WITHIN = "960"


class Kubectl(Construct):
    """Applies charts and manifests to the cluster, as its administrator."""

    def __init__(self, scope: Construct, construct_id: str, *, control_plane: ControlPlane) -> None:
        super().__init__(scope, construct_id)
        name = control_plane.name
        provider = eks.KubectlProvider(
            self,
            "Provider",
            cluster=eks.Cluster.from_cluster_attributes(self, "ProviderCluster", cluster_name=name),
            kubectl_layer=KubectlV35Layer(self, "Layer"),
            removal_policy=RemovalPolicy.DESTROY,
        )
        if provider.role is None:  # pragma: no cover -- the provider always makes one
            raise TypeError("CDK's kubectl provider has no role")
        _accept_what_cdk_makes(provider)
        self._provider = provider
        self._admin = control_plane.grant_admin("KubectlAdmin", provider.role.role_arn)
        self._cluster = eks.Cluster.from_cluster_attributes(
            self, "Cluster", cluster_name=name, kubectl_provider=provider
        )

    def chart(
        self,
        construct_id: str,
        *,
        release: str,
        repository: str,
        chart: str,
        version: str,
        namespace: str,
        values: Mapping[str, Any],
        after: Sequence[Construct],
    ) -> eks.HelmChart:
        """Installs a chart and waits until all of it runs. A failed release stays, for inspection."""
        return self._installed(
            construct_id,
            after,
            release=release,
            repository=repository,
            chart=chart,
            version=version,
            namespace=namespace,
            create_namespace=True,
            values=values,
        )

    def kept_chart(
        self,
        construct_id: str,
        *,
        release: str,
        folder: Path,
        namespace: str,
        values: Mapping[str, Any],
        after: Sequence[IDependable],
    ) -> eks.HelmChart:
        """Installs a chart that is in the repository into a namespace that exists. A deploy uploads it."""
        asset = s3_assets.Asset(self, f"{construct_id}Files", path=str(folder))
        _accept_reading(self._provider, asset)
        return self._installed(
            construct_id,
            after,
            release=release,
            chart_asset=asset,
            namespace=namespace,
            create_namespace=False,
            values=values,
        )

    def _installed(self, construct_id: str, after: Sequence[IDependable], **chart: Any) -> eks.HelmChart:  # noqa: ANN401 -- CDK's own keys
        installed = eks.HelmChart(
            self,
            construct_id,
            cluster=self._cluster,
            wait=True,
            atomic=False,
            timeout=HELM_TIMEOUT,
            **chart,
        )
        resource = installed.node.find_child("Resource").node.default_child
        if isinstance(resource, CfnResource):
            resource.add_property_override("ServiceTimeout", ANSWER_WITHIN)
        installed.node.add_dependency(self._admin, *after)
        return installed

    def manifest(self, construct_id: str, documents: Sequence[Mapping[str, Any]]) -> eks.KubernetesManifest:
        """Applies a manifest whose objects need no node."""
        applied = eks.KubernetesManifest(
            self, construct_id, cluster=self._cluster, manifest=documents, prune=False
        )
        applied.node.add_dependency(self._admin)
        return applied


def _accept_what_cdk_makes(provider: eks.KubectlProvider) -> None:
    why = "CDK's own handler, taken as it comes; it runs at a deploy only."
    accept(provider, "L1", why)
    accept_managed_policies(
        provider,
        {"service-role/AWSLambdaBasicExecutionRole": why, "AmazonEC2ContainerRegistryReadOnly": why},
    )
    handler = provider.node.find_child("Handler")
    condition = handler.node.find_child("HasEcrPublic")
    public = (
        f'{{"Fn::If":["{_logical_id(condition)}",{{"Fn::Join":["",["arn:",{{"Ref":"AWS::Partition"}},'
        '":iam::aws:policy/AmazonElasticContainerRegistryPublicReadOnly"]]},{"Ref":"AWS::NoValue"}]}'
    )
    accept(provider, f"IAM4[Policy::{public}]", why)
    accept(
        provider,
        f"IAM5[Resource::<{_logical_id(handler.node.default_child)}.Arn>:*]",
        "The framework may invoke the handler's versions.",
    )


def _accept_reading(provider: eks.KubectlProvider, asset: s3_assets.Asset) -> None:
    why = "CDK lets its handler read the deploy's own assets; a chart is one."
    for action in ("GetBucket*", "GetObject*", "List*"):
        accept(provider, f"IAM5[Action::s3:{action}]", why)
    accept_wildcard(provider, asset.bucket.arn_for_objects("*"), why)


def _logical_id(element: IConstruct | None) -> str:
    if not isinstance(element, CfnElement):
        raise TypeError(f"{element} is nothing that a template names")
    return Stack.of(element).get_logical_id(element)
