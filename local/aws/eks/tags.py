"""Tags of all EKS resources by ARN: clusters, node groups, add-ons, access entries and pod identities."""

from collections.abc import Callable, Iterator

from local.aws.api.own_services import AwsError, Document

#: ARN and tags of each resource of one type; the tags are changed in place.
Tagged = Callable[[], Iterator[tuple[str, dict[str, str]]]]


class Tags:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(self, *kinds: Tagged) -> None:
        self._kinds = kinds

    def tag_resource(self, request: Document) -> Document:
        self._of(request["resourceArn"]).update(request["tags"])
        return {}

    def untag_resource(self, request: Document) -> Document:
        tags = self._of(request["resourceArn"])
        for key in request["tagKeys"]:
            tags.pop(key, None)
        return {}

    def list_tags_for_resource(self, request: Document) -> Document:
        return {"tags": self._of(request["resourceArn"])}

    def _of(self, arn: str) -> dict[str, str]:
        for kind in self._kinds:
            for known, tags in kind():
                if known == arn:
                    return tags
        raise AwsError("NotFoundException", f"The resource {arn} was not found")
