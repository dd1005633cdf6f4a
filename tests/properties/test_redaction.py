"""A saved snapshot can be attached to a report: a secret planted anywhere in what was read is nowhere in it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.redaction import redacted
from tests.snapshots import Document, event, healthy, pod

ACCOUNT = "987654321098"
# What people call secrets, and what secrets look like: no word of a language, a key of some service, a sentence.
SECRETS = st.one_of(
    st.from_regex(r"[A-Za-z0-9]{6,10}[A-Z][a-z][0-9][A-Za-z0-9]{8,30}", fullmatch=True),
    st.from_regex(r"[a-z]{4,8}-[a-z]{5,9}-[0-9]{2}!", fullmatch=True),
    st.from_regex(r"AKIA[A-Z0-9]{16}", fullmatch=True),
    st.from_regex(r"ghp_[A-Za-z0-9]{36}", fullmatch=True),
    st.from_regex(r"hf_[A-Za-z]{34}", fullmatch=True),
    st.from_regex(r"eyJ[A-Za-z0-9]{12}\.[A-Za-z0-9]{20}\.[A-Za-z0-9_-]{20}", fullmatch=True),
)
NAMES = st.sampled_from(
    [
        "PASSWORD", "DB_PASSWORD", "WANDB_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "githubToken",
        "api-key", "client_secret",
    ]
)  # fmt: skip


def container(secret: str, name: str) -> Document:
    return {
        "name": "main",
        "image": "nvcr.io/nvidia/pytorch:26.01-py3",
        "env": [{"name": name, "value": secret}, {"name": "PLAIN", "value": secret}],
        "envFrom": [{"secretRef": {"name": "keys"}}],
        "args": ["--token", secret, f"--config={secret}", secret],
        "command": ["sh", "-c", f"export X={secret}; train"],
        "livenessProbe": {
            "exec": {"command": ["curl", "-H", f"X-Key: {secret}"]},
            "httpGet": {"httpHeaders": [{"name": "Authorization", "value": secret}]},
        },
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", secret]}}},
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }


def planted(secret: str, name: str) -> Document:
    """A healthy snapshot with the secret in every place that people put one."""
    document = healthy()
    workload = pod("train-0", "lab", 0, gpus=1)
    workload["spec"]["containers"] = [container(secret, name)]
    workload["spec"]["initContainers"] = [{**container(secret, name), "name": "init"}]
    workload["spec"]["volumes"] = [{"name": "x", "csi": {"volumeAttributes": {"password": secret}}}]
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"env": secret}),
        "note": secret,
    }
    workload["metadata"] |= {"annotations": annotations, "managedFields": [{"fieldsV1": {"f:x": secret}}]}
    kubernetes, aws = document["kubernetes"], document["aws"]
    kubernetes["pods"] = [each for each in kubernetes["pods"] if each["metadata"]["name"] != "train-0"] + [
        workload
    ]
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container(secret, name)]}}
    kubernetes["jobs"] = [
        {"metadata": {"name": "train", "annotations": annotations}, "spec": {"template": template}}
    ]
    kubernetes["daemonsets"][0]["spec"]["template"]["spec"]["containers"] = [container(secret, name)]
    kubernetes["clusterpolicies"][0]["spec"]["devicePlugin"]["env"] = [{"name": name, "value": secret}]
    kubernetes["configmaps"] = [
        {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"app.yaml": f"key {secret}"}},
        {"metadata": {"name": "other"}, "data": {name: secret}, "binaryData": {"x": secret}},
        {
            "kind": "Secret",
            "metadata": {"name": "keys"},
            "data": {name: secret},
            "stringData": {name: secret},
        },
    ]
    said = f'{name}={secret}\nexport {name}="{secret}"\nAuthorization: Bearer {secret}\n--{name.lower()} {secret}\n'
    said += (
        f'{{"{name}": "{secret}"}}\nGET https://user:{secret}@host/x\nfetch https://h/x?token={secret}&a=1\n'
    )
    document["logs"] = {"lab/train-0/main": said, "lab/train-0/init": f"started with {secret}"}
    document["logs_previous"] = {"lab/train-0/main": said}
    kubernetes["events"].append(
        event("Pod", "train-0", "Failed", f"cannot start with {name}: {secret}", namespace="lab")
    )
    aws["nodegroup"] |= {
        "nodeRole": f"arn:aws:iam::{ACCOUNT}:role/nodes",
        "tags": {"owner": secret, name: secret},
        "launchTemplate": {"id": "lt-1", "UserData": secret},
    }
    aws["instances"][0] |= {
        "UserData": secret,
        "OwnerId": ACCOUNT,
        "Tags": [*aws["instances"][0]["Tags"], {"Key": "note", "Value": secret}],
        "IamInstanceProfile": {"Arn": f"arn:aws:iam::{ACCOUNT}:instance-profile/nodes"},
    }
    aws["scaling_activities"][0]["Cause"] = f"role arn:aws:iam::{ACCOUNT}:role/x with {name}={secret}"
    return document


@given(SECRETS, NAMES)
def test_a_secret_planted_in_every_place_is_found_in_none(secret: str, name: str) -> None:
    saved = json.dumps(redacted(planted(secret, name)))
    assert secret not in saved
    assert ACCOUNT not in saved


@given(SECRETS, NAMES)
def test_what_was_taken_out_is_nothing_that_a_diagnosis_reads(secret: str, name: str) -> None:
    document = planted(secret, name)
    assert judged(redacted(document)) == judged(document)


def test_what_was_taken_out_once_stays_as_it_is() -> None:
    once = redacted(planted("hunter2-is-Long9", "DB_PASSWORD"))
    assert redacted(once) == once


def judged(document: Document) -> Any:
    return diagnose(Snapshot.read(document)).to_json()
