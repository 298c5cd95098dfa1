"""AWS in the lab: moto holds the API behind corrections of ours, which :mod:`lab.cloud.aws.differences` lists."""
