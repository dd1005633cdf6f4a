"""What a caller must acknowledge of a template: that it makes IAM resources, and that some have names of their own."""

from local.aws.api.own_services import AwsError, Document
from local.aws.cloudformation.template import Template

#: The IAM types that need a capability, with the property that is their own name
#: (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html).
IAM = {
    "AWS::IAM::AccessKey": "",
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Policy": "",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
    "AWS::IAM::UserToGroupAddition": "",
}
PLAIN, NAMED = "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"


def check_capabilities(template: Template, request: Document) -> None:
    """Refuses a request that does not acknowledge what its template makes."""
    made = [resource for resource in template.resources.values() if resource.type in IAM]
    needed = NAMED if any(IAM[resource.type] in resource.properties for resource in made) else PLAIN
    if made and not {needed, NAMED} & set(request.get("Capabilities", [])):
        raise AwsError("InsufficientCapabilitiesException", f"Requires capabilities : [{needed}]")
