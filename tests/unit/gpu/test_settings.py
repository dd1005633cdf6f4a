"""The differences between the lab's operator settings and the ClusterPolicy, by path."""

from lamplighter.domain.gpu.settings import Setting, differences

LAB: dict[str, Setting] = {
    "driver": {"enabled": False},
    "nfd": {"enabled": True},
    "operator": {"tolerations": []},
    "devicePlugin": {"enabled": True, "config": {"create": True, "data": {"any": "x"}}},
    "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
    "daemonsets": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
}
CLUSTER: dict[str, Setting] = {
    "driver": {"enabled": False, "version": "580"},
    "devicePlugin": {"enabled": True},
    "validator": {
        "plugin": {"env": [{"name": "OTHER", "value": "1"}, {"name": "WITH_WORKLOAD", "value": "true"}]}
    },
    "daemonsets": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
}


def test_what_the_lab_does_not_name_is_the_operator_s_own() -> None:
    assert differences(LAB, CLUSTER) == []


def test_a_difference_names_its_path_and_both_sides() -> None:
    changed: dict[str, Setting] = {
        "driver": {"enabled": True},
        "devicePlugin": {},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
        "daemonsets": {"tolerations": []},
    }
    found = differences(LAB, changed)
    assert [each.path for each in found] == [
        "driver.enabled",
        "devicePlugin.enabled",
        "validator.plugin.env.WITH_WORKLOAD",
        "daemonsets.tolerations",
    ]
