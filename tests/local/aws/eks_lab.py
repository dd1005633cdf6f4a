"""A cluster with one GPU node group on an embedded AWS, and what tests ask about it."""

GPU = {"clusterName": "lab", "nodegroupName": "lab-ng-gpu"}
SIZES = {"minSize": 0, "maxSize": 2, "desiredSize": 0}


class Machines:
    """A fleet whose machines are nodes at once. A test overrides what it is about."""

    def machine_started(self, machine): ...

    def machine_stopping(self, instance_id): ...

    machine_off = machine_stopped = drain = machine_stopping

    def joined(self, instance_id):
        return bool(instance_id)

    def ready(self, instance_id):
        return bool(instance_id)


class Lab:
    def __init__(self, aws, version="1.35", **more):
        self.aws = aws
        self.moto_additions = aws.embedded.moto_additions
        self.clock = aws.clock
        vpc = aws.call("ec2", "create_vpc", CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
        self.subnets = [
            aws.call(
                "ec2",
                "create_subnet",
                VpcId=vpc,
                CidrBlock=f"192.168.{number * 4}.0/22",
                AvailabilityZone=f"ap-northeast-2{zone}",
            )["Subnet"]["SubnetId"]
            for number, zone in enumerate("abc")
        ]
        self.role = aws.role("nodes")
        network = {"subnetIds": self.subnets}
        aws.call(
            "eks",
            "create_cluster",
            name="lab",
            version=version,
            roleArn=self.role,
            resourcesVpcConfig=network,
            accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
            **more,
        )
        self.moto_additions.control_plane("https://127.0.0.1:6443", "Y2E=")
        aws.hold()
        self.until(lambda: self.cluster()["status"] == "ACTIVE")
        data = {
            "InstanceType": "g5.xlarge",
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "gpu"}]}],
        }
        self.template = aws.call(
            "ec2", "create_launch_template", LaunchTemplateName="gpu", LaunchTemplateData=data
        )["LaunchTemplate"]["LaunchTemplateId"]

    def until(self, done, seconds=3600):
        """Follow the clock until it is so, in steps of four virtual seconds, longer the longer it takes."""
        begun = self.clock.time()
        limit = begun + seconds
        while not done():
            assert self.clock.time() < limit, "it did not come about"
            self.clock.sleep(max(4, (self.clock.time() - begun) / 25))

    def cluster(self):
        return self.aws.call("eks", "describe_cluster", name="lab")["cluster"]

    def create(self, **more):
        request = {
            **GPU,
            "subnets": self.subnets[:1],
            "nodeRole": self.role,
            "scalingConfig": SIZES,
            "amiType": "AL2023_x86_64_NVIDIA",
            "launchTemplate": {"id": self.template, "version": "1"},
            "tags": {"course": "gpu"},
            **more,
        }
        return self.aws.call(
            "eks", "create_nodegroup", **{key: value for key, value in request.items() if value is not None}
        )["nodegroup"]

    def ready(self, **more):
        self.create(**more)
        self.until(lambda: self.nodegroup()["status"] == "ACTIVE")
        return self

    def nodegroup(self):
        return self.aws.call("eks", "describe_nodegroup", **GPU)["nodegroup"]

    def scale(self, desired, **more):
        sizes = {"minSize": 0, "desiredSize": desired, **more}
        return self.aws.call("eks", "update_nodegroup_config", **GPU, scalingConfig=sizes)["update"]

    def update(self, identity):
        return self.aws.call(
            "eks", "describe_update", name="lab", nodegroupName="lab-ng-gpu", updateId=identity
        )["update"]

    def finished(self, update):
        """Until an update of the cluster is done."""
        asked = {"name": "lab", "updateId": update["id"]}
        describe = lambda: self.aws.call("eks", "describe_update", **asked)["update"]  # noqa: E731
        self.until(lambda: describe()["status"] == "Successful")

    def group(self):
        return self.aws.call("autoscaling", "describe_auto_scaling_groups")["AutoScalingGroups"][0]

    def members(self, state="InService"):
        return [one["InstanceId"] for one in self.group()["Instances"] if one["LifecycleState"] == state]

    def activities(self):
        return self.aws.call("autoscaling", "describe_scaling_activities")["Activities"]

    def instances(self, *states):
        wanted = [{"Name": "instance-state-name", "Values": list(states or ("pending", "running"))}]
        found = self.aws.call("ec2", "describe_instances", Filters=wanted, IncludeManagedResources=True)[
            "Reservations"
        ]
        return [instance for reservation in found for instance in reservation["Instances"]]

    def opened(self, nodes=2):
        update = self.scale(nodes)
        self.until(lambda: len(self.members()) == nodes)
        self.until(lambda: self.update(update["id"])["status"] != "InProgress")
        return self
