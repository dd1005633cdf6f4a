"""Karpenter's two Helm charts, which a deploy uploads to S3: the cluster asks no chart registry.

They are AWS's own files under the Apache License 2.0 (LICENSE and NOTICE beside them), without the files that only
readers of the repository need. As in AWS's release script, Chart.yaml and the tag of the image have the version of the
release. The digest of the image is not in the sources of a release, so none is given here
(https://github.com/aws/karpenter-provider-aws/blob/v1.14.3/hack/release/common.sh).

To add a version, take `charts/karpenter` and `charts/karpenter-crd` out of its Go module.
tests/local/karpenter/test_kept_charts.py compares every line with that module.
"""
