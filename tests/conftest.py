"""What every test shares: AWS's own models, read once a process, and no endpoint of the shell that starts them.

Each botocore session reads the models anew, a new session comes with each mocked account, and EC2's alone takes
longer than most tests. A shell that speaks to an embedded cloud must not lead mocked calls there. No property has
a deadline: how long an example takes is the machine's, not the code's.
"""

import os
from functools import cache

import botocore.loaders
from hypothesis import settings

for name in [each for each in os.environ if each.startswith("AWS_ENDPOINT_URL")]:
    del os.environ[name]
# Whoever runs the tests keeps the names that their own shell completes.
os.environ["LAMPLIGHTER_NAMES"] = ""
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
