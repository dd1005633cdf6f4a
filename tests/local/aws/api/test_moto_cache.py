"""What the cache remembers of moto's search for the members of an answer is what moto finds each time."""

from types import SimpleNamespace

import pytest
from botocore.model import StructureShape
from moto.core.serialize import AttributePickerContext, XFormedAttributePicker
from moto.core.utils import get_service_model

from local.aws.api import moto_cache

PLAIN = moto_cache._plain_keys
CLASSES = (dict, SimpleNamespace, type("Instance", (), {}), type("Nodegroup", (), {}))
ALIASED = type("Aliased", (), {"Meta": SimpleNamespace(serialization_aliases={"InstanceId": "id"})})


@pytest.mark.parametrize("service", ["ec2", "eks", "dynamodb", "autoscaling"])
def test_each_member_of_an_answer_is_looked_for_under_the_same_names(service):
    model = get_service_model(service)
    picker = XFormedAttributePicker()
    moto_cache.remember_keys()
    for name in ("Instance", "Nodegroup", "AttributeValue", "AutoScalingGroup", "Tag"):
        if name not in model.shape_names:
            continue
        shape = model.shape_for(name)
        assert isinstance(shape, StructureShape)
        for key, member in shape.members.items():
            member.parent = shape  # type: ignore[attr-defined]  # as moto's serializer does
            for made in (*CLASSES, ALIASED, *CLASSES):
                context = AttributePickerContext(made(), key, member)  # type: ignore[arg-type]
                plain = list(dict.fromkeys(PLAIN(picker, context)))
                assert list(dict.fromkeys(picker.get_possible_keys(context))) == plain
