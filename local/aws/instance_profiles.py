"""ListInstanceProfiles with a path: moto answers with the profiles of all paths.

Karpenter deletes what is listed under the path of one EC2NodeClass.
"""

from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse


def install() -> None:
    """Puts it into moto. It may be called again."""
    IamResponse.list_instance_profiles = _listed  # type: ignore[method-assign,assignment]


def _listed(response: IamResponse) -> ActionResult:
    prefix = response._get_param("PathPrefix") or "/"  # noqa: SLF001 (moto's own parameters)
    profiles = [each for each in response.backend.get_instance_profiles() if each.path.startswith(prefix)]
    return ActionResult({"InstanceProfiles": profiles})
