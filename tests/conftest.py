"""What every test shares: AWS's own models, read once a process, and no endpoint of the shell that starts them.

Each botocore session reads the models anew, a new session comes with each mocked account, and EC2's alone takes
longer than most tests. A shell that speaks to an embedded cloud must not lead mocked calls there.
"""

import os
from functools import cache

import botocore.loaders

for name in [each for each in os.environ if each.startswith("AWS_ENDPOINT_URL")]:
    del os.environ[name]
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
