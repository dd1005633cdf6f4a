"""What every test shares: AWS's own models, read once a process.

Each botocore session reads them anew, a new session comes with each mocked account, and EC2's alone takes longer
than most tests.
"""

from functools import cache

import botocore.loaders

botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
